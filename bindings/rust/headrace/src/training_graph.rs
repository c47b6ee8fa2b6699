//! Building graphs that train: learning rates, clipping, groups of variables, averages.
use std::path::Path;
use std::ptr;

use headrace_sys as sys;

use crate::graph::{path_text, raw_or_none, raw_values, value_or_none};
use crate::limits::made_within;
use crate::raw::{
    attribute_text, c_text, check, optional_text, text_pointer, text_string, written,
};
use crate::{DataSet, Graph, Limits, Result, Value};

/// Variables with an optimizer and a learning rate of their own.
#[derive(Clone, Copy, Debug)]
pub struct ParameterGroup<'a> {
    /// Of the names of trainable variables, as in [`Graph::set_trainable_matching`].
    pub patterns: &'a str,
    /// As in [`Graph::minimize`].
    pub optimizer: &'a str,
    /// A scalar of float32 or float64.
    pub learning_rate: Value,
}

impl Graph {
    /// Adds a learning rate that changes from step to step of a signature, a float64 scalar:
    /// `"cosine base=0.1 warmup=500 steps=10000"`.
    pub fn schedule(&mut self, signature: &str, description: &str) -> Result<Value> {
        let (signature, description) = (c_text(signature)?, c_text(description)?);
        // SAFETY: the texts live during the call.
        written(|out| unsafe {
            sys::hr_graph_schedule(self.raw(), signature.as_ptr(), description.as_ptr(), out)
        })
        .map(Value)
    }

    /// Clips gradients, of which it returns the clipped ones and the global norm before its bound
    /// applies. `bounds` has `"value=0.5"`, `"norm=1"` and `"global_norm=1"`.
    pub fn clip_gradients(
        &mut self,
        bounds: &str,
        gradients: &[Option<Value>],
    ) -> Result<(Vec<Option<Value>>, Option<Value>)> {
        let bounds = c_text(bounds)?;
        let mut raw: Vec<u32> = gradients.iter().copied().map(raw_or_none).collect();
        let mut norm = sys::HR_NONE;
        // SAFETY: the array has as many entries as the count says.
        check(unsafe {
            let (count, raw) = (raw.len(), raw.as_mut_ptr());
            sys::hr_graph_clip_gradients(self.raw(), bounds.as_ptr(), count, raw, &mut norm)
        })?;
        Ok((raw.into_iter().map(value_or_none).collect(), value_or_none(norm)))
    }

    /// Freezes the variables whose names fit, or makes them trainable, and returns their number.
    /// Commas separate patterns, in which * stands for any characters and ? for one.
    pub fn set_trainable_matching(&mut self, patterns: &str, trainable: bool) -> Result<usize> {
        let patterns = c_text(patterns)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe {
            let trainable = trainable.into();
            sys::hr_graph_set_trainable_matching(self.raw(), patterns.as_ptr(), trainable, out)
        })
    }

    /// Calls [`minimize`](Self::minimize) with each trainable variable in the first group that has
    /// a pattern for it.
    pub fn minimize_groups(
        &mut self,
        signature: &str,
        loss: Value,
        groups: &[ParameterGroup<'_>],
    ) -> Result<()> {
        let signature = c_text(signature)?;
        let texts = groups
            .iter()
            .map(|group| Ok((c_text(group.patterns)?, c_text(group.optimizer)?)))
            .collect::<Result<Vec<_>>>()?;
        let raw: Vec<_> = groups
            .iter()
            .zip(&texts)
            .map(|(group, (patterns, optimizer))| sys::hr_parameter_group {
                patterns: patterns.as_ptr(),
                optimizer: optimizer.as_ptr(),
                learning_rate: group.learning_rate.0,
                ..Default::default()
            })
            .collect();
        // SAFETY: the texts live during the call, and the array has that many entries.
        check(unsafe {
            let (count, groups) = (raw.len(), raw.as_ptr());
            sys::hr_graph_minimize_groups(self.raw(), signature.as_ptr(), loss.0, count, groups)
        })
    }

    /// Adds the signature `to`, which computes what `from` does, but of the averages of those
    /// variables that have one (the setting `average=DECAY` of an optimizer).
    pub fn average_signature(&mut self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (c_text(from)?, c_text(to)?);
        // SAFETY: the texts live during the call.
        check(unsafe { sys::hr_graph_average_signature(self.raw(), from.as_ptr(), to.as_ptr()) })
    }

    /// Adds a signature whose run swaps all variables that have an average with these.
    pub fn swap_averages(&mut self, signature: &str) -> Result<()> {
        let signature = c_text(signature)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_graph_swap_averages(self.raw(), signature.as_ptr()) })
    }

    /// Rewrites a signature that trains so that all ranks of a group train one model: their
    /// gradients are averaged while the backward pass goes on. `group` is the name that
    /// [`Session::bind_group`](crate::Session::bind_group) takes, and the strategy such as
    /// `"mirrored"` or `"mirrored bucket=4194304 bf16=1"`. Call it after
    /// [`minimize`](Self::minimize).
    pub fn distribute(&mut self, signature: &str, group: &str, strategy: &str) -> Result<()> {
        let (signature, group) = (c_text(signature)?, c_text(group)?);
        let strategy = c_text(strategy)?;
        // SAFETY: the texts live during the call.
        check(unsafe {
            let (signature, group) = (signature.as_ptr(), group.as_ptr());
            sys::hr_graph_distribute(self.raw(), signature, group, strategy.as_ptr())
        })
    }

    /// Adds the signature `to` with copies of the nodes that `from` needs.
    pub fn copy_signature(&mut self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (c_text(from)?, c_text(to)?);
        // SAFETY: the texts live during the call.
        check(unsafe { sys::hr_graph_copy_signature(self.raw(), from.as_ptr(), to.as_ptr()) })
    }

    /// Lets all that uses `from` use `to` instead: nodes, but for those that compute `to`, and
    /// outputs of signatures. An input of a signature that nothing uses any more is gone from it.
    pub fn replace(&mut self, from: Value, to: Value) -> Result<()> {
        // SAFETY: the graph lives.
        check(unsafe { sys::hr_graph_replace(self.raw(), from.0, to.0) })
    }

    /// Adds an output to a signature: a metric ("accuracy", "top_k k=5", "mean", "perplexity",
    /// "auc", "confusion") of all batches since the signature `"<signature>/reset"` was run last.
    pub fn metric(
        &mut self,
        signature: &str,
        name: &str,
        description: &str,
        inputs: &[Value],
    ) -> Result<()> {
        let (signature, name) = (c_text(signature)?, c_text(name)?);
        let (description, inputs) = (c_text(description)?, raw_values(inputs));
        // SAFETY: the texts live during the call, and the array has that many entries.
        check(unsafe {
            let (signature, name) = (signature.as_ptr(), name.as_ptr());
            let (count, inputs) = (inputs.len(), inputs.as_ptr());
            sys::hr_graph_metric(self.raw(), signature, name, description.as_ptr(), count, inputs)
        })
    }

    /// Adds low-rank adapters wherever the name of a node, or of its weight, fits the patterns, and
    /// freezes all other variables. Returns the number of nodes. `settings` is a text such as
    /// `"rank=8 alpha=16"`; dropout needs the signature that trains.
    pub fn add_lora(
        &mut self,
        patterns: &str,
        settings: &str,
        training: Option<&str>,
    ) -> Result<usize> {
        let (patterns, settings) = (c_text(patterns)?, attribute_text(settings)?);
        let training = optional_text(training)?;
        // SAFETY: the texts live during the call.
        written(|out| unsafe {
            let (settings, training) = (text_pointer(&settings), text_pointer(&training));
            sys::hr_graph_add_lora(self.raw(), patterns.as_ptr(), settings, training, out)
        })
    }

    /// Adds the adapters of a file, with their values, and freezes all other variables. Returns the
    /// number of nodes.
    pub fn load_adapters(&mut self, path: impl AsRef<Path>) -> Result<usize> {
        let path = path_text(path.as_ref())?;
        // SAFETY: the path lives during the call.
        written(|out| unsafe { sys::hr_graph_load_adapters(self.raw(), path.as_ptr(), out) })
    }

    /// Makes the numbers of one signature smaller: `"weights"`, `"dynamic"`, `"static"`,
    /// `"float16"` or `"bfloat16"`, with options behind. Only what the signature needs stays, so
    /// values have other numbers. The data, for static alone, is drawn from. Returns the report as
    /// JSON; `headrace/train.h` has all of it.
    pub fn quantize(
        &mut self,
        signature: &str,
        settings: &str,
        patterns: Option<&str>,
        data: Option<&DataSet>,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let (signature, settings) = (c_text(signature)?, c_text(settings)?);
        let patterns = optional_text(patterns)?;
        let data = data.map_or(ptr::null_mut(), |data| data.raw());
        // SAFETY: all of them live during the call.
        let text = made_within(limits, |limits, out| unsafe {
            let (signature, settings) = (signature.as_ptr(), settings.as_ptr());
            let patterns = text_pointer(&patterns);
            sys::hr_graph_quantize(self.raw(), signature, settings, patterns, data, limits, out)
        })?;
        Ok(text_string(&text))
    }
}
