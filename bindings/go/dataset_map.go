package headrace

// #include "callbacks.h"
import "C"

import "context"

// Map makes a data set of what a signature of the session's model makes of the examples. Its inputs are
// fields of the same names; the new data set has its outputs, and the fields that are no inputs. It
// begins at the beginning of a pass. One that was made of a Source must not be used any more.
func (d *Dataset) Map(ctx context.Context, session *Session, signature string) (*Dataset, error) {
	return d.through(ctx, session, signature,
		func(d *C.hr_dataset, s *C.hr_session, name *C.char, l *C.hr_limits, out **C.hr_dataset) *C.hr_status {
			return C.hr_dataset_map(d, s, name, l, out)
		})
}

// Filter makes a data set of the examples for which a signature gives true. It reads all of them once.
// One that was made of a Source must be cached first.
func (d *Dataset) Filter(ctx context.Context, session *Session, signature string) (*Dataset, error) {
	return d.through(ctx, session, signature,
		func(d *C.hr_dataset, s *C.hr_session, name *C.char, l *C.hr_limits, out **C.hr_dataset) *C.hr_status {
			return C.hr_dataset_filter(d, s, name, l, out)
		})
}

func (d *Dataset) through(ctx context.Context, session *Session, signature string,
	function func(*C.hr_dataset, *C.hr_session, *C.char, *C.hr_limits, **C.hr_dataset) *C.hr_status) (*Dataset, error) {
	if session == nil {
		return nil, invalid("the session is nil; give one of a model with the signature '%s'", signature)
	}
	var lent loan
	defer lent.end()
	dataset, handle, name := borrow(&lent, d.object), borrow(&lent, session.object), lent.text(signature)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var out *C.hr_dataset
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return function(dataset, handle, name, l, &out) })
	if err != nil {
		return nil, err
	}
	return newDataset(out), nil
}

// CacheOptions say where examples are kept. The zero value means memory.
type CacheOptions struct {
	Path string // of a file that later processes use, too; "": memory
	// Key is what the examples depend on beside files; a file with another key is made anew. A data set
	// of tensors, of a Source or through a session needs one for a file.
	Key     string
	Options *DatasetOptions // how the new data set is drawn; nil: as this one is
}

// Cache reads all examples once and makes a data set of what it has kept. One of a Source can then be
// shuffled and has shards. The options may be nil.
func (d *Dataset) Cache(ctx context.Context, options *CacheOptions) (*Dataset, error) {
	if options == nil {
		options = &CacheOptions{}
	}
	var lent loan
	defer lent.end()
	dataset := borrow(&lent, d.object)
	how := lendStruct(&lent, C.hr_cache_options{struct_size: C.sizeof_hr_cache_options, path: lent.optional(options.Path),
		key: lent.optional(options.Key), options: lent.dataset(options.Options)})
	if lent.failure != nil {
		return nil, lent.failure
	}
	var out *C.hr_dataset
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_dataset_cache(dataset, how, l, &out) })
	if err != nil {
		return nil, err
	}
	return newDataset(out), nil
}
