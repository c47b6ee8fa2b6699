package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
)

// WeightsOptions say which variables a file of weights has. The zero value means defaults.
type WeightsOptions struct {
	Partial   bool // import: what only the file or only the model has is left alone
	Trainable bool // export: only trainable variables
	// Names are those in the file and the variables, where they differ; a nil pointer leaves the tensor out.
	Names map[string]*string
}

func (l *loan) weights(options *WeightsOptions) *C.hr_weights_options {
	if options == nil {
		return nil
	}
	out := C.hr_weights_options{struct_size: C.sizeof_hr_weights_options, partial: flag(options.Partial),
		trainable: flag(options.Trainable)}
	if options.Names != nil {
		names, err := json.Marshal(options.Names)
		if err != nil {
			l.failure = err
		}
		out.names = l.text(string(names))
	}
	return lendStruct(l, out)
}

// DescribeWeights lists the tensors of a .safetensors or .npz file as JSON.
func DescribeWeights(path string) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	file := lent.text(path)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	return described(C.hr_weights_describe(file, &text), text)
}

// ExportWeights writes the variables to a .safetensors or .npz file and returns a report as JSON. The
// options may be nil.
func (s *Session) ExportWeights(ctx context.Context, path string, options *WeightsOptions) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	session, file, how := borrow(&lent, s.object), lent.text(path), lent.weights(options)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_export_weights(session, file, how, l, &text) })
	if err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(text)), nil
}

// ImportWeights sets the variables to what a file has and returns a report as JSON. If anything does not
// fit, nothing has changed. The options may be nil.
func (s *Session) ImportWeights(ctx context.Context, path string, options *WeightsOptions) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	session, file, how := borrow(&lent, s.object), lent.text(path), lent.weights(options)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_import_weights(session, file, how, l, &text) })
	if err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(text)), nil
}
