package headrace

// #include "callbacks.h"
import "C"

import (
	"errors"
	"io"
	"slices"
	"unsafe"
)

// Source makes the batches of a data set in Go. One goroutine at a time calls it, which may be a thread
// of the library. It must not use the data set.
type Source interface {
	// Next makes the next batch of so many examples, or returns io.EOF at the end of an epoch. With
	// shards the batch must have exactly so many; without, it may have fewer, but at least one.
	//
	// The batch has a tensor for each field, of the declared shape with so many examples, or nil if a
	// dimension of the field is -1. Next fills the tensors (see Data), or stores others in their
	// place, which it must do where there is nil or if the batch is smaller; the library takes over
	// what Next has stored. If it fails, the next call asks for the same batch.
	Next(examples int64, batch []*Tensor) error
}

// Seeker is a Source that can begin anywhere. Others can be read once and have no shards.
type Seeker interface {
	// SeekTo makes the next batch begin with an example of an epoch. It is called before the first batch
	// of every later epoch, after Rewind and a restored position, and with shards before each batch
	// that does not follow the one before.
	SeekTo(epoch, firstExample int64) error
}

// Field describes a field of a data set. Dims is the largest shape of a batch; a dimension of -1
// differs between batches.
type Field struct {
	Name  string
	DType DType
	Dims  []int64
}

// NewSourceDataset makes a data set of a source. Dims[0] of the fields is the number of examples in a
// batch, the same for all, or -1; if it is -1 for all, options.Batch is. Examples is the exact number
// of examples in an epoch, 0 if it is unknown. A source that has a Close method is closed when the
// data set is gone. The options may be nil; Seed is ignored, and Shuffle must be false.
func (e *Env) NewSourceDataset(source Source, examples int64, fields []Field, options *DatasetOptions) (*Dataset, error) {
	if source == nil {
		return nil, invalid("the source is nil; give one that makes batches")
	}
	var lent loan
	defer lent.end()
	env, how, shapes := borrow(&lent, e.object), lent.dataset(options), lent.fields(fields)
	if lent.failure != nil {
		return nil, lent.failure
	}
	context := newContext(&sourceContext{source})
	callbacks := C.hr_dataset_callbacks{struct_size: C.sizeof_hr_dataset_callbacks, context: context,
		next: (*[0]byte)(C.hrgo_next), release: releaser(), examples: C.int64_t(examples)}
	if _, ok := source.(Seeker); ok {
		callbacks.seek = (*[0]byte)(C.hrgo_seek)
	}
	var dataset *C.hr_dataset
	err := failure(C.hr_dataset_from_callbacks(env, &callbacks, C.size_t(len(fields)), shapes, how, &dataset))
	if err != nil {
		contextValue[*sourceContext](context).source = nil // it stays the caller's
		hrgo_release(context)
	}
	return newDataset(dataset), err
}

func (l *loan) fields(fields []Field) *C.hr_dataset_field {
	out := make([]C.hr_dataset_field, len(fields))
	for i, field := range fields {
		out[i] = C.hr_dataset_field{struct_size: C.sizeof_hr_dataset_field, name: l.text(field.Name),
			dtype: C.hr_dtype(field.DType), rank: C.size_t(len(field.Dims)), dims: lendDims(l, field.Dims)}
	}
	return lend(l, out)
}

type sourceContext struct{ source Source }

func (s *sourceContext) released() {
	if closer, ok := s.source.(io.Closer); ok {
		lost(caught("the source's Close", closer.Close))
	}
}

//export hrgo_next
func hrgo_next(cell unsafe.Pointer, examples C.int64_t, count C.size_t, out **C.hr_tensor, end *C.int32_t) *C.hr_status {
	return guarded("the source", func() error {
		handles := unsafe.Slice(out, count)
		given := newTensors(handles) // owns what the library has given
		batch := slices.Clone(given)
		clear(handles)
		defer closeAll(given)
		defer closeAll(batch)
		err := contextValue[*sourceContext](cell).source.Next(int64(examples), batch)
		if errors.Is(err, io.EOF) {
			*end = 1
			return nil
		}
		if err != nil {
			return err
		}
		return giveAll(batch, handles)
	})
}

// Closes the tensors. Whoever is given one has a reference of its own.
func closeAll(batch []*Tensor) {
	for _, tensor := range batch {
		if tensor != nil {
			tensor.Close()
		}
	}
}

// Stores a reference to each tensor.
func giveAll(batch []*Tensor, handles []*C.hr_tensor) error {
	var lent loan
	defer lent.end()
	for i, tensor := range batch {
		if handle := lent.tensor(tensor); handle != nil {
			if err := failure(C.hr_tensor_share(handle, &handles[i])); err != nil {
				return err
			}
		}
	}
	return lent.failure
}

//export hrgo_seek
func hrgo_seek(cell unsafe.Pointer, epoch, firstExample C.int64_t) *C.hr_status {
	return guarded("the source", func() error {
		return contextValue[*sourceContext](cell).source.(Seeker).SeekTo(int64(epoch), int64(firstExample))
	})
}
