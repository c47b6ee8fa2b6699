//! Descriptions of nodes.
use std::fmt;

use headrace_sys as sys;

use crate::graph::raw_or_none;
use crate::raw::{c_text, made, Owned, Texts};
use crate::{Node, Result, Tensor, Value};

/// The description of a node, for what a text of attributes cannot express: names, devices,
/// optional inputs, control inputs, tensors. [`Graph::add`](crate::Graph::add) adds the node.
///
/// ```
/// # use headrace::{DType, Env, Graph, NodeSpec};
/// # let env = Env::new()?;
/// # let mut graph = Graph::new(&env)?;
/// # let x = graph.input("x", DType::FLOAT32, &[4.into()])?;
/// let spec = NodeSpec::new("LeakyRelu")?.name("leak")?.input(x).float("alpha", 0.2)?;
/// let (outputs, node) = graph.add(&spec, 1)?;
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct NodeSpec(Owned<sys::hr_node_spec>);

impl NodeSpec {
    /// Describes a node of an operator.
    pub fn new(op: &str) -> Result<Self> {
        let op = c_text(op)?;
        // SAFETY: the text lives during the call, and `out` is written.
        made(|out| unsafe { sys::hr_node_spec_create(op.as_ptr(), out) }).map(Self)
    }

    /// Names the node.
    pub fn name(self, name: &str) -> Result<Self> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_node_spec_name(self.raw(), name.as_ptr()) };
        Ok(self)
    }

    /// Sets the device of the node.
    pub fn device(self, device: &str) -> Result<Self> {
        let device = c_text(device)?;
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_node_spec_device(self.raw(), device.as_ptr()) };
        Ok(self)
    }

    /// Adds the next input; None for an optional input that is omitted.
    #[must_use]
    pub fn input(self, value: impl Into<Option<Value>>) -> Self {
        // SAFETY: the spec lives.
        unsafe { sys::hr_node_spec_input(self.raw(), raw_or_none(value.into())) };
        self
    }

    /// Makes the node run after another.
    #[must_use]
    pub fn after(self, node: Node) -> Self {
        // SAFETY: the spec lives.
        unsafe { sys::hr_node_spec_control(self.raw(), node.0) };
        self
    }

    /// Sets an attribute.
    pub fn int(self, name: &str, value: i64) -> Result<Self> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_node_spec_int(self.raw(), name.as_ptr(), value) };
        Ok(self)
    }

    /// Sets an attribute.
    pub fn float(self, name: &str, value: f64) -> Result<Self> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_node_spec_float(self.raw(), name.as_ptr(), value) };
        Ok(self)
    }

    /// Sets an attribute.
    pub fn string(self, name: &str, value: &str) -> Result<Self> {
        let (name, value) = (c_text(name)?, c_text(value)?);
        // SAFETY: the texts live during the call.
        unsafe { sys::hr_node_spec_string(self.raw(), name.as_ptr(), value.as_ptr()) };
        Ok(self)
    }

    /// Sets an attribute.
    pub fn ints(self, name: &str, values: &[i64]) -> Result<Self> {
        let name = c_text(name)?;
        // SAFETY: the text and the values live during the call.
        unsafe {
            let (count, values) = (values.len(), values.as_ptr());
            sys::hr_node_spec_ints(self.raw(), name.as_ptr(), count, values);
        }
        Ok(self)
    }

    /// Sets an attribute.
    pub fn floats(self, name: &str, values: &[f64]) -> Result<Self> {
        let name = c_text(name)?;
        // SAFETY: the text and the values live during the call.
        unsafe {
            let (count, values) = (values.len(), values.as_ptr());
            sys::hr_node_spec_floats(self.raw(), name.as_ptr(), count, values);
        }
        Ok(self)
    }

    /// Sets an attribute.
    pub fn strings(self, name: &str, values: &[&str]) -> Result<Self> {
        let (name, values) = (c_text(name)?, Texts::new(values.iter().copied())?);
        // SAFETY: the texts live during the call.
        unsafe {
            let (count, values) = (values.len(), values.as_ptr());
            sys::hr_node_spec_strings(self.raw(), name.as_ptr(), count, values);
        }
        Ok(self)
    }

    /// Sets an attribute, which shares the tensor's memory.
    pub fn tensor(self, name: &str, value: &Tensor) -> Result<Self> {
        value.share();
        let name = c_text(name)?;
        // SAFETY: the text and the tensor live during the call.
        unsafe { sys::hr_node_spec_tensor(self.raw(), name.as_ptr(), value.raw()) };
        Ok(self)
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_node_spec {
        self.0.get()
    }
}

impl fmt::Debug for NodeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeSpec")
    }
}
