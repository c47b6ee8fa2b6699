//! Runs in the background.
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use headrace_sys as sys;

use crate::completion::Completion;
use crate::limits::{made_within, within};
use crate::raw::{check, Owned};
use crate::{Call, Limits, Queue, Result};

/// A run in the background, which has its call until it ends. It is a future that any executor can
/// poll. Dropping it cancels the run, unless it is
/// [detached](Self::detach).
pub struct Run<'c> {
    raw: Arc<Owned<sys::hr_run>>,
    // From the first poll on.
    completion: Option<Arc<Completion<()>>>,
    detached: bool,
    _call: PhantomData<&'c mut Call<'static>>,
}

impl Run<'_> {
    pub(crate) fn start(call: *mut sys::hr_call, limits: Option<&Limits<'_>>) -> Result<Self> {
        // SAFETY: the call lives; what is bound to it belongs to it.
        let raw =
            made_within(limits, |limits, out| unsafe { sys::hr_call_start(call, limits, out) })?;
        Ok(Self { raw: Arc::new(raw), completion: None, detached: false, _call: PhantomData })
    }

    pub(crate) fn handle(&self) -> Arc<Owned<sys::hr_run>> {
        Arc::clone(&self.raw)
    }

    /// Whether the run has ended. Does not wait.
    pub fn is_done(&self) -> bool {
        has_ended(&self.raw)
    }

    /// Waits for the end of the run and returns its result. The limits end the waiting, not the
    /// run.
    pub fn wait(&self, limits: Option<&Limits<'_>>) -> Result<()> {
        // SAFETY: the run lives.
        within(limits, |limits| unsafe { sys::hr_run_wait(self.raw.get(), limits) })
    }

    /// Puts the run into a queue when it has ended.
    pub fn enqueue(&self, queue: &Queue, key: u64) -> Result<()> {
        // SAFETY: the run and the queue live.
        check(unsafe { sys::hr_run_enqueue(self.raw.get(), queue.raw(), key) })
    }

    /// Lets the run go on when nobody waits for it.
    pub fn detach(mut self) {
        self.detached = true;
    }

    /// Cancels the run: it ends with [`Code::CANCELLED`](crate::Code::CANCELLED), unless its
    /// updates have begun.
    pub fn cancel(&self) {
        // SAFETY: the run lives.
        unsafe { sys::hr_run_cancel(self.raw.get()) }
    }
}

pub(crate) fn has_ended(run: &Owned<sys::hr_run>) -> bool {
    // SAFETY: the run lives.
    unsafe { sys::hr_run_test(run.get()) != 0 }
}

impl Future for Run<'_> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.completion.is_none() {
            let completion = Completion::new(());
            // SAFETY: the context lives until the callback.
            completion.register(|callback, context| unsafe {
                sys::hr_run_on_done(self.raw.get(), callback, context)
            })?;
            self.completion = Some(completion);
        }
        let completion = self.completion.as_ref().expect("it was set above");
        completion.poll(context.waker())
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if !self.detached && !self.is_done() {
            self.cancel();
        }
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("is_done", &self.is_done()).finish()
    }
}
