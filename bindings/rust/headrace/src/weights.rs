//! Files of weights (safetensors) of other programs.
use std::path::Path;

use headrace_sys as sys;

use crate::graph::path_text;
use crate::limits::made_within;
use crate::raw::{optional_text, text_of, text_pointer, text_string};
use crate::{Limits, Result, Session};

/// Which weights are read or written.
#[derive(Clone, Copy, Default, Debug)]
pub struct WeightsOptions<'a> {
    /// Import: what only the file or only the model has is left alone.
    pub partial: bool,
    /// Export: only trainable variables.
    pub trainable: bool,
    /// A JSON object of names in the file and of variables, for those that differ; null leaves a
    /// tensor out.
    pub names: Option<&'a str>,
}

impl WeightsOptions<'_> {
    fn with_raw<R>(
        options: Option<&Self>,
        call: impl FnOnce(&sys::hr_weights_options) -> Result<R>,
    ) -> Result<R> {
        let options = options.copied().unwrap_or_default();
        let names = optional_text(options.names)?;
        call(&sys::hr_weights_options {
            partial: options.partial.into(),
            trainable: options.trainable.into(),
            names: text_pointer(&names),
            ..Default::default()
        })
    }
}

/// Lists what a file of weights has as JSON.
pub fn weights_describe(path: impl AsRef<Path>) -> Result<String> {
    let path = path_text(path.as_ref())?;
    // SAFETY: the path lives during the call.
    text_of(|out| unsafe { sys::hr_weights_describe(path.as_ptr(), out) })
}

impl Session {
    /// Writes the present values of the variables, and returns a report as JSON.
    pub fn export_weights(
        &self,
        path: impl AsRef<Path>,
        options: Option<&WeightsOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let path = path_text(path.as_ref())?;
        WeightsOptions::with_raw(options, |options| {
            // SAFETY: all of them live during the call.
            made_within(limits, |limits, out| unsafe {
                sys::hr_session_export_weights(self.raw(), path.as_ptr(), options, limits, out)
            })
            .map(|text| text_string(&text))
        })
    }

    /// Sets the variables to what the file has, and returns a report as JSON. A call that fails
    /// names all that does not fit, and changes nothing.
    pub fn import_weights(
        &self,
        path: impl AsRef<Path>,
        options: Option<&WeightsOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let path = path_text(path.as_ref())?;
        WeightsOptions::with_raw(options, |options| {
            // SAFETY: all of them live during the call.
            made_within(limits, |limits, out| unsafe {
                sys::hr_session_import_weights(self.raw(), path.as_ptr(), options, limits, out)
            })
            .map(|text| text_string(&text))
        })
    }
}
