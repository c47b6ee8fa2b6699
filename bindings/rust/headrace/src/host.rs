//! Objects of the host behind the `context` of functions that the library calls.
use std::ffi::c_void;

use crate::error::caught;

/// An object that the library takes over if a call succeeds, and drops through [`release`].
pub(crate) struct Given<T: Send>(*mut T);

impl<T: Send> Given<T> {
    pub(crate) fn new(object: T) -> Self {
        Self(Box::into_raw(Box::new(object)))
    }

    /// The `context` of the functions.
    pub(crate) fn context(&self) -> *mut c_void {
        self.0.cast()
    }

    /// The call has succeeded.
    pub(crate) fn taken(self) {
        std::mem::forget(self);
    }
}

impl<T: Send> Drop for Given<T> {
    fn drop(&mut self) {
        // SAFETY: the object was made by `new`, and nobody has taken it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The `release` of functions whose context is a `Given<T>`. Any thread may call it.
pub(crate) unsafe extern "C" fn release<T: Send>(context: *mut c_void) {
    // SAFETY: the context was made by `Given::new`; the library calls this once, at the end.
    let object = unsafe { Box::from_raw(context.cast::<T>()) };
    // Nobody is left to whom a panic of a destructor could be told.
    let _ = caught("a destructor", || drop(object));
}

/// The object behind a context.
///
/// # Safety
/// The context was made by `Given::<T>::new` and is not released during the lifetime; the object is
/// used from several threads at once only if that is safe for `T`.
pub(crate) unsafe fn object<'a, T>(context: *mut c_void) -> &'a T {
    // SAFETY: the caller promises it.
    unsafe { &*context.cast::<T>() }
}
