//! Building graphs. `graph_info` reads them.
use std::fmt;
use std::path::Path;
use std::ptr;

use headrace_sys as sys;

use crate::raw::{
    attribute_text, c_text, check, made, optional_text, text_of, text_pointer, written, Owned,
    Texts,
};
use crate::{Code, DType, Env, Error, Model, NodeSpec, Result, Tensor, TensorView};

/// A value of a graph: what a node, an input or a constant gives. It is a number that is valid in
/// its own graph until [`Graph::prune`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(pub(crate) u32);

/// A node of a graph; a number as [`Value`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node(pub(crate) u32);

/// A variable of a graph; a number as [`Value`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variable(pub(crate) u32);

pub(crate) fn value_or_none(value: u32) -> Option<Value> {
    (value != sys::HR_NONE).then_some(Value(value))
}

pub(crate) fn raw_or_none(value: Option<Value>) -> u32 {
    value.map_or(sys::HR_NONE, |value| value.0)
}

pub(crate) fn raw_values(values: &[Value]) -> Vec<u32> {
    values.iter().map(|value| value.0).collect()
}

/// A dimension of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dim {
    /// It has this size.
    Size(i64),
    /// It is unknown until a run. Unknown dimensions with equal names have equal sizes.
    Named(String),
    /// It is unknown until a run.
    Unknown,
}

impl From<i64> for Dim {
    fn from(size: i64) -> Self {
        Self::Size(size)
    }
}

impl From<&str> for Dim {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

/// How a graph or a session's weights are saved.
#[derive(Clone, Default, Debug)]
pub struct SaveOptions {
    /// Omit the names of nodes and values; messages then use numbers.
    pub strip_names: bool,
    /// The file for the tensors, relative to the graph's file. None: the same.
    pub side_file: Option<String>,
    /// Add low-rank adapters to their weights, and leave them out.
    pub merge_adapters: bool,
}

impl SaveOptions {
    pub(crate) fn with_raw<R>(
        options: Option<&Self>,
        call: impl FnOnce(*const sys::hr_save_options) -> Result<R>,
    ) -> Result<R> {
        let Some(options) = options else {
            return call(ptr::null());
        };
        let side_file = optional_text(options.side_file.as_deref())?;
        call(&sys::hr_save_options {
            strip_names: options.strip_names.into(),
            side_file: text_pointer(&side_file),
            merge_adapters: options.merge_adapters.into(),
            ..Default::default()
        })
    }
}

/// A path as C takes it.
pub(crate) fn path_text(path: &Path) -> Result<std::ffi::CString> {
    let text = path.to_str().ok_or_else(|| {
        let message = format!("expected a path that is UTF-8, got {}", path.display());
        Error::new(Code::INVALID_ARGUMENT, message)
    })?;
    c_text(text)
}

/// A graph under construction. The types of a node's outputs are inferred and checked when it is
/// added. A call that fails leaves the graph as it was.
///
/// Attributes are a text such as `"kernel_shape=5,5 strides=1,1"`; `""` means none. [`NodeSpec`]
/// expresses what a text cannot.
///
/// ```
/// # use headrace::{DType, Env, Graph, Session};
/// let env = Env::new()?;
/// let mut graph = Graph::new(&env)?;
/// let x = graph.input("x", DType::FLOAT32, &["batch".into(), 784.into()])?;
/// let y = graph.dense("fc", x, 10)?;
/// let p = graph.op("Softmax", "axis=1", &[y])?;
/// graph.signature_input("infer", "x", x)?;
/// graph.signature_output("infer", "p", p)?;
/// let session = Session::new(&graph.to_model()?, None)?;
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct Graph(Owned<sys::hr_graph>);

impl Graph {
    /// Makes an empty graph.
    pub fn new(env: &Env) -> Result<Self> {
        // SAFETY: the env lives, and `out` is written.
        made(|out| unsafe { sys::hr_graph_create(env.raw(), out) }).map(Self)
    }

    /// Makes a graph that goes on from the model, with all that the model has. Effects that are
    /// added come after those that exist; [`prune`](Self::prune) removes those that no signature
    /// needs. The model stays as it is.
    pub fn from_model(model: &Model) -> Result<Self> {
        // SAFETY: the model lives, and `out` is written.
        made(|out| unsafe { sys::hr_graph_from_model(model.raw(), out) }).map(Self)
    }

    /// Makes a model of the graph as it is now.
    pub fn to_model(&self) -> Result<Model> {
        // SAFETY: the graph lives, and `out` is written.
        made(|out| unsafe { sys::hr_model_from_graph(self.raw(), out) }).map(Model::of)
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_graph {
        self.0.get()
    }

    // ---- Inputs, constants, variables ----

    /// Adds an input. A scalar has no dimensions.
    pub fn input(&mut self, name: &str, dtype: DType, dims: &[Dim]) -> Result<Value> {
        let name = c_text(name)?;
        let sizes: Vec<i64> =
            dims.iter().map(|dim| if let Dim::Size(size) = dim { *size } else { -1 }).collect();
        let symbols =
            dims.iter()
                .map(|dim| {
                    if let Dim::Named(name) = dim {
                        Some(c_text(name)).transpose()
                    } else {
                        Ok(None)
                    }
                })
                .collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = symbols.iter().map(text_pointer).collect();
        // SAFETY: the arrays have as many entries as there are dimensions.
        self.value(|graph, out| unsafe {
            let (rank, sizes, pointers) = (sizes.len(), sizes.as_ptr(), pointers.as_ptr());
            sys::hr_graph_input(graph, name.as_ptr(), dtype.0, rank, sizes, pointers, out)
        })
    }

    /// Sets the bounds and buckets of a dimension that an input has named. Without a `max` there is
    /// no upper bound. Sizes that have the same smallest bucket share one plan; sizes beyond the
    /// last bucket share a plan for `max`. Nothing is padded.
    pub fn bound(
        &mut self,
        symbol: &str,
        min: i64,
        max: Option<i64>,
        buckets: &[i64],
    ) -> Result<()> {
        let symbol = c_text(symbol)?;
        // SAFETY: the buckets live during the call.
        check(unsafe {
            let (count, buckets) = (buckets.len(), buckets.as_ptr());
            sys::hr_graph_bound(self.raw(), symbol.as_ptr(), min, max.unwrap_or(-1), count, buckets)
        })
    }

    /// Adds a constant, which shares the tensor's memory. Without a name the graph makes one.
    pub fn constant(&mut self, name: Option<&str>, tensor: &Tensor) -> Result<Value> {
        tensor.share();
        let name = optional_text(name)?;
        // SAFETY: the name and the tensor live during the call.
        self.value(|graph, out| unsafe {
            sys::hr_graph_constant(graph, text_pointer(&name), tensor.raw(), out)
        })
    }

    /// Adds a variable, which shares the tensor's memory until it is written. Training updates it
    /// if it is trainable.
    pub fn variable(&mut self, name: &str, initial: &Tensor, trainable: bool) -> Result<Variable> {
        initial.share();
        let name = c_text(name)?;
        // SAFETY: the name and the tensor live during the call.
        written(|out| unsafe {
            sys::hr_graph_variable(self.raw(), name.as_ptr(), initial.raw(), trainable.into(), out)
        })
        .map(Variable)
    }

    /// Adds a variable whose initial value is the output of an operator, such as `"RandomUniform"`
    /// with the attributes `"low=-0.1 high=0.1"`. The seed of a session decides random values.
    pub fn variable_init(
        &mut self,
        name: &str,
        dtype: DType,
        shape: &[i64],
        trainable: bool,
        op: &str,
        attributes: &str,
    ) -> Result<Variable> {
        let (name, op, attributes) = (c_text(name)?, c_text(op)?, attribute_text(attributes)?);
        // SAFETY: all of them live during the call.
        written(|out| unsafe {
            sys::hr_graph_variable_init(
                self.raw(),
                name.as_ptr(),
                dtype.0,
                shape.len(),
                shape.as_ptr(),
                trainable.into(),
                op.as_ptr(),
                text_pointer(&attributes),
                out,
            )
        })
        .map(Variable)
    }

    /// Adds a read of the variable: its value after the last node added so far that writes it, or
    /// at the start of the step if there is none.
    pub fn read(&mut self, variable: Variable) -> Result<Value> {
        // SAFETY: `out` is written.
        self.value(|graph, out| unsafe { sys::hr_graph_read(graph, variable.0, out) })
    }

    /// Adds an assignment. It happens in runs that need its node: make that a target of a
    /// signature, or fetch a later read.
    pub fn assign(&mut self, variable: Variable, value: Value) -> Result<Node> {
        // SAFETY: `out` is written.
        written(|out| unsafe { sys::hr_graph_assign(self.raw(), variable.0, value.0, out) })
            .map(Node)
    }

    /// Adds an assignment as [`assign`](Self::assign) does, that adds the value to the variable.
    pub fn assign_add(&mut self, variable: Variable, value: Value) -> Result<Node> {
        // SAFETY: `out` is written.
        written(|out| unsafe { sys::hr_graph_assign_add(self.raw(), variable.0, value.0, out) })
            .map(Node)
    }

    /// Freezes a variable or makes it trainable, for the calls that follow.
    pub fn set_trainable(&mut self, variable: Variable, trainable: bool) -> Result<()> {
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_set_trainable(self.raw(), variable.0, trainable.into()) })
    }

    // ---- Nodes ----

    /// Adds a node with one output and returns that. `op` is an ONNX operator (`"Conv"`), or an
    /// operator after its domain and a dot, and may end in a version (`"Softmax@13"`).
    pub fn op(&mut self, op: &str, attributes: &str, inputs: &[Value]) -> Result<Value> {
        self.op_many(op, attributes, inputs, 1).map(|outputs| outputs[0])
    }

    /// Adds a node with several outputs. Optional outputs beyond these are not computed.
    pub fn op_many(
        &mut self,
        op: &str,
        attributes: &str,
        inputs: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>> {
        let (op, attributes) = (c_text(op)?, attribute_text(attributes)?);
        let (inputs, mut out) = (raw_values(inputs), vec![0; outputs]);
        // SAFETY: the arrays have as many entries as their counts say.
        check(unsafe {
            sys::hr_graph_op(
                self.raw(),
                op.as_ptr(),
                text_pointer(&attributes),
                inputs.len(),
                inputs.as_ptr(),
                outputs,
                out.as_mut_ptr(),
            )
        })?;
        Ok(out.into_iter().map(Value).collect())
    }

    /// Adds the node that `spec` describes, with so many outputs.
    pub fn add(&mut self, spec: &NodeSpec, outputs: usize) -> Result<(Vec<Value>, Node)> {
        let (mut out, mut node) = (vec![0; outputs], 0);
        // SAFETY: the array has as many entries as the count says.
        check(unsafe {
            let (graph, spec) = (self.raw(), spec.raw());
            sys::hr_graph_add(graph, spec, outputs, out.as_mut_ptr(), &mut node)
        })?;
        Ok((out.into_iter().map(Value).collect(), Node(node)))
    }

    /// Sets the device (`"TOY:0"`) of nodes that are added from now on. None: the session chooses.
    pub fn device(&mut self, device: Option<&str>) -> Result<()> {
        let device = optional_text(device)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_graph_device(self.raw(), text_pointer(&device)) })
    }

    /// Names a value.
    pub fn name_value(&mut self, value: Value, name: &str) -> Result<()> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_graph_name_value(self.raw(), value.0, name.as_ptr()) })
    }

    // ---- Layers: they add variables named "<name>/...", or use those that exist. ----

    /// Adds a fully connected layer with the variables "weight" and "bias". `x` is flattened to
    /// [N, features].
    pub fn dense(&mut self, name: &str, x: Value, units: i64) -> Result<Value> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        self.value(|graph, out| unsafe {
            sys::hr_graph_dense(graph, name.as_ptr(), x.0, units, out)
        })
    }

    /// Adds a layer of two-dimensional convolution with "weight" and "bias". x: [N, C, H, W].
    pub fn conv2d(
        &mut self,
        name: &str,
        x: Value,
        channels: i64,
        kernel: i64,
        attributes: &str,
    ) -> Result<Value> {
        let (name, attributes) = (c_text(name)?, attribute_text(attributes)?);
        // SAFETY: the texts live during the call.
        self.value(|graph, out| unsafe {
            let attributes = text_pointer(&attributes);
            sys::hr_graph_conv2d(graph, name.as_ptr(), x.0, channels, kernel, attributes, out)
        })
    }

    /// Adds a layer that normalizes x: [N, C, ...] over all dimensions but the second. If it
    /// trains, it also gives the node that updates the running statistics: make that a target of
    /// the training signature.
    pub fn batch_norm(
        &mut self,
        name: &str,
        x: Value,
        training: bool,
        attributes: &str,
    ) -> Result<(Value, Option<Node>)> {
        let (name, attributes) = (c_text(name)?, attribute_text(attributes)?);
        let mut update = sys::HR_NONE;
        // SAFETY: the texts live during the call.
        let y = self.value(|graph, out| unsafe {
            let (name, attributes) = (name.as_ptr(), text_pointer(&attributes));
            sys::hr_graph_batch_norm(
                graph,
                name,
                x.0,
                training.into(),
                attributes,
                out,
                &mut update,
            )
        })?;
        Ok((y, (update != sys::HR_NONE).then_some(Node(update))))
    }

    // ---- Training ----

    /// Adds nodes that compute the gradient of the sum of `y` with respect to each of `xs`; none if
    /// `y` does not depend on it.
    pub fn gradients(&mut self, y: Value, xs: &[Value]) -> Result<Vec<Option<Value>>> {
        let (xs, mut out) = (raw_values(xs), vec![0; xs.len()]);
        // SAFETY: the arrays have as many entries as the count says.
        check(unsafe {
            sys::hr_graph_add_gradients(self.raw(), y.0, xs.len(), xs.as_ptr(), out.as_mut_ptr())
        })?;
        Ok(out.into_iter().map(value_or_none).collect())
    }

    /// Adds nodes that compute the gradient of the scalar `loss` with respect to each of
    /// `variables`; none if the loss does not depend on it.
    pub fn variable_gradients(
        &mut self,
        loss: Value,
        variables: &[Variable],
    ) -> Result<Vec<Option<Value>>> {
        let raw: Vec<u32> = variables.iter().map(|variable| variable.0).collect();
        let mut out = vec![0; raw.len()];
        // SAFETY: the arrays have as many entries as the count says.
        check(unsafe {
            let (count, raw, out) = (raw.len(), raw.as_ptr(), out.as_mut_ptr());
            sys::hr_graph_variable_gradients(self.raw(), loss.0, count, raw, out)
        })?;
        Ok(out.into_iter().map(value_or_none).collect())
    }

    /// Adds an update of each variable by its gradient, which becomes a target of the signature.
    /// `optimizer` is a name with settings, such as `"sgd momentum=0.9"`; the learning rate is a
    /// scalar of float32 or float64.
    pub fn apply_gradients(
        &mut self,
        signature: &str,
        optimizer: &str,
        learning_rate: Value,
        updates: &[(Variable, Option<Value>)],
    ) -> Result<()> {
        let (signature, optimizer) = (c_text(signature)?, c_text(optimizer)?);
        let variables: Vec<u32> = updates.iter().map(|(variable, _)| variable.0).collect();
        let gradients: Vec<u32> = updates.iter().map(|(_, value)| raw_or_none(*value)).collect();
        // SAFETY: the arrays have as many entries as the count says.
        check(unsafe {
            sys::hr_graph_apply_gradients(
                self.raw(),
                signature.as_ptr(),
                optimizer.as_ptr(),
                learning_rate.0,
                variables.len(),
                variables.as_ptr(),
                gradients.as_ptr(),
            )
        })
    }

    /// Adds gradients and updates of all trainable variables to a signature.
    pub fn minimize(
        &mut self,
        signature: &str,
        loss: Value,
        optimizer: &str,
        learning_rate: Value,
    ) -> Result<()> {
        let (signature, optimizer) = (c_text(signature)?, c_text(optimizer)?);
        // SAFETY: the texts live during the call.
        check(unsafe {
            let (signature, optimizer) = (signature.as_ptr(), optimizer.as_ptr());
            sys::hr_graph_minimize(self.raw(), signature, loss.0, optimizer, learning_rate.0)
        })
    }

    // ---- Signatures ----

    /// Adds an input to a signature. The first entry makes the signature.
    pub fn signature_input(&mut self, signature: &str, name: &str, value: Value) -> Result<()> {
        let (signature, name) = (c_text(signature)?, c_text(name)?);
        // SAFETY: the texts live during the call.
        check(unsafe {
            let (signature, name) = (signature.as_ptr(), name.as_ptr());
            sys::hr_graph_signature_input(self.raw(), signature, name, value.0)
        })
    }

    /// Adds an output to a signature.
    pub fn signature_output(&mut self, signature: &str, name: &str, value: Value) -> Result<()> {
        let (signature, name) = (c_text(signature)?, c_text(name)?);
        // SAFETY: the texts live during the call.
        check(unsafe {
            let (signature, name) = (signature.as_ptr(), name.as_ptr());
            sys::hr_graph_signature_output(self.raw(), signature, name, value.0)
        })
    }

    /// Adds a node that runs with a signature.
    pub fn signature_target(&mut self, signature: &str, node: Node) -> Result<()> {
        let signature = c_text(signature)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_graph_signature_target(self.raw(), signature.as_ptr(), node.0) })
    }

    /// Removes a signature. What only it needed stays until [`prune`](Self::prune).
    pub fn remove_signature(&mut self, signature: &str) -> Result<()> {
        let signature = c_text(signature)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_graph_remove_signature(self.raw(), signature.as_ptr()) })
    }

    /// Removes all that no signature needs. Values, nodes and variables get new numbers, so look
    /// for them by name afterwards.
    pub fn prune(&mut self) -> Result<()> {
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_prune(self.raw()) })
    }

    /// Sets an entry of the model's metadata.
    pub fn set_metadata(&mut self, key: &str, value: &str) -> Result<()> {
        let (key, value) = (c_text(key)?, c_text(value)?);
        // SAFETY: the texts live during the call.
        check(unsafe { sys::hr_graph_set_metadata(self.raw(), key.as_ptr(), value.as_ptr()) })
    }

    /// Writes the graph as it is now to a `.hrg` file. If the call fails, the file is as it was.
    pub fn save(&self, path: impl AsRef<Path>, options: Option<&SaveOptions>) -> Result<()> {
        let path = path_text(path.as_ref())?;
        SaveOptions::with_raw(options, |options| {
            // SAFETY: the path and the options live during the call.
            check(unsafe { sys::hr_graph_save(self.raw(), path.as_ptr(), options) })
        })
    }

    /// The type of a value as text, such as `"float32[batch, 10]"`.
    pub fn type_of(&self, value: Value) -> Result<String> {
        // SAFETY: the graph lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_graph_type_of(self.raw(), value.0, out) })
    }

    fn value(
        &mut self,
        call: impl FnOnce(*mut sys::hr_graph, *mut u32) -> *mut sys::hr_status,
    ) -> Result<Value> {
        written(|out| call(self.raw(), out)).map(Value)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info() {
            Ok(info) => write!(f, "Graph({} nodes)", info.nodes),
            Err(error) => write!(f, "Graph({error})"),
        }
    }
}

/// A tensor of a graph or of its file, which must not be written.
pub(crate) fn shared_tensor(raw: Option<Owned<sys::hr_tensor>>) -> Option<Tensor> {
    raw.map(|raw| TensorView::of(raw, true))
}

/// The texts of a signature's entries and so on.
pub(crate) fn texts(names: &[impl AsRef<str>]) -> Result<Texts> {
    Texts::new(names.iter().map(AsRef::as_ref))
}
