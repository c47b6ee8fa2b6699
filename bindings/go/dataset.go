package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
	"iter"
)

// Dataset is a source of batches; a batch is a tensor for each of the data set's named fields. A pass
// has as many epochs as the option Repeat says; Rewind begins another pass.
//
// One goroutine at a time uses a data set; a call during another one's fails with FailedPrecondition.
type Dataset struct{ object *object[*C.hr_dataset] }

func newDataset(dataset *C.hr_dataset) *Dataset {
	if dataset == nil {
		return nil
	}
	out := new(Dataset)
	return own(out, &out.object, dataset, "data set", true, func(p *C.hr_dataset) { C.hr_dataset_release(p) })
}

// OpenDataset opens a data set of files, such as
// "idx:fashion-mnist/train?batch=64&shuffle=1&seed=7".
func (e *Env) OpenDataset(uri string) (*Dataset, error) {
	var lent loan
	defer lent.end()
	env, text := borrow(&lent, e.object), lent.text(uri)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var dataset *C.hr_dataset
	err := failure(C.hr_dataset_open(env, text, &dataset))
	return newDataset(dataset), err
}

// DatasetOptions say how batches are made. The zero value means defaults.
type DatasetOptions struct {
	Batch         int64  // examples in a batch of this shard; 0: 32
	Repeat        int64  // epochs in a pass; 0: 1; -1: forever
	Shuffle       bool   // a new order in each epoch
	DropRemainder bool   // leaves out a last batch that is smaller
	Seed          uint64 // of the order
	Prefetch      int64  // the number of batches that a thread reads ahead
	ShardIndex    int    // which shard this is, from 0 to ShardCount - 1
	ShardCount    int    // 0: 1
}

func (l *loan) dataset(options *DatasetOptions) *C.hr_dataset_options {
	if options == nil {
		return nil
	}
	return lendStruct(l, C.hr_dataset_options{struct_size: C.sizeof_hr_dataset_options,
		batch: C.int64_t(options.Batch), repeat: C.int64_t(options.Repeat), shuffle: flag(options.Shuffle),
		drop_remainder: flag(options.DropRemainder), seed: C.uint64_t(options.Seed),
		prefetch: C.int64_t(options.Prefetch), shard_index: l.number("ShardIndex", options.ShardIndex),
		shard_count: l.number("ShardCount", options.ShardCount)})
}

// NewDataset makes a data set of tensors, whose memory it shares. Their first dimension counts the
// examples. The options may be nil.
func (e *Env) NewDataset(names []string, tensors []*Tensor, options *DatasetOptions) (*Dataset, error) {
	if len(names) != len(tensors) {
		return nil, invalid("there are %d names for %d tensors; give one name for each", len(names), len(tensors))
	}
	var lent loan
	defer lent.end()
	handles := make([]*C.hr_tensor, len(tensors))
	for i, tensor := range tensors {
		handles[i] = lent.tensor(tensor)
	}
	env, texts, how := borrow(&lent, e.object), lent.texts(names), lent.dataset(options)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var dataset *C.hr_dataset
	err := failure(C.hr_dataset_from_tensors(env, C.size_t(len(names)), texts, lend(&lent, handles), how, &dataset))
	return newDataset(dataset), err
}

// Close releases the data set. With prefetch it waits for the batch that is being read.
func (d *Dataset) Close() error {
	d.object.close()
	return nil
}

// Batches returns the number of batches in an epoch; -1 if it is unknown. A source that gives smaller
// ones gives more.
func (d *Dataset) Batches() int64 {
	dataset, err := d.object.use()
	if err != nil {
		return -1
	}
	defer d.object.done()
	return int64(C.hr_dataset_batches(dataset))
}

// Fields returns the names of the fields.
func (d *Dataset) Fields() []string {
	dataset, err := d.object.use()
	if err != nil {
		return nil
	}
	defer d.object.done()
	out := make([]string, C.hr_dataset_field_count(dataset))
	for i := range out {
		out[i] = C.GoString(C.hr_dataset_field_name(dataset, C.size_t(i)))
	}
	return out
}

// Done reports whether the pass is over, and waits for the next batch if it must to find out.
func (d *Dataset) Done(ctx context.Context) bool {
	dataset, err := d.object.use()
	if err != nil {
		return true
	}
	defer d.object.done()
	done := false
	_ = limited(ctx, func(l *C.hr_limits) *C.hr_status {
		done = C.hr_dataset_done(dataset, l) != 0
		return nil
	})
	return done
}

// Calls a function with the handle and the limits of the context.
func (d *Dataset) limited(ctx context.Context, function func(*C.hr_dataset, *C.hr_limits) *C.hr_status) error {
	dataset, err := d.object.use()
	if err != nil {
		return err
	}
	defer d.object.done()
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return function(dataset, l) })
}

// Rewind begins another pass.
func (d *Dataset) Rewind(ctx context.Context) error {
	return d.limited(ctx, func(dataset *C.hr_dataset, l *C.hr_limits) *C.hr_status { return C.hr_dataset_rewind(dataset, l) })
}

// Batch has the tensors of a batch, in the order of the data set's fields.
type Batch struct {
	Fields  []string
	Tensors []*Tensor
}

// Tensor returns the tensor of a field; nil if there is no such field.
func (b *Batch) Tensor(field string) *Tensor {
	for i, name := range b.Fields {
		if name == field {
			return b.Tensors[i]
		}
	}
	return nil
}

// Close closes the tensors.
func (b *Batch) Close() error {
	for _, tensor := range b.Tensors {
		tensor.Close()
	}
	return nil
}

// Next reads the next batch, which the caller closes. OutOfRange: the pass is over.
func (d *Dataset) Next(ctx context.Context) (*Batch, error) {
	fields := d.Fields()
	handles := make([]*C.hr_tensor, len(fields)+1) // one more, so that there is an address
	var lent loan
	defer lent.end()
	err := d.limited(ctx, func(dataset *C.hr_dataset, l *C.hr_limits) *C.hr_status {
		return C.hr_dataset_next(dataset, l, lend(&lent, handles))
	})
	if err != nil {
		return nil, err
	}
	return &Batch{Fields: fields, Tensors: newTensors(handles[:len(fields)])}, nil
}

// All gives the batches of the rest of the pass. A batch is closed when the body of the loop has ended;
// Tensor.Share keeps a tensor for longer. A failure, the end of the context included, comes last,
// with a nil batch.
func (d *Dataset) All(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			batch, err := d.Next(ctx)
			if CodeOf(err) == OutOfRange {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			more := yieldAndClose(batch, yield)
			if !more {
				return
			}
		}
	}
}

func yieldAndClose(batch *Batch, yield func(*Batch, error) bool) bool {
	defer batch.Close()
	return yield(batch, nil)
}

// Rename renames a field, so that it is fed to the input of that name.
func (d *Dataset) Rename(field, name string) error {
	var lent loan
	defer lent.end()
	dataset, from, to := borrow(&lent, d.object), lent.text(field), lent.text(name)
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_dataset_rename(dataset, from, to))
}

// Describe returns fields, batches and position as JSON.
func (d *Dataset) Describe() (json.RawMessage, error) {
	dataset, err := d.object.use()
	if err != nil {
		return nil, err
	}
	defer d.object.done()
	var text *C.hr_text
	return described(C.hr_dataset_describe(dataset, &text), text)
}

// Position returns the position as JSON. It counts examples, so a data set of the same data with
// another batch or other shards can go on from it.
func (d *Dataset) Position() (json.RawMessage, error) {
	dataset, err := d.object.use()
	if err != nil {
		return nil, err
	}
	defer d.object.done()
	var text *C.hr_text
	return described(C.hr_dataset_position(dataset, &text), text)
}

// Seek goes to a position that Position has given, of a data set with as many examples.
func (d *Dataset) Seek(ctx context.Context, position json.RawMessage) error {
	var lent loan
	defer lent.end()
	text := lent.text(string(position))
	if lent.failure != nil {
		return lent.failure
	}
	return d.limited(ctx, func(dataset *C.hr_dataset, l *C.hr_limits) *C.hr_status {
		return C.hr_dataset_seek(dataset, text, l)
	})
}

// Reshard goes on, from the present position, as shard index of count.
func (d *Dataset) Reshard(ctx context.Context, index, count int64) error {
	return d.limited(ctx, func(dataset *C.hr_dataset, l *C.hr_limits) *C.hr_status {
		return C.hr_dataset_reshard(dataset, C.int64_t(index), C.int64_t(count), l)
	})
}
