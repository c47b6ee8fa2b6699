//! Limits of calls that can wait.
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::time::Duration;
use std::{fmt, ptr};

use headrace_sys as sys;

use crate::error::caught;
use crate::raw::{check, made, Owned};
use crate::{Error, Result};

/// A token that cancels the calls to which it was given.
pub struct Cancel(Owned<sys::hr_cancel>);

impl Cancel {
    /// Makes a token that nothing has cancelled.
    pub fn new() -> Result<Self> {
        // SAFETY: `out` is written.
        made(|out| unsafe { sys::hr_cancel_create(out) }).map(Self)
    }

    /// Cancels all calls that have the token, now and later. Calls that wait are woken at once; a
    /// run looks at the token between steps. Any thread may call it, but no signal handler.
    pub fn trigger(&self) {
        // SAFETY: the handle lives.
        unsafe { sys::hr_cancel_trigger(self.0.get()) }
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cancel")
    }
}

type Interrupted<'a> = Box<dyn Fn() -> bool + Send + Sync + 'a>;

/// The limits of a call: a token, a timeout, and a function that is asked now and then. Calls take
/// `None`, too, which means no limits, or the default that their description names.
///
/// ```
/// # use headrace::{Cancel, Limits};
/// # use std::time::Duration;
/// let cancel = Cancel::new()?;
/// let limits = Limits::new().cancel(&cancel).timeout(Duration::from_millis(50));
/// # Ok::<(), headrace::Error>(())
/// ```
#[derive(Default)]
pub struct Limits<'a> {
    cancel: Option<&'a Cancel>,
    timeout: Option<Duration>,
    interrupted: Option<Interrupted<'a>>,
}

impl<'a> Limits<'a> {
    /// No limits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The call ends with [`Code::CANCELLED`](crate::Code::CANCELLED) when the token is triggered.
    #[must_use]
    pub fn cancel(mut self, cancel: &'a Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The call ends with [`Code::DEADLINE_EXCEEDED`](crate::Code::DEADLINE_EXCEEDED) so long after
    /// it has begun. It is measured by the env's clock.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The call asks the function at least every 100 ms, on its own thread, while it waits and
    /// between the steps of a run; it ends with [`Code::CANCELLED`](crate::Code::CANCELLED) if the
    /// function returns true. A panic of the function ends the call, too. Runs in the background
    /// do not ask.
    #[must_use]
    pub fn interrupted(mut self, interrupted: impl Fn() -> bool + Send + Sync + 'a) -> Self {
        self.interrupted = Some(Box::new(interrupted));
        self
    }

    fn raw(&self) -> sys::hr_limits {
        sys::hr_limits {
            cancel: self.cancel.map_or(ptr::null(), |cancel| cancel.0.get()),
            timeout_nanos: self.timeout.map_or(0, nanos),
            ..Default::default()
        }
    }
}

impl fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Nanoseconds as C counts them; 0 means none there, so a timeout has at least one.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX).max(1)
}

struct Asked<'a> {
    interrupted: &'a Interrupted<'a>,
    panic: Mutex<Option<Error>>,
}

unsafe extern "C" fn interrupted(context: *mut c_void) -> c_int {
    // SAFETY: the context is the `Asked` of `within`, which lives during the call.
    let asked = unsafe { &*context.cast::<Asked<'_>>() };
    match caught("the function 'interrupted' of the limits", || (asked.interrupted)()) {
        Ok(stop) => c_int::from(stop),
        Err(error) => {
            *asked.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
            1
        }
    }
}

/// Makes a call with limits.
#[inline]
pub(crate) fn within(
    limits: Option<&Limits<'_>>,
    call: impl FnOnce(*const sys::hr_limits) -> *mut sys::hr_status,
) -> Result<()> {
    match limits {
        None => check(call(ptr::null())),
        Some(limits) => within_some(limits, call),
    }
}

fn within_some(
    limits: &Limits<'_>,
    call: impl FnOnce(*const sys::hr_limits) -> *mut sys::hr_status,
) -> Result<()> {
    let mut raw = limits.raw();
    let Some(function) = &limits.interrupted else {
        return check(call(&raw));
    };
    let asked = Asked { interrupted: function, panic: Mutex::new(None) };
    raw.interrupted = Some(interrupted);
    raw.context = ptr::from_ref(&asked).cast_mut().cast();
    let result = check(call(&raw));
    let panicked = asked.panic.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    panicked.map_or(result, Err)
}

/// Makes a call with limits that gives an object.
pub(crate) fn made_within<T: crate::raw::Release>(
    limits: Option<&Limits<'_>>,
    call: impl FnOnce(*const sys::hr_limits, *mut *mut T) -> *mut sys::hr_status,
) -> Result<Owned<T>> {
    let mut out = ptr::null_mut();
    within(limits, |limits| call(limits, &mut out))?;
    // SAFETY: a call that succeeds gives the object to its caller.
    unsafe { Owned::from_raw(out) }
        .ok_or_else(|| Error::new(crate::Code::INTERNAL, "the library gave no object"))
}
