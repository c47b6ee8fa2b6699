package headrace

// #include "callbacks.h"
import "C"

import "unsafe"

// Operator is an operator in Go, which graphs, gradients, files and plans treat like built-in ones. Its
// functions may be called from any thread, several at a time, and must not keep what they are given.
// The errors that they return, and their panics, fail the call that needed them, with the node's name.
type Operator struct {
	Name                   string // domain, dot and operator: "com.example.Swish"
	Version                int    // of this definition; several may be added; 0 means 1
	MinInputs, MaxInputs   int    // max -1: any number
	MinOutputs, MaxOutputs int    // max -1: any number
	Attributes             []OperatorAttribute
	// Infer checks the types of the inputs and sets those of all outputs. Dimensions may be unknown
	// while a graph is built.
	Infer func(*InferOp) error
	// Compute computes the outputs, which depend on the inputs and attributes only.
	Compute func(*ComputeOp) error
	// Gradient adds the nodes that compute the gradients of the inputs. nil: gradients stop here.
	Gradient func(*GradientOp) error
}

// OperatorAttribute declares an attribute: a number, a string or a list of numbers.
type OperatorAttribute struct {
	Name     string
	Kind     AttributeKind
	Required bool // every node must have it
}

// AddOperator adds an operator to the env. It must be called before the env's first model. A program
// adds its operators before it loads a file that uses them. The env keeps the functions for as long as
// it lives.
func (e *Env) AddOperator(operator *Operator) error {
	if operator == nil || operator.Infer == nil || operator.Compute == nil {
		return invalid("the operator has no Infer or no Compute; give both")
	}
	var lent loan
	defer lent.end()
	attributes := make([]C.hr_operator_attribute, len(operator.Attributes))
	for i, attribute := range operator.Attributes {
		attributes[i] = C.hr_operator_attribute{struct_size: C.sizeof_hr_operator_attribute,
			name: lent.text(attribute.Name), kind: C.hr_attribute_kind(attribute.Kind), required: flag(attribute.Required)}
	}
	held := *operator
	c := lendStruct(&lent, C.hr_operator{struct_size: C.sizeof_hr_operator, name: lent.text(operator.Name),
		version: lent.number("Version", operator.Version), min_inputs: lent.number("MinInputs", operator.MinInputs),
		max_inputs: lent.number("MaxInputs", operator.MaxInputs), min_outputs: lent.number("MinOutputs", operator.MinOutputs),
		max_outputs: lent.number("MaxOutputs", operator.MaxOutputs), attribute_count: C.size_t(len(attributes)),
		attributes: lend(&lent, attributes), release: releaser(),
		infer: (*[0]byte)(C.hrgo_infer), compute: (*[0]byte)(C.hrgo_compute)})
	if operator.Gradient != nil {
		c.gradient = (*[0]byte)(C.hrgo_gradient)
	}
	env := borrow(&lent, e.object)
	if lent.failure != nil {
		return lent.failure
	}
	c.context = newContext(&held)
	err := failure(C.hr_env_add_operator(env, c))
	if err != nil {
		hrgo_release(c.context)
	}
	return err
}

// op is a node of an operator, as its functions see it. After they have returned it is nil.
type op struct{ c *C.hr_op }

var errOver = &Error{Code: FailedPrecondition,
	Message: "the function of the operator has returned; what it was given is valid during its call only"}

//export hrgo_infer
func hrgo_infer(cell unsafe.Pointer, node *C.hr_op) *C.hr_status {
	given := InferOp{op{node}}
	defer func() { given.c = nil }()
	return guarded("the operator's Infer", func() error { return contextValue[*Operator](cell).Infer(&given) })
}

//export hrgo_compute
func hrgo_compute(cell unsafe.Pointer, node *C.hr_op) *C.hr_status {
	given := ComputeOp{op{node}}
	defer func() { given.c = nil }()
	return guarded("the operator's Compute", func() error { return contextValue[*Operator](cell).Compute(&given) })
}

//export hrgo_gradient
func hrgo_gradient(cell unsafe.Pointer, node *C.hr_op) *C.hr_status {
	given := GradientOp{op: op{node}}
	defer func() { given.c = nil }()
	return guarded("the operator's Gradient", func() error {
		if err := contextValue[*Operator](cell).Gradient(&given); err != nil {
			return err
		}
		return given.failure
	})
}

// Inputs returns the number of inputs.
func (o *op) Inputs() int {
	if o.c == nil {
		return 0
	}
	return int(C.hr_op_input_count(o.c))
}

// Outputs returns the number of outputs.
func (o *op) Outputs() int {
	if o.c == nil {
		return 0
	}
	return int(C.hr_op_output_count(o.c))
}

// Calls a function with the name of an attribute; does nothing if the name is no text of C.
func (o *op) attribute(name string, function func(name *C.char)) {
	var lent loan
	defer lent.end()
	text := lent.text(name)
	if o.c != nil && lent.failure == nil {
		function(text)
	}
}

// Int returns an attribute of the node; fallback if the node does not have it.
func (o *op) Int(name string, fallback int64) int64 {
	o.attribute(name, func(name *C.char) { fallback = int64(C.hr_op_int(o.c, name, C.int64_t(fallback))) })
	return fallback
}

// Float returns an attribute of the node; fallback if the node does not have it.
func (o *op) Float(name string, fallback float64) float64 {
	o.attribute(name, func(name *C.char) { fallback = float64(C.hr_op_float(o.c, name, C.double(fallback))) })
	return fallback
}

// Text returns an attribute of the node; fallback if the node does not have it.
func (o *op) Text(name, fallback string) string {
	o.attribute(name, func(name *C.char) {
		if text := C.hr_op_string(o.c, name, nil); text != nil {
			fallback = C.GoString(text)
		}
	})
	return fallback
}

// Ints returns a list; it is empty if the node does not have the attribute.
func (o *op) Ints(name string) (list []int64) {
	o.attribute(name, func(name *C.char) {
		var values *C.int64_t
		count := C.hr_op_ints(o.c, name, &values)
		list = clone[int64](values, int(count))
	})
	return list
}

// Floats returns a list; it is empty if the node does not have the attribute.
func (o *op) Floats(name string) (list []float64) {
	o.attribute(name, func(name *C.char) {
		var values *C.double
		count := C.hr_op_floats(o.c, name, &values)
		list = clone[float64](values, int(count))
	})
	return list
}
