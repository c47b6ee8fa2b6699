package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
)

// ConvertOptions say how a model of another format is converted. The zero value means defaults.
type ConvertOptions struct {
	Constants bool // weights become constants instead of variables, which can be trained
	Simplify  bool // constants are computed, and copies and what no output needs go
}

// ConvertModel converts the model in the file from, such as an ONNX file, to the .hrg file to, and
// returns a report as JSON. The options may be nil.
func (e *Env) ConvertModel(ctx context.Context, from, to string, options *ConvertOptions) (json.RawMessage, error) {
	if options == nil {
		options = &ConvertOptions{}
	}
	var lent loan
	defer lent.end()
	env, source, target := borrow(&lent, e.object), lent.text(from), lent.text(to)
	if lent.failure != nil {
		return nil, lent.failure
	}
	how := lendStruct(&lent, C.hr_convert_options{struct_size: C.sizeof_hr_convert_options, constants: flag(options.Constants),
		simplify: flag(options.Simplify)})
	var report *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_model_convert(env, source, target, how, l, &report)
	})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(report)), nil
}

// ExportOptions say how a model is written in another format. The zero value means defaults.
type ExportOptions struct {
	ExternalData bool   // tensors go to a file beside the model, whatever its size
	Signature    string // the signature that is written; "": "infer", or the only one
}

// ExportModel writes one signature of the .hrg file from as a model of another format, such as ONNX, to
// the file to, and returns a report as JSON. The options may be nil.
func (e *Env) ExportModel(ctx context.Context, from, to string, options *ExportOptions) (json.RawMessage, error) {
	if options == nil {
		options = &ExportOptions{}
	}
	var lent loan
	defer lent.end()
	env, source, target := borrow(&lent, e.object), lent.text(from), lent.text(to)
	how := lendStruct(&lent, C.hr_export_options{struct_size: C.sizeof_hr_export_options,
		external_data: flag(options.ExternalData), signature: lent.optional(options.Signature)})
	if lent.failure != nil {
		return nil, lent.failure
	}
	var report *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_model_export(env, source, target, how, l, &report)
	})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(report)), nil
}

// LoadTensor reads a file with a single tensor, such as an ONNX TensorProto (".pb"), and returns its
// name, too.
func (e *Env) LoadTensor(path string) (tensor *Tensor, name string, err error) {
	var lent loan
	defer lent.end()
	env, file := borrow(&lent, e.object), lent.text(path)
	if lent.failure != nil {
		return nil, "", lent.failure
	}
	var handle *C.hr_tensor
	var text *C.hr_text
	if err := failure(C.hr_tensor_load(env, file, &handle, &text)); err != nil {
		return nil, "", err
	}
	return newTensor(handle), takeText(text), nil
}
