//! Event files for TensorBoard.
use std::fmt;
use std::path::Path;

use headrace_sys as sys;

use crate::graph::path_text;
use crate::raw::{c_text, check, made, Owned};
use crate::{Model, Result, TensorView};

/// An event file that `tensorboard --logdir DIRECTORY` shows. It is flushed and closed when it is
/// dropped.
pub struct Summary(Owned<sys::hr_summary>);

impl Summary {
    /// Makes a new event file in the directory, which is made if it is missing.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        let directory = path_text(directory.as_ref())?;
        // SAFETY: the path lives during the call, and `out` is written.
        made(|out| unsafe { sys::hr_summary_open(directory.as_ptr(), out) }).map(Self)
    }

    /// Adds a number.
    pub fn scalar(&self, tag: &str, step: i64, value: f64) -> Result<()> {
        let tag = c_text(tag)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_summary_scalar(self.raw(), tag.as_ptr(), step, value) })
    }

    /// Adds a histogram of the elements.
    pub fn histogram(&self, tag: &str, step: i64, values: &TensorView<'_>) -> Result<()> {
        let tag = c_text(tag)?;
        // SAFETY: the text and the tensor live during the call.
        check(unsafe { sys::hr_summary_histogram(self.raw(), tag.as_ptr(), step, values.raw()) })
    }

    /// Adds the first `most` of the images [N, C, H, W] or [C, H, W].
    pub fn images(&self, tag: &str, step: i64, images: &TensorView<'_>, most: i64) -> Result<()> {
        let tag = c_text(tag)?;
        // SAFETY: the text and the tensor live during the call.
        check(unsafe { sys::hr_summary_images(self.raw(), tag.as_ptr(), step, images.raw(), most) })
    }

    /// Adds a text in Markdown.
    pub fn text(&self, tag: &str, step: i64, text: &str) -> Result<()> {
        let (tag, text) = (c_text(tag)?, c_text(text)?);
        // SAFETY: the texts live during the call.
        check(unsafe { sys::hr_summary_text(self.raw(), tag.as_ptr(), step, text.as_ptr()) })
    }

    /// Adds the main graph of a model.
    pub fn graph(&self, model: &Model) -> Result<()> {
        // SAFETY: the model lives.
        check(unsafe { sys::hr_summary_graph(self.raw(), model.raw()) })
    }

    /// Writes what was added to the file.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the file lives.
        check(unsafe { sys::hr_summary_flush(self.raw()) })
    }

    fn raw(&self) -> *mut sys::hr_summary {
        self.0.get()
    }
}

impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Summary")
    }
}
