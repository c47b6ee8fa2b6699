package headrace

// #include "callbacks.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// Graph is a graph under construction, used by one goroutine at a time.
//
// Functions that add to a graph do not return errors, so that a graph reads like what it computes.
// The first failure is kept: what follows adds nothing, and Err, Model and Save return it.
// Functions that read a graph return their errors and keep none.
type Graph struct {
	object  *object[*C.hr_graph]
	failure atomic.Pointer[Error]
}

func newGraph(graph *C.hr_graph) *Graph {
	if graph == nil {
		return nil
	}
	out := new(Graph)
	return own(out, &out.object, graph, "graph", false, func(p *C.hr_graph) { C.hr_graph_release(p) })
}

// NewGraph creates an empty graph.
func (e *Env) NewGraph() (*Graph, error) {
	env, err := e.object.use()
	if err != nil {
		return nil, err
	}
	defer e.object.done()
	var graph *C.hr_graph
	err = failure(C.hr_graph_create(env, &graph))
	return newGraph(graph), err
}

// Close releases the graph.
func (g *Graph) Close() error {
	g.object.close()
	return nil
}

// Err returns the first failure of the functions that add to the graph; nil if there was none. The
// call that failed has left the graph as it was.
func (g *Graph) Err() error {
	if first := g.failure.Load(); first != nil {
		return first
	}
	return nil
}

// ClearErr returns what Err returns and lets the building go on.
func (g *Graph) ClearErr() error {
	if first := g.failure.Swap(nil); first != nil {
		return first
	}
	return nil
}

// Calls a function that adds to the graph, unless a call before it has failed.
func (g *Graph) add(function func(graph *C.hr_graph, l *loan) *C.hr_status) {
	if g.failure.Load() != nil {
		return
	}
	if err := g.call(function); err != nil {
		first, ok := err.(*Error)
		if !ok {
			first = &Error{Code: Unknown, Message: err.Error(), cause: err}
		}
		g.failure.CompareAndSwap(nil, first)
	}
}

// Calls a function with the handle. The function lends its arguments first and returns nil if one of
// them cannot be lent.
func (g *Graph) call(function func(graph *C.hr_graph, l *loan) *C.hr_status) error {
	var lent loan
	defer lent.end()
	graph := borrow(&lent, g.object)
	if lent.failure != nil {
		return lent.failure
	}
	if err := failure(function(graph, &lent)); err != nil {
		return err
	}
	return lent.failure
}

// Adds something that is one value.
func (g *Graph) value(function func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status) Value {
	out := C.hr_value(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status { return function(graph, l, &out) })
	return Value(out)
}

// Input adds an input. A dimension of -1 is unknown until a run.
func (g *Graph) Input(name string, dtype DType, dims ...int64) Value {
	return g.NamedInput(name, dtype, dims, nil)
}

// NamedInput adds an input whose unknown dimensions have names; dimensions with equal names have
// equal sizes. Symbols is nil or has an entry for each dimension, "" for one without a name.
func (g *Graph) NamedInput(name string, dtype DType, dims []int64, symbols []string) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		if symbols != nil && len(symbols) != len(dims) {
			l.failure = invalid("there are %d names for %d dimensions; give one for each dimension, \"\" for none",
				len(symbols), len(dims))
		}
		names := make([]*C.char, len(symbols))
		for i, symbol := range symbols {
			names[i] = l.optional(symbol)
		}
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_input(graph, text, C.hr_dtype(dtype), C.size_t(len(dims)), lendDims(l, dims), lend(l, names), out)
	})
}

// Bound sets the bounds and buckets of a dimension that an input has named. A max of -1 means no
// upper bound. All sizes with the same smallest bucket share one plan.
func (g *Graph) Bound(symbol string, min, max int64, buckets ...int64) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		name := l.text(symbol)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_bound(graph, name, C.int64_t(min), C.int64_t(max), C.size_t(len(buckets)), lendDims(l, buckets))
	})
}

// Constant adds a constant. If name is "", the graph makes a name. The graph shares the tensor's
// memory, so the contents must not be changed any more.
func (g *Graph) Constant(name string, tensor *Tensor) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		text, contents := l.optional(name), l.tensor(tensor)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_constant(graph, text, contents, out)
	})
}

// Variable adds a variable with an initial value, whose memory the graph shares.
func (g *Graph) Variable(name string, initial *Tensor, trainable bool) Variable {
	out := C.hr_variable(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text, contents := l.text(name), l.tensor(initial)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_variable(graph, text, contents, C.int(flag(trainable)), &out)
	})
	return Variable(out)
}

// VariableInit adds a variable whose initial value an operator makes, such as "RandomUniform" with
// the attributes "low=-0.1 high=0.1".
func (g *Graph) VariableInit(name string, dtype DType, dims []int64, trainable bool, op, attributes string) Variable {
	out := C.hr_variable(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text, operator, with := l.text(name), l.text(op), l.optional(attributes)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_variable_init(graph, text, C.hr_dtype(dtype), C.size_t(len(dims)), lendDims(l, dims),
			C.int(flag(trainable)), operator, with, &out)
	})
	return Variable(out)
}

// Read adds a read of the variable: the value after the last node so far that writes it, or at the
// start of the step if there is none.
func (g *Graph) Read(variable Variable) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		return C.hr_graph_read(graph, C.hr_variable(variable), out)
	})
}

// Assign adds an assignment. It happens in runs that need its node: make that a target of a
// signature.
func (g *Graph) Assign(variable Variable, value Value) Node {
	out := C.hr_node(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_assign(graph, C.hr_variable(variable), C.hr_value(value), &out)
	})
	return Node(out)
}

// AssignAdd adds an assignment that adds the value to the variable.
func (g *Graph) AssignAdd(variable Variable, value Value) Node {
	out := C.hr_node(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_assign_add(graph, C.hr_variable(variable), C.hr_value(value), &out)
	})
	return Node(out)
}

// SetTrainable freezes a variable or makes it trainable for the calls that follow.
func (g *Graph) SetTrainable(variable Variable, trainable bool) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_set_trainable(graph, C.hr_variable(variable), C.int(flag(trainable)))
	})
}

// Op adds a node with one output. The operator is one of ONNX ("Conv"), or has its domain and a dot
// before it ("headrace.train.SGD"), and may end in a version ("Softmax@13"). Attributes are a text
// such as "kernel_shape=5,5 auto_pad=SAME_UPPER". An input of None is omitted.
func (g *Graph) Op(op, attributes string, inputs ...Value) Value {
	return g.Ops(op, attributes, 1, inputs...)[0]
}

// Ops adds a node as Op does, with any number of outputs.
func (g *Graph) Ops(op, attributes string, outputs int, inputs ...Value) []Value {
	out := nones(outputs)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		operator, with := l.text(op), l.optional(attributes)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_op(graph, operator, with, C.size_t(len(inputs)), lendValues(l, inputs),
			C.size_t(len(out)), lendValues(l, out))
	})
	return out
}

func nones(count int) []Value {
	out := make([]Value, max(count, 0))
	for i := range out {
		out[i] = None
	}
	return out
}

func lendValues(l *loan, values []Value) *C.hr_value {
	return (*C.hr_value)(unsafe.Pointer(lend(l, values)))
}

// Device sets the device ("TOY:0") of nodes that are added from now on; "": the session chooses.
func (g *Graph) Device(device string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		name := l.optional(device)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_device(graph, name)
	})
}

// NameValue names a value.
func (g *Graph) NameValue(value Value, name string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_name_value(graph, C.hr_value(value), text)
	})
}

// SetMetadata sets an entry of the metadata.
func (g *Graph) SetMetadata(key, value string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		name, text := l.text(key), l.text(value)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_set_metadata(graph, name, text)
	})
}
