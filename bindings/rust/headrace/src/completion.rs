//! What a run or an operation in flight tells when it ends, and futures over it.
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use headrace_sys as sys;

use crate::error::caught;
use crate::{Error, Result};

/// The result of something in flight, which its callback writes; and what must live until then,
/// whatever becomes of the one who waits.
pub(crate) struct Completion<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    result: Option<Result<()>>,
    waker: Option<Waker>,
    kept: Option<T>,
}

impl<T: Send> Completion<T> {
    pub(crate) fn new(kept: T) -> Arc<Self> {
        let state = State { result: None, waker: None, kept: Some(kept) };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Registers for the end by a function of C, which calls back once if it succeeds.
    pub(crate) fn register(
        self: &Arc<Self>,
        on_done: impl FnOnce(Callback, *mut c_void) -> *mut sys::hr_status,
    ) -> Result<()> {
        let context = Arc::into_raw(Arc::clone(self));
        let registered = crate::raw::check(on_done(Some(ended::<T>), context.cast_mut().cast()));
        if registered.is_err() {
            // SAFETY: the library has not taken the reference.
            drop(unsafe { Arc::from_raw(context) });
        }
        registered
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The result, or the waker is woken when there is one.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Result<()>> {
        let mut state = self.state();
        match &state.result {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                state.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// What was kept. The caller knows that the end has come.
    pub(crate) fn take(&self) -> Option<T> {
        self.state().kept.take()
    }

    fn finish(&self, result: Result<()>) {
        let mut state = self.state();
        state.result = Some(result);
        let waker = state.waker.take();
        drop(state);
        // A waker is the host's, and may panic.
        let _ = caught("a waker", || waker.map(Waker::wake));
    }
}

pub(crate) type Callback = Option<unsafe extern "C" fn(*mut c_void, *const sys::hr_status)>;

unsafe extern "C" fn ended<T: Send>(context: *mut c_void, status: *const sys::hr_status) {
    // SAFETY: the context is the reference of `register`, and this is called once.
    let completion = unsafe { Arc::from_raw(context.cast_const().cast::<Completion<T>>()) };
    let result = if status.is_null() { Ok(()) } else { Err(Error::of_status(status)) };
    completion.finish(result);
    // What was kept is dropped here, if nobody waits any more; its destructor may be the host's.
    let _ = caught("a destructor", || drop(completion));
}
