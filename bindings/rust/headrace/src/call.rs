//! Calls: prepared runs.
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use headrace_sys as sys;

use crate::graph::texts;
use crate::limits::{made_within, within};
use crate::raw::{array, c_text, check, made, text_of, text_string, Owned};
use crate::run::has_ended;
use crate::{Code, DType, DataSet, Element, Error, Limits, Result, Run, Session, TensorView};

/// A prepared run, the fast path: names are resolved and memory is bound once, and a run with the
/// shapes of the run before allocates nothing. Several calls of one session may run at the same
/// time. A call keeps its session alive; `'a` is how long the memory lives that is bound to it.
///
/// ```
/// # use headrace::{Call, DType, Env, Graph, Session, Tensor};
/// # let env = Env::new()?;
/// # let mut graph = Graph::new(&env)?;
/// # let x = graph.input("x", DType::FLOAT32, &["n".into()])?;
/// # let y = graph.op("Neg", "", &[x])?;
/// # graph.signature_input("infer", "x", x)?;
/// # graph.signature_output("infer", "y", y)?;
/// # let session = Session::new(&graph.to_model()?, None)?;
/// let mut call = Call::new(&session, "infer")?;
/// call.bind("x", Tensor::from_vec(vec![1.0f32, 2.0], &[2])?)?;
/// for round in 0..3 {
///     call.input_mut::<f32>("x")?[0] = round as f32;
///     call.run(None)?;
///     assert_eq!(call.result("y")?.as_slice::<f32>()?, [-(round as f32), -2.0]);
/// }
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct Call<'a> {
    raw: Owned<sys::hr_call>,
    inputs: HashMap<String, TensorView<'a>>,
    outputs: HashMap<String, TensorView<'a>>,
    // The last run in the background.
    run: Option<Arc<Owned<sys::hr_run>>>,
}

impl<'a> Call<'a> {
    /// Makes a call of a signature.
    pub fn new(session: &Session, signature: &str) -> Result<Self> {
        let signature = c_text(signature)?;
        // SAFETY: the text lives during the call, and `out` is written.
        made(|out| unsafe { sys::hr_call_create(session.raw(), signature.as_ptr(), out) })
            .map(Self::of)
    }

    /// Makes a call with any values as inputs and outputs and any nodes as targets.
    pub fn custom(
        session: &Session,
        feeds: &[&str],
        fetches: &[&str],
        targets: &[&str],
    ) -> Result<Self> {
        let (feeds, fetches, targets) = (texts(feeds)?, texts(fetches)?, texts(targets)?);
        // SAFETY: the arrays have as many entries as their counts say.
        made(|out| unsafe {
            sys::hr_call_create_custom(
                session.raw(),
                feeds.len(),
                feeds.as_ptr(),
                fetches.len(),
                fetches.as_ptr(),
                targets.len(),
                targets.as_ptr(),
                out,
            )
        })
        .map(Self::of)
    }

    fn of(raw: Owned<sys::hr_call>) -> Self {
        Self { raw, inputs: HashMap::new(), outputs: HashMap::new(), run: None }
    }

    // ---- Inputs ----

    /// Binds a tensor to an input for all runs from now on. Contiguous memory is used in place, so
    /// a run sees what it contains at that time ([`input_mut`](Self::input_mut)).
    pub fn bind(&mut self, input: &str, tensor: TensorView<'a>) -> Result<()> {
        let name = c_text(input)?;
        // SAFETY: the call takes its own reference of the tensor.
        check(unsafe { sys::hr_call_bind(self.raw(), name.as_ptr(), tensor.raw()) })?;
        self.inputs.insert(input.to_owned(), tensor);
        Ok(())
    }

    /// Binds a number, such as a learning rate, which is converted to the input's type.
    pub fn bind_scalar(&mut self, input: &str, value: f64) -> Result<()> {
        let name = c_text(input)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_call_bind_scalar(self.raw(), name.as_ptr(), value) })?;
        self.inputs.remove(input);
        Ok(())
    }

    /// Binds a data set: before each run, the call takes the next batch and feeds every field to
    /// the input of the same name. A run fails with [`Code::OUT_OF_RANGE`] if the data is over.
    /// None: the call takes no batches any more.
    pub fn bind_dataset(&mut self, dataset: Option<&DataSet>) -> Result<()> {
        let dataset = dataset.map_or(std::ptr::null_mut(), DataSet::raw);
        // SAFETY: the call takes its own reference of the data set.
        check(unsafe { sys::hr_call_bind_dataset(self.raw(), dataset) })
    }

    /// Takes back what was bound to an input.
    pub fn unbind(&mut self, input: &str) -> Result<Option<TensorView<'a>>> {
        let name = c_text(input)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_call_bind(self.raw(), name.as_ptr(), std::ptr::null()) })?;
        Ok(self.inputs.remove(input))
    }

    /// The elements of the tensor that is bound to an input, to be written before the next run.
    pub fn input_mut<T: Element>(&mut self, input: &str) -> Result<&mut [T]> {
        self.require_idle()?;
        self.inputs.get_mut(input).ok_or_else(|| not_bound("input", input))?.as_mut_slice()
    }

    // ---- Outputs ----

    /// Makes all runs from now on write an output to the memory of a tensor of its type and shape,
    /// which must be contiguous and used by nobody else. [`output`](Self::output) reads it.
    pub fn bind_output(&mut self, output: &str, tensor: TensorView<'a>) -> Result<()> {
        tensor.require_writable()?;
        let name = c_text(output)?;
        // SAFETY: the call takes its own reference of the tensor.
        check(unsafe { sys::hr_call_bind_output(self.raw(), name.as_ptr(), tensor.raw()) })?;
        self.outputs.insert(output.to_owned(), tensor);
        Ok(())
    }

    /// Takes back the tensor that was bound to an output; runs write to memory of the call again.
    pub fn unbind_output(&mut self, output: &str) -> Result<Option<TensorView<'a>>> {
        let name = c_text(output)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_call_bind_output(self.raw(), name.as_ptr(), std::ptr::null()) })?;
        Ok(self.outputs.remove(output))
    }

    /// Makes all runs from now on write an output to these bytes, which must be exactly as many as
    /// it needs; the next run checks this.
    pub fn output_bytes(&mut self, output: &str, data: &'a mut [u8]) -> Result<()> {
        let name = c_text(output)?;
        let (start, bytes) = (data.as_mut_ptr().cast(), data.len());
        // SAFETY: the memory is borrowed for as long as the call, and its runs, live.
        check(unsafe { sys::hr_call_output(self.raw(), name.as_ptr(), start, bytes) })?;
        self.outputs.remove(output);
        Ok(())
    }

    /// The elements of the tensor that is bound to an output, as the last run has written them.
    pub fn output<T: Element>(&self, output: &str) -> Result<&[T]> {
        self.require_idle()?;
        self.outputs.get(output).ok_or_else(|| not_bound("output", output))?.as_slice()
    }

    /// The type and shape of an output for the inputs that are bound now.
    pub fn output_type(&mut self, output: &str) -> Result<(DType, Vec<i64>)> {
        let name = c_text(output)?;
        let (mut dtype, mut rank, mut dims) = (0, 0, std::ptr::null());
        // SAFETY: the dimensions live until the call is used again.
        unsafe {
            let (raw, name) = (self.raw(), name.as_ptr());
            check(sys::hr_call_output_type(raw, name, &mut dtype, &mut rank, &mut dims))?;
            Ok((DType(dtype), array(dims, rank).to_vec()))
        }
    }

    // ---- Runs ----

    /// Runs the call and waits for the end.
    #[inline]
    pub fn run(&mut self, limits: Option<&Limits<'_>>) -> Result<()> {
        // SAFETY: the call lives, and so does what is bound to it.
        within(limits, |limits| unsafe { sys::hr_call_run(self.raw(), limits) })
    }

    /// An output of the last run. The next run overwrites its memory.
    pub fn result(&self, output: &str) -> Result<TensorView<'_>> {
        let name = c_text(output)?;
        // SAFETY: the text lives during the call, and `out` is written.
        made(|out| unsafe { sys::hr_call_result(self.raw(), name.as_ptr(), out) })
            .map(|raw| TensorView::of(raw, true))
    }

    /// An output of the last run, with its memory: the next run writes to other memory.
    pub fn take_result(&mut self, output: &str) -> Result<TensorView<'a>> {
        let name = c_text(output)?;
        // SAFETY: the text lives during the call, and `out` is written.
        let raw = made(|out| unsafe { sys::hr_call_take_result(self.raw(), name.as_ptr(), out) })?;
        self.outputs.remove(output);
        Ok(TensorView::of(raw, false))
    }

    /// Describes the plan for the shapes that are bound now as JSON.
    pub fn describe(&mut self) -> Result<String> {
        // SAFETY: the call lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_call_describe(self.raw(), out) })
    }

    /// Runs the call as [`Call::run`] does, and describes what the run did, step by step, as JSON.
    pub fn profile(&mut self, limits: Option<&Limits<'_>>) -> Result<String> {
        // SAFETY: the call lives, and so does what is bound to it; `out` is written.
        made_within(limits, |limits, out| unsafe { sys::hr_call_profile(self.raw(), limits, out) })
            .map(|text| text_string(&text))
    }

    /// Fails while a run in the background uses what is bound.
    fn require_idle(&self) -> Result<()> {
        if self.run.as_ref().is_none_or(|run| has_ended(run)) {
            return Ok(());
        }
        let message = "a run of the call is in flight; wait for it first";
        Err(Error::new(Code::FAILED_PRECONDITION, message))
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_call {
        self.raw.get()
    }
}

/// Runs in the background, which may go on after the borrow of a call has ended: so they are for
/// calls whose memory is their own.
impl Call<'static> {
    /// Starts a run on a thread of the env and returns at once; the limits count from now. The
    /// result is a future, and can be waited for.
    ///
    /// ```
    /// # use headrace::{Call, DType, Env, Graph, Session, Tensor};
    /// # let env = Env::new()?;
    /// # let mut graph = Graph::new(&env)?;
    /// # let x = graph.input("x", DType::FLOAT32, &[1.into()])?;
    /// # let y = graph.op("Neg", "", &[x])?;
    /// # graph.signature_input("infer", "x", x)?;
    /// # graph.signature_output("infer", "y", y)?;
    /// # let session = Session::new(&graph.to_model()?, None)?;
    /// # let mut call = Call::new(&session, "infer")?;
    /// # call.bind("x", Tensor::from_vec(vec![1.0f32], &[1])?)?;
    /// call.start(None)?.wait(None)?;       // or call.start(None)?.await?
    /// assert_eq!(call.result("y")?.as_slice::<f32>()?, [-1.0]);
    /// # Ok::<(), headrace::Error>(())
    /// ```
    pub fn start(&mut self, limits: Option<&Limits<'_>>) -> Result<Run<'_>> {
        let run = Run::start(self.raw(), limits)?;
        self.run = Some(run.handle());
        Ok(run)
    }
}

fn not_bound(kind: &str, name: &str) -> Error {
    Error::new(Code::NOT_FOUND, format!("no tensor is bound to the {kind} '{name}'"))
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
