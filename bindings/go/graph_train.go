package headrace

// #include "callbacks.h"
import "C"

import "unsafe"

// Dense adds a fully connected layer with the variables NAME/weight and NAME/bias. If variables of
// these names exist already, the layer uses them.
func (g *Graph) Dense(name string, x Value, units int64) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_dense(graph, text, C.hr_value(x), C.int64_t(units), out)
	})
}

// Conv2D adds a layer of two-dimensional convolution of x, [N, C, H, W]. The attributes are those of
// Conv, such as "strides=2,2".
func (g *Graph) Conv2D(name string, x Value, channels, kernel int64, attributes string) Value {
	return g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		text, with := l.text(name), l.optional(attributes)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_conv2d(graph, text, C.hr_value(x), C.int64_t(channels), C.int64_t(kernel), with, out)
	})
}

// BatchNorm adds a layer that normalizes x over all dimensions but dimension 1. With training it uses
// the statistics of x, and update is the node that moves the running statistics, a target for the
// training signature; otherwise it uses the running statistics, and update is None. The attributes
// are such as "epsilon=1e-5 momentum=0.1".
func (g *Graph) BatchNorm(name string, x Value, training bool, attributes string) (out Value, update Node) {
	node := C.hr_node(None)
	out = g.value(func(graph *C.hr_graph, l *loan, out *C.hr_value) *C.hr_status {
		text, with := l.text(name), l.optional(attributes)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_batch_norm(graph, text, C.hr_value(x), C.int(flag(training)), with, out, &node)
	})
	return out, Node(node)
}

// Gradients adds nodes that compute the gradient of the sum of y with respect to each of xs. A
// gradient is None if y does not depend on that x.
func (g *Graph) Gradients(y Value, xs ...Value) []Value {
	out := nones(len(xs))
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_add_gradients(graph, C.hr_value(y), C.size_t(len(xs)), lendValues(l, xs), lendValues(l, out))
	})
	return out
}

// VariableGradients adds nodes that compute the gradient of a scalar loss with respect to each of the
// variables. A gradient is None if the loss does not depend on that variable.
func (g *Graph) VariableGradients(loss Value, variables ...Variable) []Value {
	out := nones(len(variables))
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_variable_gradients(graph, C.hr_value(loss), C.size_t(len(variables)),
			lendVariables(l, variables), lendValues(l, out))
	})
	return out
}

func lendVariables(l *loan, variables []Variable) *C.hr_variable {
	return (*C.hr_variable)(unsafe.Pointer(lend(l, variables)))
}

// ApplyGradients adds an update of each variable by its gradient, which becomes a target of the
// signature. The optimizer is a text such as "sgd momentum=0.9" or "adam beta1=0.9"; the learning
// rate is a scalar.
func (g *Graph) ApplyGradients(signature, optimizer string, learningRate Value, variables []Variable, gradients []Value) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		if len(variables) != len(gradients) {
			l.failure = invalid("there are %d gradients for %d variables; give one for each variable", len(gradients), len(variables))
		}
		name, with := l.text(signature), l.text(optimizer)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_apply_gradients(graph, name, with, C.hr_value(learningRate), C.size_t(len(variables)),
			lendVariables(l, variables), lendValues(l, gradients))
	})
}

// Minimize adds the gradients of the loss for all trainable variables and their updates, which become
// targets of the signature.
func (g *Graph) Minimize(signature string, loss Value, optimizer string, learningRate Value) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		name, with := l.text(signature), l.text(optimizer)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_minimize(graph, name, C.hr_value(loss), with, C.hr_value(learningRate))
	})
}

// SignatureInput adds an input to a signature. The first entry creates the signature.
func (g *Graph) SignatureInput(signature, name string, value Value) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of, text := l.text(signature), l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_signature_input(graph, of, text, C.hr_value(value))
	})
}

// SignatureOutput adds an output to a signature.
func (g *Graph) SignatureOutput(signature, name string, value Value) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of, text := l.text(signature), l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_signature_output(graph, of, text, C.hr_value(value))
	})
}

// SignatureTarget adds a node that runs of the signature execute for its effect.
func (g *Graph) SignatureTarget(signature string, node Node) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of := l.text(signature)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_signature_target(graph, of, C.hr_node(node))
	})
}

// RemoveSignature removes a signature. What only it needed stays until Prune.
func (g *Graph) RemoveSignature(signature string) {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		of := l.text(signature)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_remove_signature(graph, of)
	})
}

// Prune removes all that no signature needs. Values, nodes and variables get new numbers, so look for
// them by name afterwards.
func (g *Graph) Prune() {
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status { return C.hr_graph_prune(graph) })
}

// Model makes a model of the graph as it is now. Fails with Err if building has failed.
func (g *Graph) Model() (*Model, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	var model *C.hr_model
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status { return C.hr_model_from_graph(graph, &model) })
	return newModel(model), err
}

// SaveOptions say how a graph is written. The zero value means defaults.
type SaveOptions struct {
	StripNames bool   // omits the names of nodes and values; messages then use numbers
	SideFile   string // the file for the tensors, relative to the graph's file; "": the same
	// MergeAdapters adds low-rank adapters to their weights, so that the file has none.
	MergeAdapters bool
}

func (l *loan) save(options *SaveOptions) *C.hr_save_options {
	if options == nil {
		return nil
	}
	return lendStruct(l, C.hr_save_options{struct_size: C.sizeof_hr_save_options,
		strip_names: flag(options.StripNames), side_file: l.optional(options.SideFile),
		merge_adapters: flag(options.MergeAdapters)})
}

// Save writes the graph as it is now to a .hrg file. The options may be nil. If it fails, the file is
// as it was.
func (g *Graph) Save(path string, options *SaveOptions) error {
	if err := g.Err(); err != nil {
		return err
	}
	return g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		file, how := l.text(path), l.save(options)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_save(graph, file, how)
	})
}
