package headrace

// #include "callbacks.h"
import "C"

import (
	"math"
	"sync"
	"unsafe"
)

// InferOp is a node whose types are inferred.
type InferOp struct{ op }

// InputType returns the type of an input: Undefined if an optional input is omitted, dims nil and
// ranked false if the rank is unknown, a dimension of -1 if that is unknown.
func (o *InferOp) InputType(input int) (dtype DType, dims []int64, ranked bool) {
	if o.c == nil || input < 0 {
		return Undefined, nil, false
	}
	var rank C.int32_t
	var sizes *C.int64_t
	dtype = DType(C.hr_op_input_type(o.c, C.size_t(input), &rank, &sizes))
	if dtype == Undefined || rank < 0 {
		return dtype, nil, false
	}
	return dtype, clone[int64](sizes, int(rank)), true
}

// SetOutput sets the type of an output. A dimension of -1 is unknown.
func (o *InferOp) SetOutput(output int, dtype DType, dims ...int64) error {
	return o.setOutput(output, dtype, len(dims), dims)
}

// SetOutputUnranked sets the type of an output whose rank is unknown.
func (o *InferOp) SetOutputUnranked(output int, dtype DType) error {
	return o.setOutput(output, dtype, -1, nil)
}

func (o *InferOp) setOutput(output int, dtype DType, rank int, dims []int64) error {
	if o.c == nil {
		return errOver
	}
	var lent loan
	defer lent.end()
	return failure(C.hr_op_set_output(o.c, C.size_t(output), C.hr_dtype(dtype), C.int32_t(rank), lendDims(&lent, dims)))
}

// SetOutputLike sets the type of an output to that of an input, with the names of its dimensions.
func (o *InferOp) SetOutputLike(output, input int) error {
	if o.c == nil {
		return errOver
	}
	return failure(C.hr_op_set_output_like(o.c, C.size_t(output), C.size_t(input)))
}

// ComputeOp is a node that computes its outputs.
type ComputeOp struct{ op }

// OpTensor describes an input or output of a node that computes.
type OpTensor struct {
	DType DType // Undefined: an optional tensor that is omitted
	Dims  []int64
	data  unsafe.Pointer
}

func opTensor(c *C.hr_op_tensor) OpTensor {
	if c == nil {
		return OpTensor{}
	}
	return OpTensor{DType: DType(c.dtype), Dims: unsafe.Slice((*int64)(c.dims), c.rank), data: c.data}
}

// Input describes an input.
func (o *ComputeOp) Input(input int) OpTensor {
	if o.c == nil || input < 0 {
		return OpTensor{}
	}
	return opTensor(C.hr_op_input_tensor(o.c, C.size_t(input)))
}

// Output describes an output.
func (o *ComputeOp) Output(output int) OpTensor {
	if o.c == nil || output < 0 {
		return OpTensor{}
	}
	return opTensor(C.hr_op_output_tensor(o.c, C.size_t(output)))
}

// Elements returns the elements of an input or output, without a copy. They are valid during the call
// of Compute; those of inputs must not be written to.
func Elements[T Element](t OpTensor) ([]T, error) {
	if t.DType != DTypeOf[T]() {
		return nil, invalid("the tensor has elements of %v, not of %v", t.DType, DTypeOf[T]())
	}
	count := int64(1)
	for _, size := range t.Dims {
		count *= size
	}
	return unsafe.Slice((*T)(t.data), count), nil
}

// ParallelFor calls task(i) once for each i in [0, tasks) on the threads of this run, and returns when
// all calls have returned. A panic of a task fails the run.
func (o *ComputeOp) ParallelFor(tasks int, task func(i int)) {
	if o.c == nil || tasks <= 0 {
		return
	}
	if tasks > math.MaxInt32 {
		panic("there are at most 2^31 - 1 tasks; give each more to do")
	}
	work := &parallelWork{task: task}
	cell := newContext(work)
	C.hr_op_parallel_for(o.c, C.int32_t(tasks), (*[0]byte)(C.hrgo_op_task), cell)
	hrgo_release(cell)
	if work.failure != nil {
		panic(work.failure)
	}
}

type parallelWork struct {
	task    func(i int)
	mutex   sync.Mutex
	failure error // the first panic of a task
}

//export hrgo_op_task
func hrgo_op_task(cell unsafe.Pointer, task C.int) {
	work := contextValue[*parallelWork](cell)
	err := caught("a task of the operator", func() error {
		work.task(int(task))
		return nil
	})
	if err != nil {
		work.mutex.Lock()
		defer work.mutex.Unlock()
		if work.failure == nil {
			work.failure = err
		}
	}
}
