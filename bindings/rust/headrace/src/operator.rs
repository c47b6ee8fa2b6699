//! Operators of the host.
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Mutex;

use headrace_sys as sys;

use crate::error::{caught, caught_status};
use crate::graph::value_or_none;
use crate::host::{object, release, Given};
use crate::raw::{
    array, attribute_text, c_text, check, copied_or_none, optional_text, text_pointer, written,
};
use crate::{AttributeKind, Code, DType, Element, Env, Error, Result, Value};

/// How an operator of yours is used.
#[derive(Clone, Debug)]
pub struct OperatorDef {
    /// Domain, dot and operator: "com.example.Swish".
    pub name: String,
    /// Of this definition; several may be added.
    pub version: i32,
    /// The least and the most inputs; most -1: any number.
    pub inputs: (i32, i32),
    /// The least and the most outputs; most -1: any number.
    pub outputs: (i32, i32),
    /// The attributes that a node may have.
    pub attributes: Vec<OperatorAttribute>,
    /// Whether [`Operator::gradient`] gives gradients. Otherwise they stop at a node.
    pub differentiable: bool,
}

impl OperatorDef {
    /// An operator with so many inputs and outputs, without attributes and gradients.
    pub fn new(name: &str, inputs: i32, outputs: i32) -> Self {
        Self {
            name: name.to_owned(),
            version: 1,
            inputs: (inputs, inputs),
            outputs: (outputs, outputs),
            attributes: Vec::new(),
            differentiable: false,
        }
    }
}

/// An attribute of an operator of yours: a number, a string or a list.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct OperatorAttribute {
    pub name: String,
    pub kind: AttributeKind,
    /// Every node must have it.
    pub required: bool,
}

/// An operator of yours, which graphs, gradients, files and plans treat like a built-in one. Any
/// thread may call the functions, several at a time. A failure or a panic comes back from the call
/// that needed the function, with the name of the node.
///
/// ```
/// # use headrace::{Compute, Env, Error, Infer, Operator, OperatorDef};
/// struct Double;
///
/// impl Operator for Double {
///     fn infer(&self, node: &mut Infer<'_>) -> Result<(), Error> {
///         node.set_output_like(0, 0)
///     }
///
///     fn compute(&self, node: &mut Compute<'_>) -> Result<(), Error> {
///         let (x, y) = (node.input::<f32>(0)?, node.output::<f32>(0)?);
///         for (y, x) in y.iter_mut().zip(x) {
///             *y = 2.0 * x;
///         }
///         Ok(())
///     }
/// }
///
/// let env = Env::new()?;
/// env.add_operator(&OperatorDef::new("com.example.Double", 1, 1), Double)?;
/// # Ok::<(), Error>(())
/// ```
pub trait Operator: Send + Sync + 'static {
    /// Checks the types of the inputs and sets the types of all outputs. Called while a graph is
    /// built, when dimensions may be unknown, and for each plan, when all are known.
    fn infer(&self, node: &mut Infer<'_>) -> Result<()>;

    /// Computes the outputs, of the inputs and attributes only.
    fn compute(&self, node: &mut Compute<'_>) -> Result<()>;

    /// Adds the nodes that compute the gradients of the inputs, if the operator is differentiable.
    fn gradient(&self, _node: &mut Gradient<'_>) -> Result<()> {
        Err(Error::new(Code::UNIMPLEMENTED, "the operator has no gradient"))
    }
}

pub(crate) fn add(env: &Env, def: &OperatorDef, operator: impl Operator) -> Result<()> {
    let given = Given::new(Box::new(operator) as Box<dyn Operator>);
    let name = c_text(&def.name)?;
    let names = def.attributes.iter().map(|one| c_text(&one.name)).collect::<Result<Vec<_>>>()?;
    let attributes: Vec<_> = def
        .attributes
        .iter()
        .zip(&names)
        .map(|(one, name)| sys::hr_operator_attribute {
            name: name.as_ptr(),
            kind: one.kind.0,
            required: one.required.into(),
            ..Default::default()
        })
        .collect();
    let raw = sys::hr_operator {
        name: name.as_ptr(),
        version: def.version,
        min_inputs: def.inputs.0,
        max_inputs: def.inputs.1,
        min_outputs: def.outputs.0,
        max_outputs: def.outputs.1,
        attribute_count: attributes.len(),
        attributes: attributes.as_ptr(),
        context: given.context(),
        release: Some(release::<Box<dyn Operator>>),
        infer: Some(infer),
        compute: Some(compute),
        gradient: if def.differentiable { Some(gradient) } else { None },
        ..Default::default()
    };
    // SAFETY: all of them live during the call, which copies them.
    check(unsafe { sys::hr_env_add_operator(env.raw(), &raw) })?;
    given.taken();
    Ok(())
}

unsafe extern "C" fn infer(context: *mut c_void, op: *mut sys::hr_op) -> *mut sys::hr_status {
    caught_status("'infer' of the operator", || {
        // SAFETY: the context is the `Given` of `add`.
        let operator = unsafe { object::<Box<dyn Operator>>(context) };
        operator.infer(&mut Infer(Op::new(op)))
    })
}

unsafe extern "C" fn compute(context: *mut c_void, op: *mut sys::hr_op) -> *mut sys::hr_status {
    caught_status("'compute' of the operator", || {
        // SAFETY: the context is the `Given` of `add`.
        let operator = unsafe { object::<Box<dyn Operator>>(context) };
        operator.compute(&mut Compute { op: Op::new(op), taken: RefCell::default() })
    })
}

unsafe extern "C" fn gradient(context: *mut c_void, op: *mut sys::hr_op) -> *mut sys::hr_status {
    caught_status("'gradient' of the operator", || {
        // SAFETY: the context is the `Given` of `add`.
        let operator = unsafe { object::<Box<dyn Operator>>(context) };
        operator.gradient(&mut Gradient(Op::new(op)))
    })
}

/// A node of an operator of yours: what all functions see. It is for the calling thread only.
struct Op<'a>(*mut sys::hr_op, PhantomData<&'a mut sys::hr_op>);

impl Op<'_> {
    fn new(raw: *mut sys::hr_op) -> Self {
        Self(raw, PhantomData)
    }

    fn inputs(&self) -> usize {
        // SAFETY: the node lives.
        unsafe { sys::hr_op_input_count(self.0) }
    }

    fn outputs(&self) -> usize {
        // SAFETY: the node lives.
        unsafe { sys::hr_op_output_count(self.0) }
    }

    fn int(&self, name: &str, fallback: i64) -> Result<i64> {
        let name = c_text(name)?;
        // SAFETY: the node lives, and the text during the call.
        Ok(unsafe { sys::hr_op_int(self.0, name.as_ptr(), fallback) })
    }

    fn float(&self, name: &str, fallback: f64) -> Result<f64> {
        let name = c_text(name)?;
        // SAFETY: the node lives, and the text during the call.
        Ok(unsafe { sys::hr_op_float(self.0, name.as_ptr(), fallback) })
    }

    fn string(&self, name: &str, fallback: Option<&str>) -> Result<Option<String>> {
        let (name, fallback) = (c_text(name)?, optional_text(fallback)?);
        // SAFETY: the node lives, and so does the text.
        Ok(unsafe {
            copied_or_none(sys::hr_op_string(self.0, name.as_ptr(), text_pointer(&fallback)))
        })
    }

    fn ints(&self, name: &str) -> Result<Vec<i64>> {
        let (name, mut out) = (c_text(name)?, ptr::null());
        // SAFETY: the list has as many entries as the result says and lives as long as the node.
        Ok(unsafe {
            let count = sys::hr_op_ints(self.0, name.as_ptr(), &mut out);
            array(out, count).to_vec()
        })
    }

    fn floats(&self, name: &str) -> Result<Vec<f64>> {
        let (name, mut out) = (c_text(name)?, ptr::null());
        // SAFETY: as for `ints`.
        Ok(unsafe {
            let count = sys::hr_op_floats(self.0, name.as_ptr(), &mut out);
            array(out, count).to_vec()
        })
    }
}

macro_rules! common {
    ($type:ident, $op:tt) => {
        /// What all functions of an operator can ask.
        impl $type<'_> {
            /// The number of inputs.
            pub fn input_count(&self) -> usize {
                self.$op.inputs()
            }

            /// The number of outputs.
            pub fn output_count(&self) -> usize {
                self.$op.outputs()
            }

            /// An attribute of the node, or `fallback`.
            pub fn int(&self, name: &str, fallback: i64) -> Result<i64> {
                self.$op.int(name, fallback)
            }

            /// An attribute of the node, or `fallback`.
            pub fn float(&self, name: &str, fallback: f64) -> Result<f64> {
                self.$op.float(name, fallback)
            }

            /// An attribute of the node, or `fallback`.
            pub fn string(&self, name: &str, fallback: Option<&str>) -> Result<Option<String>> {
                self.$op.string(name, fallback)
            }

            /// An attribute of the node; empty if it does not have it.
            pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
                self.$op.ints(name)
            }

            /// An attribute of the node; empty if it does not have it.
            pub fn floats(&self, name: &str) -> Result<Vec<f64>> {
                self.$op.floats(name)
            }
        }

        impl fmt::Debug for $type<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({} inputs)"), self.input_count())
            }
        }
    };
}

/// A node whose types are inferred.
pub struct Infer<'a>(Op<'a>);
common!(Infer, 0);

impl Infer<'_> {
    /// The type of an input, [`DType::UNDEFINED`] if it is omitted, and its dimensions: None if the
    /// rank is unknown, -1 for an unknown dimension.
    pub fn input(&mut self, input: usize) -> (DType, Option<Vec<i64>>) {
        let (mut rank, mut dims) = (-1, ptr::null());
        // SAFETY: the node lives; the dimensions are as many as the rank.
        unsafe {
            let dtype = sys::hr_op_input_type(self.0 .0, input, &mut rank, &mut dims);
            let known = usize::try_from(rank).ok().map(|rank| array(dims, rank).to_vec());
            (DType(dtype), known)
        }
    }

    /// Sets the type of an output; None: the rank is unknown.
    pub fn set_output(&mut self, output: usize, dtype: DType, dims: Option<&[i64]>) -> Result<()> {
        let rank = dims.map_or(-1, |dims| dims.len() as i32);
        let dims = dims.map_or(ptr::null(), <[i64]>::as_ptr);
        // SAFETY: there are as many dimensions as the rank says.
        check(unsafe { sys::hr_op_set_output(self.0 .0, output, dtype.0, rank, dims) })
    }

    /// Sets the type of an output to that of an input, including the names of its dimensions.
    pub fn set_output_like(&mut self, output: usize, input: usize) -> Result<()> {
        // SAFETY: the node lives.
        check(unsafe { sys::hr_op_set_output_like(self.0 .0, output, input) })
    }
}

/// A node that is computed. Slices live as long as the call of [`Operator::compute`].
pub struct Compute<'a> {
    op: Op<'a>,
    // The outputs whose memory was given away.
    taken: RefCell<Vec<usize>>,
}
common!(Compute, op);

impl<'a> Compute<'a> {
    /// The elements of an input. An optional input that is omitted has none, of any type.
    pub fn input<T: Element>(&self, input: usize) -> Result<&'a [T]> {
        let tensor = self.input_tensor(input)?;
        let Some((data, count)) = typed::<T>(tensor, "input", input)? else { return Ok(&[]) };
        // SAFETY: the tensor has the elements, and nobody writes them during the call.
        let bytes = unsafe { array(data.cast::<u8>(), count * size_of::<T>()) };
        if !T::valid(bytes) {
            let message = format!("a byte of input {input} is no value of {}", T::DTYPE);
            return Err(Error::new(Code::DATA_LOSS, message));
        }
        // SAFETY: as above.
        Ok(unsafe { array(data, count) })
    }

    /// The type and shape of an input; [`DType::UNDEFINED`] if it is omitted.
    pub fn input_type(&self, input: usize) -> Result<(DType, &'a [i64])> {
        let tensor = self.input_tensor(input)?;
        // SAFETY: the dimensions are as many as the rank, and live as long as the node.
        Ok((DType(tensor.dtype), unsafe { array(tensor.dims, tensor.rank) }))
    }

    /// The type and shape of an output; [`DType::UNDEFINED`] if it is not computed.
    pub fn output_type(&self, output: usize) -> Result<(DType, &'a [i64])> {
        let tensor = self.output_tensor(output)?;
        // SAFETY: as for `input_type`.
        Ok((DType(tensor.dtype), unsafe { array(tensor.dims, tensor.rank) }))
    }

    /// The memory of an output, which is zero at first. It is given once.
    pub fn output<T: Element>(&self, output: usize) -> Result<&'a mut [T]> {
        let tensor = self.output_tensor(output)?;
        let memory = typed::<T>(tensor, "output", output)?;
        let mut taken = self.taken.borrow_mut();
        if taken.contains(&output) {
            let message = format!("the memory of output {output} has been given before");
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        taken.push(output);
        let Some((data, count)) = memory else { return Ok(&mut []) };
        // SAFETY: the tensor has the elements, and nobody else has a reference to them. Rust reads
        // no memory that nobody has written.
        unsafe {
            data.write_bytes(0, count);
            Ok(std::slice::from_raw_parts_mut(data, count))
        }
    }

    /// Calls `task(i)` for each i in [0, tasks) on the threads of the run, and returns when all
    /// calls have returned. A panic of one becomes an error.
    pub fn parallel_for(&self, tasks: i32, task: impl Fn(i32) + Sync) -> Result<()> {
        let all = Tasks { task: &task, panic: Mutex::new(None) };
        // SAFETY: the function is called during this call only, with this context.
        unsafe {
            let context = ptr::from_ref(&all).cast_mut().cast();
            sys::hr_op_parallel_for(self.op.0, tasks, Some(run_task), context);
        }
        let panic = all.panic.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        panic.map_or(Ok(()), Err)
    }

    fn input_tensor(&self, input: usize) -> Result<&'a sys::hr_op_tensor> {
        // SAFETY: the node lives, and so does its tensor.
        unsafe { sys::hr_op_input_tensor(self.op.0, input).as_ref() }
            .ok_or_else(|| missing("input", input))
    }

    fn output_tensor(&self, output: usize) -> Result<&'a sys::hr_op_tensor> {
        // SAFETY: the node lives, and so does its tensor.
        unsafe { sys::hr_op_output_tensor(self.op.0, output).as_ref() }
            .ok_or_else(|| missing("output", output))
    }
}

fn missing(kind: &str, index: usize) -> Error {
    Error::new(Code::OUT_OF_RANGE, format!("the node has no {kind} {index}"))
}

/// The memory of a tensor of this type; none if it is omitted or has no elements.
fn typed<T: Element>(
    tensor: &sys::hr_op_tensor,
    kind: &str,
    index: usize,
) -> Result<Option<(*mut T, usize)>> {
    let dtype = DType(tensor.dtype);
    if dtype == DType::UNDEFINED {
        return Ok(None);
    }
    if dtype != T::DTYPE {
        let message = format!("{kind} {index} is of {dtype}, not {}", T::DTYPE);
        return Err(Error::new(Code::INVALID_ARGUMENT, message));
    }
    // SAFETY: there are as many dimensions as the rank says.
    let dims = unsafe { array(tensor.dims, tensor.rank) };
    let count = dims.iter().product::<i64>() as usize;
    Ok((count > 0).then(|| (tensor.data.cast(), count)))
}

/// The tasks of a `parallel_for`, and the first panic.
struct Tasks<'a> {
    task: &'a (dyn Fn(i32) + Sync),
    panic: Mutex<Option<Error>>,
}

unsafe extern "C" fn run_task(context: *mut c_void, task: c_int) {
    // SAFETY: the context is the `Tasks` of `parallel_for`, which waits for the end.
    let all = unsafe { &*context.cast::<Tasks<'_>>() };
    if let Err(error) = caught("a task of the operator", || (all.task)(task)) {
        let mut panic = all.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        panic.get_or_insert(error);
    }
}

/// A node whose gradients are built.
pub struct Gradient<'a>(Op<'a>);
common!(Gradient, 0);

impl Gradient<'_> {
    /// An input, if the node has it.
    pub fn input(&self, input: usize) -> Option<Value> {
        // SAFETY: the node lives.
        value_or_none(unsafe { sys::hr_op_input(self.0 .0, input) })
    }

    /// An output, if the node has it.
    pub fn output(&self, output: usize) -> Option<Value> {
        // SAFETY: the node lives.
        value_or_none(unsafe { sys::hr_op_output(self.0 .0, output) })
    }

    /// The gradient of an output, if something depends on it.
    pub fn output_gradient(&self, output: usize) -> Option<Value> {
        // SAFETY: the node lives.
        value_or_none(unsafe { sys::hr_op_output_gradient(self.0 .0, output) })
    }

    /// Whether the gradient of this input is needed.
    pub fn wants(&self, input: usize) -> bool {
        // SAFETY: the node lives.
        unsafe { sys::hr_op_wants_gradient(self.0 .0, input) != 0 }
    }

    /// Adds a node with one output, as [`Graph::op`](crate::Graph::op) does.
    pub fn op(&mut self, op: &str, attributes: &str, inputs: &[Value]) -> Result<Value> {
        self.op_many(op, attributes, inputs, 1).map(|outputs| outputs[0])
    }

    /// Adds a node with several outputs.
    pub fn op_many(
        &mut self,
        op: &str,
        attributes: &str,
        inputs: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>> {
        let (op, attributes) = (c_text(op)?, attribute_text(attributes)?);
        let inputs: Vec<u32> = inputs.iter().map(|value| value.0).collect();
        let mut out = vec![0; outputs];
        // SAFETY: the arrays have as many entries as their counts say.
        check(unsafe {
            sys::hr_op_add(
                self.0 .0,
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

    /// Adds a constant scalar of the floating-point type of `like`.
    pub fn scalar(&mut self, value: f64, like: Value) -> Result<Value> {
        // SAFETY: the node lives, and `out` is written.
        written(|out| unsafe { sys::hr_op_scalar(self.0 .0, value, like.0, out) }).map(Value)
    }

    /// Sets the gradient of an input, which must have the input's shape.
    pub fn set(&mut self, input: usize, gradient: Value) -> Result<()> {
        // SAFETY: the node lives.
        check(unsafe { sys::hr_op_set_gradient(self.0 .0, input, gradient.0) })
    }
}
