//! Sessions: the variables and compiled plans of a model.
use std::fmt;
use std::path::Path;
use std::ptr;

use headrace_sys as sys;

use crate::graph::{path_text, texts, SaveOptions};
use crate::limits::{made_within, within};
use crate::raw::{c_text, copied_or_none, optional_text, text_of, text_pointer, Owned, Texts};
use crate::{Limits, Model, Result, Tensor, TensorView};

/// How a session makes its plans.
#[derive(Clone, Default, Debug)]
pub struct SessionOptions {
    /// Of initial values and of random operators.
    pub seed: u64,
    /// The most compiled plans that are cached; 0: 64.
    pub max_plans: i32,
    /// Run every node by itself, for example to find a fault.
    pub disable_fusion: bool,
    /// The device ("TOY:0") of nodes that name none. None: the CPU.
    pub device: Option<String>,
    /// The most sizes of bounded dimensions that a plan keeps; 0: 64.
    pub max_sizes: i32,
    /// Verify each plan, and fill dead memory with a pattern. Runs take longer.
    pub check_memory: bool,
    /// Use no algorithm that trades accuracy for speed.
    pub exact_sums: bool,
    /// The most bytes of working memory that a plan may take; 0: no limit.
    pub memory_limit: u64,
    /// For developers of the library: layouts and kernels of convolutions.
    pub pin: Option<String>,
}

/// The variables and compiled plans of a model.
///
/// Any number of threads can use a session: runs that only read variables go in parallel, and a run
/// that writes variables excludes the others. A run that fails before its update phase has changed
/// no variable; one that fails later leaves the session tainted
/// ([`Code::TAINTED`](crate::Code::TAINTED)) until a checkpoint is restored.
///
/// ```
/// # use headrace::{DType, Env, Graph, Session, Tensor};
/// # let env = Env::new()?;
/// # let mut graph = Graph::new(&env)?;
/// # let x = graph.input("x", DType::FLOAT32, &[3.into()])?;
/// # let y = graph.op("Neg", "", &[x])?;
/// # graph.name_value(y, "y")?;
/// # let model = graph.to_model()?;
/// let session = Session::new(&model, None)?;
/// let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0], &[3])?;
/// let outputs = session.run(&[("x", &x)], &["y"], &[], None)?;
/// assert_eq!(outputs[0].as_slice::<f32>()?, [-1.0, -2.0, -3.0]);
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct Session(Owned<sys::hr_session>);

impl Session {
    /// Makes a session and computes the initial values of its variables.
    pub fn new(model: &Model, options: Option<&SessionOptions>) -> Result<Self> {
        Self::new_within(model, options, None)
    }

    /// Makes a session as [`new`](Self::new) does, within limits.
    pub fn new_within(
        model: &Model,
        options: Option<&SessionOptions>,
        limits: Option<&Limits<'_>>,
    ) -> Result<Self> {
        let options = options.cloned().unwrap_or_default();
        let device = optional_text(options.device.as_deref())?;
        let pin = optional_text(options.pin.as_deref())?;
        let raw = sys::hr_session_options {
            seed: options.seed,
            max_plans: options.max_plans,
            disable_fusion: options.disable_fusion.into(),
            device: text_pointer(&device),
            max_sizes: options.max_sizes,
            check_memory: options.check_memory.into(),
            exact_sums: options.exact_sums.into(),
            memory_limit: options.memory_limit,
            pin: text_pointer(&pin),
            ..Default::default()
        };
        // SAFETY: the options live during the call.
        made_within(limits, |limits, out| unsafe {
            sys::hr_session_create(model.raw(), &raw, limits, out)
        })
        .map(Self)
    }

    /// Closes the session: new runs fail, also those of its calls, and runs in flight finish.
    pub fn close(&self) {
        // SAFETY: the session lives.
        unsafe { sys::hr_session_close(self.raw()) }
    }

    /// Frees the memory that cached plans keep for their next runs.
    pub fn trim(&self) {
        // SAFETY: the session lives.
        unsafe { sys::hr_session_trim(self.raw()) }
    }

    /// Runs the graph once. Any values may be feeds and fetches, and any nodes targets; nodes that
    /// no fetch and no target needs do not run. Contiguous feeds are used in place.
    pub fn run(
        &self,
        feeds: &[(&str, &TensorView<'_>)],
        fetches: &[&str],
        targets: &[&str],
        limits: Option<&Limits<'_>>,
    ) -> Result<Vec<Tensor>> {
        let names = Texts::new(feeds.iter().map(|(name, _)| *name))?;
        let tensors: Vec<_> = feeds.iter().map(|(_, tensor)| tensor.raw().cast_const()).collect();
        let (fetches, targets) = (texts(fetches)?, texts(targets)?);
        let mut outputs = vec![ptr::null_mut(); fetches.len()];
        within(limits, |limits| {
            // SAFETY: the arrays have as many entries as their counts say.
            unsafe {
                sys::hr_session_run(
                    self.raw(),
                    names.len(),
                    names.as_ptr(),
                    tensors.as_ptr(),
                    fetches.len(),
                    fetches.as_ptr(),
                    targets.len(),
                    targets.as_ptr(),
                    limits,
                    outputs.as_mut_ptr(),
                )
            }
        })?;
        Ok(tensors_of(outputs, false))
    }

    // ---- Variables ----

    /// The names of all variables.
    pub fn variables(&self) -> Vec<String> {
        // SAFETY: the session lives, and so do its texts.
        unsafe {
            (0..sys::hr_session_variable_count(self.raw()))
                .filter_map(|i| copied_or_none(sys::hr_session_variable_name(self.raw(), i)))
                .collect()
        }
    }

    /// Copies the value of a variable. Waits for runs that are in the way.
    pub fn variable(&self, name: &str, limits: Option<&Limits<'_>>) -> Result<Tensor> {
        let name = c_text(name)?;
        // SAFETY: the name lives during the call.
        made_within(limits, |limits, out| unsafe {
            sys::hr_session_get_variable(self.raw(), name.as_ptr(), limits, out)
        })
        .map(|raw| TensorView::of(raw, false))
    }

    /// Sets the value of a variable, whose type and shape it must have.
    pub fn set_variable(
        &self,
        name: &str,
        value: &TensorView<'_>,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let name = c_text(name)?;
        // SAFETY: the name and the value live during the call, which copies them.
        within(limits, |limits| unsafe {
            sys::hr_session_set_variable(self.raw(), name.as_ptr(), value.raw(), limits)
        })
    }

    /// Describes variables, plans with their devices, steps and kernels, and memory as JSON.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: the session lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_session_describe(self.raw(), out) })
    }

    /// Writes a `.hrg` file for serving: the signatures and what they need, with the present values
    /// of the variables.
    pub fn export(
        &self,
        path: impl AsRef<Path>,
        signatures: &[&str],
        options: Option<&SaveOptions>,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (path, signatures) = (path_text(path.as_ref())?, texts(signatures)?);
        SaveOptions::with_raw(options, |options| {
            within(limits, |limits| {
                let (count, names) = (signatures.len(), signatures.as_ptr());
                // SAFETY: the texts and the options live during the call.
                unsafe {
                    sys::hr_session_export(self.raw(), path.as_ptr(), count, names, options, limits)
                }
            })
        })
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_session {
        self.0.get()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

/// Takes over tensors that a call has written.
pub(crate) fn tensors_of(raw: Vec<*mut sys::hr_tensor>, shared: bool) -> Vec<Tensor> {
    // SAFETY: a call that succeeds gives the tensors to its caller.
    let owned = raw.into_iter().filter_map(|raw| unsafe { Owned::from_raw(raw) });
    owned.map(|raw| TensorView::of(raw, shared)).collect()
}
