//! Control flow: branches, loops and calls in a graph, and their bodies.
use headrace_sys as sys;

use crate::graph::{raw_or_none, raw_values};
use crate::raw::{attribute_text, c_text, check, text_pointer, written};
use crate::{DType, Graph, NodeSpec, Result, Value};

/// A graph within a graph: what a branch, an iteration or a call computes. It is a number as
/// [`Value`], and may be used any number of times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Body(u32);

/// Bodies see nothing but their inputs: values of the graph around them are captured one by one.
impl Graph {
    /// Adds a copy of what a signature of another graph computes as a body. Its inputs and outputs
    /// are those of the signature, in their order.
    pub fn body(&mut self, body: &Graph, signature: &str) -> Result<Body> {
        let signature = c_text(signature)?;
        // SAFETY: both graphs live, and the text during the call.
        written(|out| unsafe {
            sys::hr_graph_body(self.raw(), body.raw(), signature.as_ptr(), out)
        })
        .map(Body)
    }

    /// Adds an input that is a sequence of tensors, for bodies whose states are sequences. A run
    /// cannot be fed one.
    pub fn input_sequence(&mut self, name: &str, dtype: DType) -> Result<Value> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        written(|out| unsafe {
            sys::hr_graph_input_sequence(self.raw(), name.as_ptr(), dtype.0, out)
        })
        .map(Value)
    }

    /// Adds a branch: the outputs are those of `then_body` if the condition, one bool, is true, and
    /// of `else_body` otherwise. Both take all the captured values.
    pub fn branch(
        &mut self,
        condition: Value,
        then_body: Body,
        else_body: Body,
        captured: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>> {
        let captured = raw_values(captured);
        // SAFETY: the arrays have as many entries as their counts say.
        self.values(outputs, |graph, out| unsafe {
            let (count, captured) = (captured.len(), captured.as_ptr());
            let (yes, no) = (then_body.0, else_body.0);
            sys::hr_graph_if(graph, condition.0, yes, no, count, captured, outputs, out)
        })
    }

    /// Adds a loop. The body is (iteration, condition, states..., captured...) -> (condition,
    /// states..., scans...). It runs as long as fewer than `trip_count` (None: no limit) iterations
    /// are done and the condition (None: true at first) is true. The outputs are the states after
    /// the last iteration, and then the scans.
    pub fn while_loop(
        &mut self,
        (trip_count, condition): (Option<Value>, Option<Value>),
        body: Body,
        states: &[Value],
        captured: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>> {
        let (states, captured) = (raw_values(states), raw_values(captured));
        // SAFETY: the arrays have as many entries as their counts say.
        self.values(outputs, |graph, out| unsafe {
            sys::hr_graph_loop(
                graph,
                raw_or_none(trip_count),
                raw_or_none(condition),
                body.0,
                states.len(),
                states.as_ptr(),
                captured.len(),
                captured.as_ptr(),
                outputs,
                out,
            )
        })
    }

    /// Adds a loop over slices. The body is (states..., slices..., captured...) -> (states...,
    /// scans...), and runs once for each position along the scanned values' axes.
    pub fn scan(
        &mut self,
        body: Body,
        attributes: &str,
        states: &[Value],
        scanned: &[Value],
        captured: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>> {
        let attributes = attribute_text(attributes)?;
        let [states, scanned, captured] = [states, scanned, captured].map(raw_values);
        // SAFETY: the arrays have as many entries as their counts say.
        self.values(outputs, |graph, out| unsafe {
            sys::hr_graph_scan(
                graph,
                body.0,
                text_pointer(&attributes),
                states.len(),
                states.as_ptr(),
                scanned.len(),
                scanned.as_ptr(),
                captured.len(),
                captured.as_ptr(),
                outputs,
                out,
            )
        })
    }

    /// Adds what the body computes of the inputs.
    pub fn call(&mut self, body: Body, inputs: &[Value], outputs: usize) -> Result<Vec<Value>> {
        let inputs = raw_values(inputs);
        // SAFETY: the arrays have as many entries as their counts say.
        self.values(outputs, |graph, out| unsafe {
            sys::hr_graph_call(graph, body.0, inputs.len(), inputs.as_ptr(), outputs, out)
        })
    }

    /// Calls a function that writes so many values.
    fn values(
        &mut self,
        count: usize,
        call: impl FnOnce(*mut sys::hr_graph, *mut u32) -> *mut sys::hr_status,
    ) -> Result<Vec<Value>> {
        let mut out = vec![0; count];
        check(call(self.raw(), out.as_mut_ptr()))?;
        Ok(out.into_iter().map(Value).collect())
    }
}

impl NodeSpec {
    /// Sets an attribute that is a body, as `SequenceMap` has.
    pub fn body(self, name: &str, body: Body) -> Result<Self> {
        let name = c_text(name)?;
        // SAFETY: the text lives during the call.
        unsafe { sys::hr_node_spec_body(self.raw(), name.as_ptr(), body.0) };
        Ok(self)
    }
}
