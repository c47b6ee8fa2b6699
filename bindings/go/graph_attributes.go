package headrace

// #include "callbacks.h"
import "C"

// Calls a function that reads an attribute.
func (g *Graph) attribute(name string, function func(graph *C.hr_graph, name *C.char) *C.hr_status) error {
	return g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return function(graph, text)
	})
}

// NodeInt returns an attribute of a node; fallback if the node does not have it. InvalidArgument if it
// is of another kind. Operators of headrace.state and headrace.train name their variables by it.
func (g *Graph) NodeInt(node Node, name string, fallback int64) (int64, error) {
	var out C.int64_t
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		return C.hr_graph_node_int(graph, C.hr_node(node), name, C.int64_t(fallback), &out)
	})
	return int64(out), err
}

// NodeFloat returns an attribute as NodeInt does.
func (g *Graph) NodeFloat(node Node, name string, fallback float64) (float64, error) {
	var out C.double
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		return C.hr_graph_node_float(graph, C.hr_node(node), name, C.double(fallback), &out)
	})
	return float64(out), err
}

// NodeString returns an attribute as NodeInt does.
func (g *Graph) NodeString(node Node, name, fallback string) (string, error) {
	result := fallback
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		var out *C.char
		status := C.hr_graph_node_string(graph, C.hr_node(node), name, nil, &out)
		if status == nil && out != nil {
			result = C.GoString(out)
		}
		return status
	})
	return result, err
}

// NodeInts returns a list; it is empty if the node does not have the attribute.
func (g *Graph) NodeInts(node Node, name string) ([]int64, error) {
	var result []int64
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		var count C.size_t
		var values *C.int64_t
		status := C.hr_graph_node_ints(graph, C.hr_node(node), name, &count, &values)
		if status == nil {
			result = clone[int64](values, int(count))
		}
		return status
	})
	return result, err
}

// NodeFloats returns a list as NodeInts does.
func (g *Graph) NodeFloats(node Node, name string) ([]float64, error) {
	var result []float64
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		var count C.size_t
		var values *C.double
		status := C.hr_graph_node_floats(graph, C.hr_node(node), name, &count, &values)
		if status == nil {
			result = clone[float64](values, int(count))
		}
		return status
	})
	return result, err
}

// NodeStrings returns a list as NodeInts does.
func (g *Graph) NodeStrings(node Node, name string) ([]string, error) {
	var result []string
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		var count C.size_t
		var values **C.char
		status := C.hr_graph_node_strings(graph, C.hr_node(node), name, &count, &values)
		if status == nil {
			result = cloneTexts(values, count)
		}
		return status
	})
	return result, err
}

// NodeTensor returns an attribute; nil if the node does not have it.
func (g *Graph) NodeTensor(node Node, name string) (*Tensor, error) {
	var out *C.hr_tensor
	err := g.attribute(name, func(graph *C.hr_graph, name *C.char) *C.hr_status {
		return C.hr_graph_node_tensor(graph, C.hr_node(node), name, &out)
	})
	return newTensor(out), err
}
