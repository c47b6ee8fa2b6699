package headrace

// #include "callbacks.h"
import "C"

// GradientOp is a node whose gradient is added to a graph. As with Graph, functions that add keep the
// first failure, and what follows adds nothing.
type GradientOp struct {
	op
	failure error
}

// Err returns the first failure.
func (o *GradientOp) Err() error { return o.failure }

// Input returns an input; None if the node does not have it.
func (o *GradientOp) Input(input int) Value {
	if o.c == nil {
		return None
	}
	return Value(C.hr_op_input(o.c, C.size_t(input)))
}

// Output returns an output; None if the node does not have it.
func (o *GradientOp) Output(output int) Value {
	if o.c == nil {
		return None
	}
	return Value(C.hr_op_output(o.c, C.size_t(output)))
}

// OutputGradient returns the gradient of an output; None if nothing depends on that output.
func (o *GradientOp) OutputGradient(output int) Value {
	if o.c == nil {
		return None
	}
	return Value(C.hr_op_output_gradient(o.c, C.size_t(output)))
}

// Wants reports whether the gradient of an input is needed.
func (o *GradientOp) Wants(input int) bool {
	return o.c != nil && C.hr_op_wants_gradient(o.c, C.size_t(input)) != 0
}

func (o *GradientOp) add(function func(l *loan) *C.hr_status) {
	if o.failure != nil {
		return
	}
	if o.c == nil {
		o.failure = errOver
		return
	}
	var lent loan
	defer lent.end()
	if o.failure = failure(function(&lent)); o.failure == nil {
		o.failure = lent.failure
	}
}

// Op adds a node with one output, as Graph.Op does.
func (o *GradientOp) Op(name, attributes string, inputs ...Value) Value {
	return o.Ops(name, attributes, 1, inputs...)[0]
}

// Ops adds a node with any number of outputs, as Graph.Ops does.
func (o *GradientOp) Ops(name, attributes string, outputs int, inputs ...Value) []Value {
	out := nones(outputs)
	o.add(func(l *loan) *C.hr_status {
		text, with := l.text(name), l.optional(attributes)
		if l.failure != nil {
			return nil
		}
		return C.hr_op_add(o.c, text, with, C.size_t(len(inputs)), lendValues(l, inputs), C.size_t(len(out)), lendValues(l, out))
	})
	return out
}

// Scalar adds a constant scalar of the floating-point type of like.
func (o *GradientOp) Scalar(value float64, like Value) Value {
	out := C.hr_value(None)
	o.add(func(l *loan) *C.hr_status { return C.hr_op_scalar(o.c, C.double(value), C.hr_value(like), &out) })
	return Value(out)
}

// SetGradient sets the gradient of an input, which must have the shape of the input.
func (o *GradientOp) SetGradient(input int, gradient Value) {
	o.add(func(l *loan) *C.hr_status { return C.hr_op_set_gradient(o.c, C.size_t(input), C.hr_value(gradient)) })
}
