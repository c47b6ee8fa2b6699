//! Queues of completions.
use std::fmt;

use headrace_sys as sys;

use crate::limits::within;
use crate::raw::{check, made, written, Owned};
use crate::{Env, Error, Limits, Result};

/// A queue through which a thread learns which runs and operations have ended, in that order. Any
/// number of threads may take from it.
pub struct Queue(Owned<sys::hr_queue>);

/// What has ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// The key that was given with the run or the operation.
    pub key: u64,
    /// Whether it has succeeded.
    pub result: Result<()>,
}

impl Queue {
    /// Makes an empty queue.
    pub fn new(env: &Env) -> Result<Self> {
        // SAFETY: the env lives, and `out` is written.
        made(|out| unsafe { sys::hr_queue_create(env.raw(), out) }).map(Self)
    }

    /// Takes the oldest completion, if there is one. Does not wait.
    pub fn poll(&self) -> Result<Option<Done>> {
        let (mut raw, mut found) = (sys::hr_completion::default(), 0);
        // SAFETY: the queue lives.
        check(unsafe { sys::hr_queue_poll(self.raw(), &mut raw, &mut found) })?;
        Ok((found != 0).then(|| done_of(&raw)))
    }

    /// Takes the oldest completion, and waits for one.
    pub fn wait(&self, limits: Option<&Limits<'_>>) -> Result<Done> {
        let mut raw = sys::hr_completion::default();
        // SAFETY: the queue lives.
        within(limits, |limits| unsafe { sys::hr_queue_wait(self.raw(), limits, &mut raw) })?;
        Ok(done_of(&raw))
    }

    /// A file descriptor for poll or epoll, which is readable while the queue has completions. It
    /// belongs to the queue: do not read or close it.
    pub fn descriptor(&self) -> Result<i32> {
        // SAFETY: the queue lives.
        written(|out| unsafe { sys::hr_queue_descriptor(self.raw(), out) })
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_queue {
        self.0.get()
    }
}

fn done_of(raw: &sys::hr_completion) -> Done {
    // SAFETY: the caller of the queue gets the failure.
    let failure = unsafe { Owned::from_raw(raw.failure) };
    let result = failure.map_or(Ok(()), |status| Err(Error::of_status(status.get())));
    Done { key: raw.key, result }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queue")
    }
}
