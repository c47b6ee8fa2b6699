package headrace

// #include "callbacks.h"
import "C"

import (
	"maps"
	"slices"
)

// NodeSpec describes a node with what Op cannot express: a name, a device, nodes that it runs after,
// and attributes that are tensors.
type NodeSpec struct {
	Op       string // as for Op
	Name     string
	Device   string
	Inputs   []Value // None for an optional input that is omitted
	Controls []Node  // the nodes that it runs after
	// Each is an int, int64, float64, string, []int64, []float64, []string, *Tensor or Body. The graph
	// shares the memory of tensors.
	Attributes map[string]any
}

// Add adds the node that the spec describes and returns its outputs and its number.
func (g *Graph) Add(spec *NodeSpec, outputs int) ([]Value, Node) {
	out, node := nones(outputs), C.hr_node(None)
	g.add(func(graph *C.hr_graph, l *loan) *C.hr_status {
		description := l.spec(spec)
		defer C.hr_node_spec_release(description)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_add(graph, description, C.size_t(len(out)), lendValues(l, out), &node)
	})
	return out, Node(node)
}

// Returns the description of C, which the caller releases.
func (l *loan) spec(spec *NodeSpec) *C.hr_node_spec {
	var out *C.hr_node_spec
	if l.failure = failure(C.hr_node_spec_create(l.text(spec.Op), &out)); l.failure != nil {
		return nil
	}
	if spec.Name != "" {
		C.hr_node_spec_name(out, l.text(spec.Name))
	}
	if spec.Device != "" {
		C.hr_node_spec_device(out, l.text(spec.Device))
	}
	for _, input := range spec.Inputs {
		C.hr_node_spec_input(out, C.hr_value(input))
	}
	for _, node := range spec.Controls {
		C.hr_node_spec_control(out, C.hr_node(node))
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Attributes)) {
		l.attribute(out, name, spec.Attributes[name])
	}
	return out
}

func (l *loan) attribute(spec *C.hr_node_spec, name string, value any) {
	text := l.text(name)
	switch value := value.(type) {
	case int:
		C.hr_node_spec_int(spec, text, C.int64_t(value))
	case int64:
		C.hr_node_spec_int(spec, text, C.int64_t(value))
	case float64:
		C.hr_node_spec_float(spec, text, C.double(value))
	case string:
		C.hr_node_spec_string(spec, text, l.text(value))
	case []int64:
		C.hr_node_spec_ints(spec, text, C.size_t(len(value)), lendDims(l, value))
	case []float64:
		C.hr_node_spec_floats(spec, text, C.size_t(len(value)), (*C.double)(lend(l, value)))
	case []string:
		C.hr_node_spec_strings(spec, text, C.size_t(len(value)), l.texts(value))
	case *Tensor:
		if tensor := l.tensor(value); tensor != nil {
			C.hr_node_spec_tensor(spec, text, tensor)
		}
	case Body:
		C.hr_node_spec_body(spec, text, C.hr_body(value))
	default:
		l.failure = invalid("the attribute '%s' is a %T; give an int, int64, float64, string, []int64, []float64, "+
			"[]string, *Tensor or Body", name, value)
	}
}
