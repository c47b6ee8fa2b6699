package headrace

// #include "callbacks.h"
import "C"

// Body adds a copy of what a signature of another graph computes as a body of the graph: what a branch,
// an iteration or a call computes. Its inputs and outputs are those of the signature, in the order in
// which they were added to it. A body sees nothing but its inputs.
func (g *Graph) Body(from *Graph, signature string) Body {
	out := C.hr_body(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		if err := from.Err(); err != nil {
			l.failure = err
			return nil
		}
		body, name := borrow(l, from.object), l.text(signature)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_body(graph, body, name, &out)
	})
	return Body(out)
}

// SequenceInput adds an input that is a sequence of tensors, for bodies whose states are sequences. A
// run cannot be fed one.
func (g *Graph) SequenceInput(name string, dtype DType) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_input_sequence(graph, text, C.hr_dtype(dtype), out)
	})
}

// Adds a node with any number of outputs.
func (g *Graph) values(outputs int, function func(graph *C.hr_graph, l *loan, count C.size_t, out *C.hr_value) *C.hr_status) []Value {
	out := nones(outputs)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return function(graph, l, C.size_t(len(out)), lendValues(l, out))
	})
	return out
}

// If adds a branch: the outputs are those of then if condition, one bool, is true in a run, and those of
// otherwise if not. Both take all the captured values and give outputs of the same types.
func (g *Graph) If(condition Value, then, otherwise Body, captured []Value, outputs int) []Value {
	return g.values(outputs, func(graph *C.hr_graph, l *loan, count C.size_t, out *C.hr_value) *C.hr_status {
		return C.hr_graph_if(graph, C.hr_value(condition), C.hr_body(then), C.hr_body(otherwise),
			C.size_t(len(captured)), lendValues(l, captured), count, out)
	})
}

// Loop adds a loop. The body is (iteration int64 [], condition bool [], states..., captured...) ->
// (condition, states..., scans...). It runs as long as fewer than tripCount (None: no limit) iterations
// are done and the condition (None: true at first) is true. The outputs are the states after the last
// iteration and then the scans, joined along a new first axis.
func (g *Graph) Loop(tripCount, condition Value, body Body, states, captured []Value, outputs int) []Value {
	return g.values(outputs, func(graph *C.hr_graph, l *loan, count C.size_t, out *C.hr_value) *C.hr_status {
		return C.hr_graph_loop(graph, C.hr_value(tripCount), C.hr_value(condition), C.hr_body(body),
			C.size_t(len(states)), lendValues(l, states), C.size_t(len(captured)), lendValues(l, captured), count, out)
	})
}

// Scan adds a loop over slices. The body is (states..., slices..., captured...) -> (states...,
// scans...). It runs once for each position along the scanned values' axes. The attributes are ONNX's,
// such as "scan_input_axes=1".
func (g *Graph) Scan(body Body, attributes string, states, scanned, captured []Value, outputs int) []Value {
	return g.values(outputs, func(graph *C.hr_graph, l *loan, count C.size_t, out *C.hr_value) *C.hr_status {
		with := l.optional(attributes)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_scan(graph, C.hr_body(body), with, C.size_t(len(states)), lendValues(l, states),
			C.size_t(len(scanned)), lendValues(l, scanned), C.size_t(len(captured)), lendValues(l, captured), count, out)
	})
}

// Call adds what the body computes of the inputs.
func (g *Graph) Call(body Body, outputs int, inputs ...Value) []Value {
	return g.values(outputs, func(graph *C.hr_graph, l *loan, count C.size_t, out *C.hr_value) *C.hr_status {
		return C.hr_graph_call(graph, C.hr_body(body), C.size_t(len(inputs)), lendValues(l, inputs), count, out)
	})
}
