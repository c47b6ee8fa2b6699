//! Progress on standard error.
use std::fmt;

use headrace_sys as sys;

use crate::raw::{c_text, made, optional_text, text_pointer, Owned};
use crate::Result;

/// Shows progress on standard error: as a bar if that is a terminal, otherwise as plain lines. The
/// line ends when it is dropped.
pub struct Progress(Owned<sys::hr_progress>);

impl Progress {
    /// Begins with `done` of `total` steps. `items` names what they handle; None: images.
    pub fn new(
        label: Option<&str>,
        items: Option<&str>,
        done: i64,
        total: Option<i64>,
    ) -> Result<Self> {
        let (label, items) = (optional_text(label)?, optional_text(items)?);
        let (label, items) = (text_pointer(&label), text_pointer(&items));
        // SAFETY: the texts live during the call, and `out` is written.
        made(|out| unsafe { sys::hr_progress_create(label, items, done, total.unwrap_or(-1), out) })
            .map(Self)
    }

    /// Shows that `done` steps are done, that the last of them handled `items` items, and perhaps a
    /// metric.
    pub fn update(&mut self, done: i64, items: i64, metric: Option<(&str, f64)>) -> Result<()> {
        let name = optional_text(metric.map(|(name, _)| name))?;
        let value = metric.map_or(0.0, |(_, value)| value);
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_progress_update(self.0.get(), done, items, text_pointer(&name), value) };
        Ok(())
    }

    /// Writes a line of its own above the bar.
    pub fn message(&mut self, text: &str) -> Result<()> {
        let text = c_text(text)?;
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_progress_message(self.0.get(), text.as_ptr()) };
        Ok(())
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
