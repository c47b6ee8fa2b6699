//! Training: checkpoints and the managed loop.
use std::ffi::{c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;

use headrace_sys as sys;

use crate::error::caught;
use crate::graph::path_text;
use crate::limits::{made_within, within};
use crate::raw::{array, c_text, copied, optional_text, text_of, text_pointer, text_string, Texts};
use crate::{DataSet, Error, Group, Limits, Result, Session};

/// What is saved or restored with a session.
#[derive(Clone, Copy, Default, Debug)]
pub struct CheckpointOptions<'a> {
    /// How many of the newest checkpoints are kept; 0: 5; -1: all.
    pub keep: i32,
    /// Its position is saved or restored, too.
    pub dataset: Option<&'a DataSet>,
    /// For which this process writes; the directory then belongs to the group's epoch.
    pub group: Option<&'a Group>,
}

impl CheckpointOptions<'_> {
    fn raw(options: Option<&Self>) -> sys::hr_checkpoint_options {
        let options = options.copied().unwrap_or_default();
        sys::hr_checkpoint_options {
            keep: options.keep,
            dataset: options.dataset.map_or(ptr::null(), |data| data.raw()),
            group: options.group.map_or(ptr::null(), |group| group.raw()),
            ..Default::default()
        }
    }
}

/// Verifies a checkpoint, or all checkpoints of a directory, and describes them as JSON.
pub fn checkpoint_describe(path: impl AsRef<Path>) -> Result<String> {
    let path = path_text(path.as_ref())?;
    // SAFETY: the path lives during the call.
    text_of(|out| unsafe { sys::hr_checkpoint_describe(path.as_ptr(), out) })
}

/// What a training tells after a step, or an evaluation at its end.
#[derive(Clone, Copy, Default, Debug)]
pub struct TrainReport {
    /// The session's steps so far.
    pub step: i64,
    /// Complete epochs.
    pub epoch: i64,
    /// Of this step.
    pub loss: f64,
    /// The speed.
    pub examples_per_second: f64,
    /// Loss and accuracy of an evaluation at this step: means per example. The accuracy is NaN if
    /// the signature has no output "correct".
    pub evaluation: Option<(f64, f64)>,
    /// In this step's batch; 0 if there was no step left to do.
    pub examples: i64,
    /// The output "learning_rate" of the step; NaN if there is none.
    pub learning_rate: f64,
    /// The best metric at its best so far, and the step when that was. `None` if there is none yet.
    pub best: Option<(f64, i64)>,
    /// The patience was at its end.
    pub stopped_early: bool,
}

impl TrainReport {
    fn of(raw: &sys::hr_train_report) -> Self {
        Self {
            step: raw.step,
            epoch: raw.epoch,
            loss: raw.loss,
            examples_per_second: raw.examples_per_second,
            evaluation: (raw.evaluated != 0)
                .then_some((raw.evaluation_loss, raw.evaluation_accuracy)),
            examples: raw.examples,
            learning_rate: raw.learning_rate,
            best: (raw.best_step >= 0).then_some((raw.best, raw.best_step)),
            stopped_early: raw.stopped_early != 0,
        }
    }
}

type OnStep<'a> = Box<dyn FnMut(&TrainReport) -> Result<bool> + 'a>;
type OnEvaluate<'a> = Box<dyn FnMut(&TrainReport, &[(String, f64)]) -> Result<()> + 'a>;
type OnMessage<'a> = Box<dyn FnMut(&str) + 'a>;

/// What [`Session::train`] does.
pub struct TrainOptions<'a> {
    /// Must have an output "loss". None: "train".
    pub train_signature: Option<&'a str>,
    /// Must have an output "loss" and may have "correct", a count. None: "eval".
    pub eval_signature: Option<&'a str>,
    /// The training runs through its pass.
    pub train_data: &'a DataSet,
    /// The data of evaluations.
    pub eval_data: Option<&'a DataSet>,
    /// The session's total at which to stop; 0: the end of the data.
    pub max_steps: i64,
    /// The inputs that are bound once, such as the learning rate.
    pub scalars: Vec<(&'a str, f64)>,
    /// If it contains a checkpoint, the training continues from the newest.
    pub checkpoint_directory: Option<PathBuf>,
    /// The steps from one checkpoint to the next; 0: only at the end.
    pub checkpoint_steps: i64,
    /// How many of the newest are kept; 0: 5; -1: all.
    pub keep_checkpoints: i32,
    /// For TensorBoard.
    pub event_directory: Option<PathBuf>,
    /// The steps from one summary to the next; 0: 100.
    pub summary_steps: i64,
    /// The steps from one evaluation to the next; 0: only at the end.
    pub eval_steps: i64,
    /// Called after every step. If it returns false, the training stops and saves a checkpoint. A
    /// failure or a panic stops it, too, and comes back from [`Session::train`].
    pub on_step: Option<OnStep<'a>>,
    /// Gets sentences for people: what was restored, saved or skipped.
    pub on_message: Option<OnMessage<'a>>,
    /// For which this process writes checkpoints.
    pub group: Option<&'a Group>,
    /// A bound group ([`Session::bind_group`]) whose ranks all train together, with the same options
    /// and shards of the same data.
    pub bound_group: Option<&'a str>,
    /// The group that was bound: the training goes on when ranks of it die, and takes new ones in. It
    /// is the latest group from then on.
    pub elastic_group: Option<&'a Group>,
    /// With fewer ranks an elastic training waits for new ones; 0: 1.
    pub min_ranks: i32,
    /// Up to which an elastic training takes new ranks in; 0: as many as there are at first.
    pub max_ranks: i32,
    /// The metric of the evaluation that says which step is the best; its checkpoint is kept in the
    /// folder "best" of the directory.
    pub best_metric: Option<&'a str>,
    /// The smallest value is the best, as for a loss.
    pub best_is_smallest: bool,
    /// At the end the session gets the best checkpoint.
    pub restore_best: bool,
    /// Stop after so many evaluations that are no better than the best; 0: never.
    pub patience: i64,
    /// Called after each evaluation with its metrics. A failure or a panic stops the training.
    pub on_evaluate: Option<OnEvaluate<'a>>,
}

impl<'a> TrainOptions<'a> {
    /// Trains with these data, and with defaults for the rest.
    pub fn new(train_data: &'a DataSet) -> Self {
        Self {
            train_signature: None,
            eval_signature: None,
            train_data,
            eval_data: None,
            max_steps: 0,
            scalars: Vec::new(),
            checkpoint_directory: None,
            checkpoint_steps: 0,
            keep_checkpoints: 0,
            event_directory: None,
            summary_steps: 0,
            eval_steps: 0,
            on_step: None,
            on_message: None,
            group: None,
            bound_group: None,
            elastic_group: None,
            min_ranks: 0,
            max_ranks: 0,
            best_metric: None,
            best_is_smallest: false,
            restore_best: false,
            patience: 0,
            on_evaluate: None,
        }
    }
}

impl fmt::Debug for TrainOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainOptions")
            .field("train_data", &self.train_data)
            .field("max_steps", &self.max_steps)
            .finish_non_exhaustive()
    }
}

/// The functions of a training, and the failure that one of them has returned.
struct Watcher<'a> {
    on_step: Option<OnStep<'a>>,
    on_message: Option<OnMessage<'a>>,
    on_evaluate: Option<OnEvaluate<'a>>,
    failure: Option<Error>,
}

unsafe extern "C" fn on_step(
    context: *mut c_void,
    report: *const sys::hr_train_report,
    out_stop: *mut i32,
) -> *mut sys::hr_status {
    // SAFETY: the context is the watcher of `train`, on whose thread this is called.
    let (watcher, report) =
        unsafe { (&mut *context.cast::<Watcher<'_>>(), TrainReport::of(&*report)) };
    let Some(function) = &mut watcher.on_step else {
        return ptr::null_mut();
    };
    match caught("the function 'on_step'", || function(&report)).and_then(|result| result) {
        Ok(go_on) => {
            // SAFETY: the number may be written.
            unsafe { *out_stop = i32::from(!go_on) };
            ptr::null_mut()
        }
        Err(error) => {
            let status = error.to_status();
            watcher.failure = Some(error);
            status
        }
    }
}

unsafe extern "C" fn on_evaluate(
    context: *mut c_void,
    report: *const sys::hr_train_report,
    count: usize,
    names: *const *const c_char,
    values: *const f64,
) -> *mut sys::hr_status {
    // SAFETY: as in `on_step`; the arrays have that many entries.
    let (watcher, report, names, values) = unsafe {
        let report = TrainReport::of(&*report);
        let watcher = &mut *context.cast::<Watcher<'_>>();
        (watcher, report, array(names, count), array(values, count))
    };
    let Some(function) = &mut watcher.on_evaluate else {
        return ptr::null_mut();
    };
    // SAFETY: the names live during the call.
    let names = names.iter().map(|name| unsafe { copied(*name) });
    let metrics: Vec<_> = names.zip(values.iter().copied()).collect();
    let called = caught("the function 'on_evaluate'", || function(&report, &metrics));
    match called.and_then(|result| result) {
        Ok(()) => ptr::null_mut(),
        Err(error) => {
            let status = error.to_status();
            watcher.failure = Some(error);
            status
        }
    }
}

unsafe extern "C" fn on_message(context: *mut c_void, message: *const c_char) {
    // SAFETY: as in `on_step`; the message lives during the call.
    let (watcher, message) = unsafe { (&mut *context.cast::<Watcher<'_>>(), copied(message)) };
    let Some(function) = &mut watcher.on_message else { return };
    if let Err(error) = caught("the function 'on_message'", || function(&message)) {
        watcher.failure.get_or_insert(error);
    }
}

impl Session {
    /// Runs a training and returns its last report. Restores the newest checkpoint if there is one,
    /// trains, writes summaries, evaluates and saves. If the limits end it, it saves first.
    pub fn train(
        &self,
        options: TrainOptions<'_>,
        limits: Option<&Limits<'_>>,
    ) -> Result<TrainReport> {
        let signature = optional_text(options.train_signature)?;
        let eval_signature = optional_text(options.eval_signature)?;
        let names = Texts::new(options.scalars.iter().map(|(name, _)| *name))?;
        let scalars: Vec<f64> = options.scalars.iter().map(|(_, value)| *value).collect();
        let checkpoints = options.checkpoint_directory.as_deref().map(path_text).transpose()?;
        let events = options.event_directory.as_deref().map(path_text).transpose()?;
        let best_metric = optional_text(options.best_metric)?;
        let bound_group = optional_text(options.bound_group)?;
        let mut watcher = Watcher {
            on_step: options.on_step,
            on_message: options.on_message,
            on_evaluate: options.on_evaluate,
            failure: None,
        };
        let raw = sys::hr_train_options {
            train_signature: text_pointer(&signature),
            eval_signature: text_pointer(&eval_signature),
            train_data: options.train_data.raw(),
            eval_data: options.eval_data.map_or(ptr::null_mut(), DataSet::raw),
            max_steps: options.max_steps,
            scalar_count: names.len(),
            scalar_names: names.as_ptr(),
            scalars: scalars.as_ptr(),
            checkpoint_directory: text_pointer(&checkpoints),
            checkpoint_steps: options.checkpoint_steps,
            keep_checkpoints: options.keep_checkpoints,
            event_directory: text_pointer(&events),
            summary_steps: options.summary_steps,
            eval_steps: options.eval_steps,
            on_step: Some(on_step),
            on_message: Some(on_message),
            context: ptr::from_mut(&mut watcher).cast(),
            group: options.group.map_or(ptr::null(), |group| group.raw()),
            best_metric: text_pointer(&best_metric),
            best_is_smallest: options.best_is_smallest.into(),
            restore_best: options.restore_best.into(),
            patience: options.patience,
            on_evaluate: Some(on_evaluate),
            bound_group: text_pointer(&bound_group),
            elastic_group: options.elastic_group.map_or(ptr::null_mut(), |group| group.raw()),
            min_ranks: options.min_ranks,
            max_ranks: options.max_ranks,
            ..Default::default()
        };
        let mut report = sys::hr_train_report::default();
        let result = within(limits, |limits| {
            // SAFETY: all of them live during the call.
            unsafe { sys::hr_train(self.raw(), &raw, limits, &mut report) }
        });
        match (watcher.failure, result) {
            (Some(failure), _) => Err(failure),
            (None, result) => result.map(|()| TrainReport::of(&report)),
        }
    }

    /// Evaluates the rest of the data set's pass with a signature; None: "eval".
    pub fn evaluate(
        &self,
        signature: Option<&str>,
        data: &DataSet,
        limits: Option<&Limits<'_>>,
    ) -> Result<TrainReport> {
        let signature = optional_text(signature)?;
        let mut report = sys::hr_train_report::default();
        within(limits, |limits| {
            let (signature, data) = (text_pointer(&signature), data.raw());
            // SAFETY: all of them live during the call.
            unsafe { sys::hr_evaluate(self.raw(), signature, data, limits, &mut report) }
        })?;
        Ok(TrainReport::of(&report))
    }

    /// Evaluates as [`evaluate`](Self::evaluate) does, and gives the metrics as JSON.
    pub fn evaluate_metrics(
        &self,
        signature: Option<&str>,
        data: &DataSet,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let signature = optional_text(signature)?;
        // SAFETY: all of them live during the call.
        let text = made_within(limits, |limits, out| unsafe {
            let (signature, data) = (text_pointer(&signature), data.raw());
            sys::hr_evaluate_metrics(self.raw(), signature, data, limits, out)
        })?;
        Ok(text_string(&text))
    }

    /// Lets the nodes of the session's graphs that name the group communicate in a sub-group of it;
    /// `None` takes the group away. All ranks of the group call it.
    pub fn bind_group(
        &self,
        name: &str,
        group: Option<&Group>,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let name = c_text(name)?;
        let group = group.map_or(ptr::null_mut(), |group| group.raw());
        // SAFETY: the name and the group live during the call.
        within(limits, |limits| unsafe {
            sys::hr_session_bind_group(self.raw(), name.as_ptr(), group, limits)
        })
    }

    /// Gives all variables of the session, its step and its seed the values of the rank `root` of a
    /// bound group. All ranks call it.
    pub fn broadcast(&self, name: &str, root: i32, limits: Option<&Limits<'_>>) -> Result<()> {
        let name = c_text(name)?;
        // SAFETY: the name lives during the call.
        within(limits, |limits| unsafe {
            sys::hr_session_broadcast(self.raw(), name.as_ptr(), root, limits)
        })
    }

    /// Writes the low-rank adapters of the session, and nothing else.
    pub fn save_adapters(&self, path: impl AsRef<Path>, limits: Option<&Limits<'_>>) -> Result<()> {
        let path = path_text(path.as_ref())?;
        // SAFETY: the path lives during the call.
        within(limits, |limits| unsafe {
            sys::hr_session_save_adapters(self.raw(), path.as_ptr(), limits)
        })
    }

    /// Gives the adapters of the session the values of a file.
    pub fn load_adapters(&self, path: impl AsRef<Path>, limits: Option<&Limits<'_>>) -> Result<()> {
        let path = path_text(path.as_ref())?;
        // SAFETY: the path lives during the call.
        within(limits, |limits| unsafe {
            sys::hr_session_load_adapters(self.raw(), path.as_ptr(), limits)
        })
    }

    /// Writes the checkpoint DIRECTORY/step-N. Readers see the whole checkpoint or none.
    pub fn save(
        &self,
        directory: impl AsRef<Path>,
        options: Option<&CheckpointOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (directory, options) =
            (path_text(directory.as_ref())?, CheckpointOptions::raw(options));
        within(limits, |limits| {
            // SAFETY: all of them live during the call.
            unsafe { sys::hr_session_save(self.raw(), directory.as_ptr(), &options, limits) }
        })
    }

    /// Restores variables, step and seed from a checkpoint, or from the newest of a directory, and
    /// returns a report as JSON. Training then continues with bit-identical results.
    pub fn restore(
        &self,
        path: impl AsRef<Path>,
        options: Option<&CheckpointOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let (path, options) = (path_text(path.as_ref())?, CheckpointOptions::raw(options));
        // SAFETY: all of them live during the call.
        let report = made_within(limits, |limits, out| unsafe {
            sys::hr_session_restore(self.raw(), path.as_ptr(), &options, limits, out)
        })?;
        Ok(text_string(&report))
    }

    /// The number of steps done so far: runs that write variables or draw random numbers.
    pub fn step(&self) -> i64 {
        // SAFETY: the session lives.
        unsafe { sys::hr_session_step(self.raw()) }
    }
}
