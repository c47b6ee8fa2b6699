package headrace

// #include "callbacks.h"
import "C"

import (
	"slices"
	"unsafe"
)

// GraphInfo says what a graph has. Values, nodes, variables and signatures have the numbers from 0 to
// their count - 1.
type GraphInfo struct {
	Values, Nodes, Variables, Signatures int
	Inputs                               []Value // in the order in which they were added
}

// ValueInfo describes a value.
type ValueInfo struct {
	Name       string
	DType      DType
	Dims       []int64  // -1: unknown until a run; nil if RankKnown is false
	Symbols    []string // the name of each unknown dimension, or ""
	RankKnown  bool
	Producer   Node // the node that computes it; None for inputs and constants
	IsConstant bool
}

// NodeInfo describes a node.
type NodeInfo struct {
	Name     string
	Op       string // "Conv", "headrace.train.SGD"
	Version  int    // of the operator
	Device   string // "": the session chooses
	Inputs   []Value
	Outputs  []Value
	Controls []Node // the nodes that it runs after
	// Attributes are the names of those that the node has, with their kinds.
	Attributes []AttributeInfo
}

// AttributeInfo describes an attribute of a node.
type AttributeInfo struct {
	Name string
	Kind AttributeKind
}

// VariableInfo describes a variable.
type VariableInfo struct {
	Name      string
	DType     DType
	Dims      []int64
	Trainable bool
}

// SignatureInfo describes a signature.
type SignatureInfo struct {
	Name            string
	Inputs, Outputs []NamedValue
	Targets         []Node
}

// NamedValue is an input or output of a signature.
type NamedValue struct {
	Name  string
	Value Value
}

// Returns a copy of an array of C.
func clone[To, From any](data *From, count int) []To {
	return slices.Clone(unsafe.Slice((*To)(unsafe.Pointer(data)), count))
}

func cloneTexts(data **C.char, count C.size_t) []string {
	out := make([]string, count)
	for i, text := range unsafe.Slice(data, count) {
		if text != nil {
			out[i] = C.GoString(text)
		}
	}
	return out
}

// Info says what the graph has.
func (g *Graph) Info() (GraphInfo, error) {
	var out GraphInfo
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		c := C.hr_graph_info{struct_size: C.sizeof_hr_graph_info}
		if status := C.hr_graph_get(graph, &c); status != nil {
			return status
		}
		out = GraphInfo{Values: int(c.value_count), Nodes: int(c.node_count), Variables: int(c.variable_count),
			Signatures: int(c.signature_count), Inputs: clone[Value](c.inputs, int(c.input_count))}
		return nil
	})
	return out, err
}

// Value describes a value.
func (g *Graph) Value(value Value) (ValueInfo, error) {
	var out ValueInfo
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		c := C.hr_value_info{struct_size: C.sizeof_hr_value_info}
		if status := C.hr_graph_get_value(graph, C.hr_value(value), &c); status != nil {
			return status
		}
		out = ValueInfo{Name: C.GoString(c.name), DType: DType(c.dtype), RankKnown: c.rank >= 0,
			Producer: Node(c.producer), IsConstant: c.is_constant != 0}
		if c.rank >= 0 {
			out.Dims = clone[int64](c.dims, int(c.rank))
			out.Symbols = cloneTexts(c.symbols, C.size_t(c.rank))
		}
		return nil
	})
	return out, err
}

// Node describes a node.
func (g *Graph) Node(node Node) (NodeInfo, error) {
	var out NodeInfo
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		c := C.hr_node_info{struct_size: C.sizeof_hr_node_info}
		if status := C.hr_graph_get_node(graph, C.hr_node(node), &c); status != nil {
			return status
		}
		out = NodeInfo{Name: C.GoString(c.name), Op: C.GoString(c.op), Version: int(c.version),
			Device: C.GoString(c.device), Inputs: clone[Value](c.inputs, int(c.input_count)),
			Outputs:    clone[Value](c.outputs, int(c.output_count)),
			Controls:   clone[Node](c.controls, int(c.control_count)),
			Attributes: make([]AttributeInfo, c.attribute_count)}
		for i := range out.Attributes {
			attribute := C.hr_attribute_info{struct_size: C.sizeof_hr_attribute_info}
			if status := C.hr_graph_get_attribute(graph, C.hr_node(node), C.size_t(i), &attribute); status != nil {
				return status
			}
			out.Attributes[i] = AttributeInfo{C.GoString(attribute.name), AttributeKind(attribute.kind)}
		}
		return nil
	})
	return out, err
}

// Variable describes a variable.
func (g *Graph) VariableInfo(variable Variable) (VariableInfo, error) {
	var out VariableInfo
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		c := C.hr_variable_info{struct_size: C.sizeof_hr_variable_info}
		if status := C.hr_graph_get_variable(graph, C.hr_variable(variable), &c); status != nil {
			return status
		}
		out = VariableInfo{Name: C.GoString(c.name), DType: DType(c.dtype), Trainable: c.trainable != 0,
			Dims: clone[int64](c.dims, max(int(c.rank), 0))}
		return nil
	})
	return out, err
}

// Signature describes a signature by its number.
func (g *Graph) Signature(index int) (SignatureInfo, error) {
	var out SignatureInfo
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		c := C.hr_signature_info{struct_size: C.sizeof_hr_signature_info}
		if status := C.hr_graph_get_signature(graph, C.size_t(index), &c); status != nil {
			return status
		}
		out = SignatureInfo{Name: C.GoString(c.name), Inputs: namedValues(c.input_names, c.inputs, c.input_count),
			Outputs: namedValues(c.output_names, c.outputs, c.output_count),
			Targets: clone[Node](c.targets, int(c.target_count))}
		return nil
	})
	return out, err
}

func namedValues(names **C.char, values *C.hr_value, count C.size_t) []NamedValue {
	out := make([]NamedValue, count)
	for i, name := range cloneTexts(names, count) {
		out[i] = NamedValue{name, Value(unsafe.Slice(values, count)[i])}
	}
	return out
}

// FindValue returns the value of that name. NotFound, with the name that is nearest, if there is none.
func (g *Graph) FindValue(name string) (Value, error) {
	out := C.hr_value(None)
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_find_value(graph, text, &out)
	})
	return Value(out), err
}

// FindNode returns the node of that name.
func (g *Graph) FindNode(name string) (Node, error) {
	out := C.hr_node(None)
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_find_node(graph, text, &out)
	})
	return Node(out), err
}

// FindVariable returns the variable of that name.
func (g *Graph) FindVariable(name string) (Variable, error) {
	out := C.hr_variable(None)
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_find_variable(graph, text, &out)
	})
	return Variable(out), err
}

// FindSignature returns the number of the signature of that name.
func (g *Graph) FindSignature(name string) (int, error) {
	var out C.size_t
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		text := l.text(name)
		if l.failure != nil {
			return nil
		}
		return C.hr_graph_find_signature(graph, text, &out)
	})
	return int(out), err
}

// ValueTensor returns the contents of a constant; nil if the value is no constant. The tensor shares
// the graph's memory, so its contents must not be changed.
func (g *Graph) ValueTensor(value Value) (*Tensor, error) {
	var out *C.hr_tensor
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_value_tensor(graph, C.hr_value(value), &out)
	})
	return newTensor(out), err
}

// VariableTensor returns the initial value of a variable; nil if an operator makes it. The tensor
// shares the graph's memory, so its contents must not be changed.
func (g *Graph) VariableTensor(variable Variable) (*Tensor, error) {
	var out *C.hr_tensor
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_variable_tensor(graph, C.hr_variable(variable), &out)
	})
	return newTensor(out), err
}

// TypeOf returns the type of a value as text, such as "float32[batch, 10]".
func (g *Graph) TypeOf(value Value) (string, error) {
	var text *C.hr_text
	err := g.call(func(graph *C.hr_graph, l *loan) *C.hr_status {
		return C.hr_graph_type_of(graph, C.hr_value(value), &text)
	})
	return takeText(text), err
}
