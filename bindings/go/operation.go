package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
	"unsafe"
)

// Buffer is memory of an operation: a slice of Go (BufferOf) or the memory of a tensor.
type Buffer struct {
	data   unsafe.Pointer
	count  int
	dtype  DType
	tensor *Tensor
}

// BufferOf returns the memory of a slice.
func BufferOf[T Element](data []T) Buffer {
	return Buffer{data: address(data), count: len(data), dtype: DTypeOf[T]()}
}

// Buffer returns the memory of a contiguous tensor, of any element type.
func (t *Tensor) Buffer() (Buffer, error) {
	tensor, err := t.object.use()
	if err != nil {
		return Buffer{}, err
	}
	defer t.object.done()
	if C.hr_tensor_strides(tensor) != nil {
		return Buffer{}, invalid("the elements of the tensor lie apart; an operation needs a contiguous one")
	}
	return Buffer{data: C.hr_tensor_data(tensor), count: int(C.hr_tensor_elements(tensor)),
		dtype: DType(C.hr_tensor_dtype(tensor)), tensor: t}, nil
}

// Operation describes any operation of a group. The functions such as AllReduce are shorter.
type Operation struct {
	Kind   OperationKind
	Input  Buffer // the zero Buffer if this rank needs none
	Output Buffer // the zero Buffer if this rank needs none
	Op     ReduceOp
	Peer   int     // the root; of a send the receiver, of a receive the sender
	Tag    uint32  // of sends and receives
	Factor float64 // of PreMultipliedSum; it may differ between ranks
	// Count is the number of elements, as the C interface counts them; 0: it follows from the buffers.
	// Ranks that have no buffer give it, and Explain may be given it instead of buffers.
	Count int
	DType DType // Undefined: it follows from the buffers
}

// Returns how many blocks of Count elements input and output have.
func (o *Operation) blocks(g *Group) (in, out int) {
	switch o.Kind {
	case OperationGather, OperationAllGather:
		return 1, g.size
	case OperationScatter, OperationReduceScatter:
		return g.size, 1
	case OperationAllToAll:
		return g.size, g.size
	}
	return 1, 1
}

// Returns the description of C. Its memory is that of the buffers.
func (o *Operation) describe(g *Group, l *loan) *C.hr_operation {
	inBlocks, outBlocks := o.blocks(g)
	count, dtype := o.Count, o.DType
	for _, side := range []struct {
		name   string
		buffer Buffer
		blocks int
	}{{"input", o.Input, inBlocks}, {"output", o.Output, outBlocks}} {
		if side.buffer.dtype == Undefined {
			continue
		}
		if count == 0 {
			count = side.buffer.count / max(side.blocks, 1)
		}
		if dtype == Undefined {
			dtype = side.buffer.dtype
		}
		if side.buffer.count != count*side.blocks || side.buffer.dtype != dtype {
			l.failure = invalid("the %s has %d elements of %v, where %d of %v are needed", side.name, side.buffer.count,
				side.buffer.dtype, count*side.blocks, dtype)
		}
		if side.buffer.tensor != nil {
			borrow(l, side.buffer.tensor.object)
		}
	}
	if o.Input.data != nil {
		l.pinner.Pin(o.Input.data)
	}
	if o.Output.data != nil {
		l.pinner.Pin(o.Output.data)
	}
	return lendStruct(l, C.hr_operation{struct_size: C.sizeof_hr_operation, kind: C.hr_operation_kind(o.Kind),
		dtype: C.hr_dtype(dtype), count: C.uint64_t(count), input: o.Input.data, output: o.Output.data,
		op: C.hr_reduce_op(o.Op), peer: rankOf(o.Peer), tag: C.uint32_t(o.Tag), factor: C.double(o.Factor)})
}

// Run performs an operation and waits for its end.
func (g *Group) Run(ctx context.Context, operation *Operation) error {
	var lent loan
	defer lent.end()
	group, c := borrow(&lent, g.object), operation.describe(g, &lent)
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_group_run(group, c, l) })
}

// Start starts an operation and returns at once. Its memory is in use until the work has ended.
func (g *Group) Start(operation *Operation) (*Work, error) {
	lent := new(loan)
	c := operation.describe(g, lent)
	if lent.failure != nil {
		lent.end()
		return nil, lent.failure
	}
	work, err := g.start(func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_group_start(group, c, out)
	})
	if err != nil {
		lent.end()
		return nil, err
	}
	return work, work.whenDone(func(error) { lent.end() })
}

// Explain describes as JSON how the group would perform an operation: the algorithm, and what each
// costs by the group's cost model. It sends nothing.
func (g *Group) Explain(operation *Operation) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	group, c := borrow(&lent, g.object), operation.describe(g, &lent)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	return described(C.hr_group_explain(group, c, &text), text)
}
