//! Reading graphs.
use headrace_sys as sys;

use crate::graph::{shared_tensor, value_or_none};
use crate::raw::{
    array, c_text, check, copied, copied_or_none, made_or_null, optional_text, text_pointer,
    written,
};
use crate::{DType, Dim, Graph, Node, Result, Tensor, Value, Variable};

/// How much a graph has. Values, nodes and variables have the numbers from 0 to their count - 1.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct GraphInfo {
    pub values: usize,
    pub nodes: usize,
    pub variables: usize,
    pub signatures: usize,
    /// In the order in which they were added.
    pub inputs: Vec<Value>,
}

/// What a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueInfo {
    /// "" if it has none.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// None if the rank is unknown.
    pub dims: Option<Vec<Dim>>,
    /// The node that computes it; None for inputs and constants.
    pub producer: Option<Node>,
    /// Whether [`Graph::value_tensor`] gives its contents.
    pub is_constant: bool,
}

/// What a node is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeInfo {
    /// "" if it has none.
    pub name: String,
    /// The operator, such as "Conv" or "headrace.train.SGD".
    pub op: String,
    /// The version of the operator.
    pub version: i32,
    /// "": the session chooses.
    pub device: String,
    /// None for an optional input that is omitted.
    pub inputs: Vec<Option<Value>>,
    /// None for an output that is not computed.
    pub outputs: Vec<Option<Value>>,
    /// The nodes that it runs after.
    pub controls: Vec<Node>,
    /// The names and kinds of its attributes.
    pub attributes: Vec<(String, AttributeKind)>,
}

/// What a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct VariableInfo {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub trainable: bool,
}

/// What a signature is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct SignatureInfo {
    pub name: String,
    pub inputs: Vec<(String, Value)>,
    pub outputs: Vec<(String, Value)>,
    pub targets: Vec<Node>,
}

/// What an attribute of a node holds. Later versions of the library may add kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttributeKind(pub i32);

#[allow(missing_docs)]
impl AttributeKind {
    pub const INT: Self = Self(sys::HR_ATTRIBUTE_INT);
    pub const FLOAT: Self = Self(sys::HR_ATTRIBUTE_FLOAT);
    pub const STRING: Self = Self(sys::HR_ATTRIBUTE_STRING);
    pub const INTS: Self = Self(sys::HR_ATTRIBUTE_INTS);
    pub const FLOATS: Self = Self(sys::HR_ATTRIBUTE_FLOATS);
    pub const STRINGS: Self = Self(sys::HR_ATTRIBUTE_STRINGS);
    pub const TENSOR: Self = Self(sys::HR_ATTRIBUTE_TENSOR);
    pub const GRAPH: Self = Self(sys::HR_ATTRIBUTE_GRAPH);
}

// Pointers that the calls below give live until the graph changes, which needs `&mut self`.
impl Graph {
    /// Returns how much the graph has.
    pub fn info(&self) -> Result<GraphInfo> {
        let mut raw = sys::hr_graph_info::default();
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_get(self.raw(), &mut raw) })?;
        // SAFETY: the array has that many entries.
        let inputs = unsafe { array(raw.inputs, raw.input_count) };
        Ok(GraphInfo {
            values: raw.value_count,
            nodes: raw.node_count,
            variables: raw.variable_count,
            signatures: raw.signature_count,
            inputs: inputs.iter().copied().map(Value).collect(),
        })
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> Result<impl Iterator<Item = Node>> {
        Ok((0..self.info()?.nodes as u32).map(Node))
    }

    /// Returns all variables.
    pub fn variables(&self) -> Result<impl Iterator<Item = Variable>> {
        Ok((0..self.info()?.variables as u32).map(Variable))
    }

    /// Returns what a value is.
    pub fn value_info(&self, value: Value) -> Result<ValueInfo> {
        let mut raw = sys::hr_value_info::default();
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_get_value(self.raw(), value.0, &mut raw) })?;
        // SAFETY: the texts live, and the arrays have as many entries as the rank.
        unsafe {
            let dims = usize::try_from(raw.rank).ok().map(|rank| dims_of(&raw, rank));
            Ok(ValueInfo {
                name: copied(raw.name),
                dtype: DType(raw.dtype),
                dims,
                producer: (raw.producer != sys::HR_NONE).then_some(Node(raw.producer)),
                is_constant: raw.is_constant != 0,
            })
        }
    }

    /// Returns what a node is.
    pub fn node_info(&self, node: Node) -> Result<NodeInfo> {
        let mut raw = sys::hr_node_info::default();
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_get_node(self.raw(), node.0, &mut raw) })?;
        let attributes =
            (0..raw.attribute_count).map(|i| self.attribute(node, i)).collect::<Result<_>>()?;
        // SAFETY: the texts live, and the arrays have as many entries as their counts say.
        unsafe {
            let values =
                |data, count| array(data, count).iter().copied().map(value_or_none).collect();
            Ok(NodeInfo {
                name: copied(raw.name),
                op: copied(raw.op),
                version: raw.version,
                device: copied(raw.device),
                inputs: values(raw.inputs, raw.input_count),
                outputs: values(raw.outputs, raw.output_count),
                controls: array(raw.controls, raw.control_count)
                    .iter()
                    .copied()
                    .map(Node)
                    .collect(),
                attributes,
            })
        }
    }

    fn attribute(&self, node: Node, index: usize) -> Result<(String, AttributeKind)> {
        let mut raw = sys::hr_attribute_info::default();
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_get_attribute(self.raw(), node.0, index, &mut raw) })?;
        // SAFETY: the text lives.
        Ok((unsafe { copied(raw.name) }, AttributeKind(raw.kind)))
    }

    /// Returns what a variable is.
    pub fn variable_info(&self, variable: Variable) -> Result<VariableInfo> {
        let mut raw = sys::hr_variable_info::default();
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_get_variable(self.raw(), variable.0, &mut raw) })?;
        // SAFETY: the text lives, and the array has as many entries as the rank.
        unsafe {
            Ok(VariableInfo {
                name: copied(raw.name),
                dtype: DType(raw.dtype),
                shape: array(raw.dims, usize::try_from(raw.rank).unwrap_or(0)).to_vec(),
                trainable: raw.trainable != 0,
            })
        }
    }

    /// Returns all signatures.
    pub fn signatures(&self) -> Result<Vec<SignatureInfo>> {
        (0..self.info()?.signatures).map(|index| self.signature(index)).collect()
    }

    /// Returns a signature.
    pub fn find_signature(&self, name: &str) -> Result<SignatureInfo> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        let index =
            written(|out| unsafe { sys::hr_graph_find_signature(self.raw(), name.as_ptr(), out) })?;
        self.signature(index)
    }

    fn signature(&self, index: usize) -> Result<SignatureInfo> {
        let mut raw = sys::hr_signature_info::default();
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_get_signature(self.raw(), index, &mut raw) })?;
        // SAFETY: the texts live, and the arrays have as many entries as their counts say.
        unsafe {
            let entries = |names, values, count| {
                let names = array(names, count).iter().map(|name| copied(*name));
                names.zip(array(values, count).iter().copied().map(Value)).collect()
            };
            Ok(SignatureInfo {
                name: copied(raw.name),
                inputs: entries(raw.input_names, raw.inputs, raw.input_count),
                outputs: entries(raw.output_names, raw.outputs, raw.output_count),
                targets: array(raw.targets, raw.target_count).iter().copied().map(Node).collect(),
            })
        }
    }

    // ---- By name; NOT_FOUND names what is nearest. ----

    /// Returns the value of a name.
    pub fn find_value(&self, name: &str) -> Result<Value> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe { sys::hr_graph_find_value(self.raw(), name.as_ptr(), out) })
            .map(Value)
    }

    /// Returns the node of a name.
    pub fn find_node(&self, name: &str) -> Result<Node> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe { sys::hr_graph_find_node(self.raw(), name.as_ptr(), out) }).map(Node)
    }

    /// Returns the variable of a name.
    pub fn find_variable(&self, name: &str) -> Result<Variable> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe { sys::hr_graph_find_variable(self.raw(), name.as_ptr(), out) })
            .map(Variable)
    }

    // ---- Attributes; None, or no elements, if the node does not have it. ----

    /// Returns an attribute, or `fallback`.
    pub fn node_int(&self, node: Node, name: &str, fallback: i64) -> Result<i64> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe {
            sys::hr_graph_node_int(self.raw(), node.0, name.as_ptr(), fallback, out)
        })
    }

    /// Returns an attribute, or `fallback`.
    pub fn node_float(&self, node: Node, name: &str, fallback: f64) -> Result<f64> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe {
            sys::hr_graph_node_float(self.raw(), node.0, name.as_ptr(), fallback, out)
        })
    }

    /// Returns an attribute, or `fallback`.
    pub fn node_string(
        &self,
        node: Node,
        name: &str,
        fallback: Option<&str>,
    ) -> Result<Option<String>> {
        let (name, fallback) = (c_text(name)?, optional_text(fallback)?);
        let mut out = std::ptr::null();
        // SAFETY: the texts live during the call, and the result until the graph changes.
        unsafe {
            let fallback = text_pointer(&fallback);
            check(sys::hr_graph_node_string(
                self.raw(),
                node.0,
                name.as_ptr(),
                fallback,
                &mut out,
            ))?;
            Ok(copied_or_none(out))
        }
    }

    /// Returns an attribute.
    pub fn node_ints(&self, node: Node, name: &str) -> Result<Vec<i64>> {
        let (name, mut count, mut out) = (c_text(name)?, 0, std::ptr::null());
        // SAFETY: the text lives during the call, and the result until the graph changes.
        unsafe {
            let name = name.as_ptr();
            check(sys::hr_graph_node_ints(self.raw(), node.0, name, &mut count, &mut out))?;
            Ok(array(out, count).to_vec())
        }
    }

    /// Returns an attribute.
    pub fn node_floats(&self, node: Node, name: &str) -> Result<Vec<f64>> {
        let (name, mut count, mut out) = (c_text(name)?, 0, std::ptr::null());
        // SAFETY: as for `node_ints`.
        unsafe {
            let name = name.as_ptr();
            check(sys::hr_graph_node_floats(self.raw(), node.0, name, &mut count, &mut out))?;
            Ok(array(out, count).to_vec())
        }
    }

    /// Returns an attribute.
    pub fn node_strings(&self, node: Node, name: &str) -> Result<Vec<String>> {
        let (name, mut count, mut out) = (c_text(name)?, 0, std::ptr::null());
        // SAFETY: as for `node_ints`.
        unsafe {
            let name = name.as_ptr();
            check(sys::hr_graph_node_strings(self.raw(), node.0, name, &mut count, &mut out))?;
            Ok(array(out, count).iter().map(|text| copied(*text)).collect())
        }
    }

    /// Returns an attribute, which shares the memory of the graph.
    pub fn node_tensor(&self, node: Node, name: &str) -> Result<Option<Tensor>> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        made_or_null(|out| unsafe {
            sys::hr_graph_node_tensor(self.raw(), node.0, name.as_ptr(), out)
        })
        .map(shared_tensor)
    }

    /// Returns the contents of a constant, which share the memory of the graph.
    pub fn value_tensor(&self, value: Value) -> Result<Option<Tensor>> {
        // SAFETY: the graph lives, and `out` is written.
        made_or_null(|out| unsafe { sys::hr_graph_value_tensor(self.raw(), value.0, out) })
            .map(shared_tensor)
    }

    /// Returns the initial value of a variable, which shares the memory of the graph; None if an
    /// operator makes it.
    pub fn variable_tensor(&self, variable: Variable) -> Result<Option<Tensor>> {
        // SAFETY: the graph lives, and `out` is written.
        made_or_null(|out| unsafe { sys::hr_graph_variable_tensor(self.raw(), variable.0, out) })
            .map(shared_tensor)
    }
}

/// # Safety
/// The arrays have as many entries as the rank.
unsafe fn dims_of(raw: &sys::hr_value_info, rank: usize) -> Vec<Dim> {
    // SAFETY: the caller promises it.
    let (sizes, symbols) = unsafe { (array(raw.dims, rank), array(raw.symbols, rank)) };
    let symbol = |i: usize| {
        // SAFETY: a symbol is a text or NULL.
        symbols.get(i).and_then(|text| unsafe { copied_or_none(*text) })
    };
    let dim = |(i, size): (usize, &i64)| match (*size, symbol(i)) {
        (-1, Some(name)) => Dim::Named(name),
        (-1, None) => Dim::Unknown,
        (size, _) => Dim::Size(size),
    };
    sizes.iter().enumerate().map(dim).collect()
}
