//! What every module needs to call C: handles with an owner, statuses, texts.
use std::ffi::{c_char, CStr, CString};
use std::ptr::{self, NonNull};
use std::slice;

use headrace_sys as sys;

use crate::{Code, Error, Result};

/// A type of handles, with the function that releases one.
pub(crate) trait Release {
    /// # Safety
    /// The caller owns the handle and does not use it afterwards.
    unsafe fn release(handle: *mut Self);
}

macro_rules! releases {
    ($($handle:ident: $release:path),* $(,)?) => {
        $(impl Release for sys::$handle {
            unsafe fn release(handle: *mut Self) {
                // SAFETY: the caller promises it.
                unsafe { $release(handle) }
            }
        })*
    };
}

releases! {
    hr_status: sys::hr_status_release,
    hr_text: sys::hr_text_release,
    hr_cancel: sys::hr_cancel_release,
    hr_env: sys::hr_env_release,
    hr_tensor: sys::hr_tensor_release,
    hr_graph: sys::hr_graph_release,
    hr_node_spec: sys::hr_node_spec_release,
    hr_model: sys::hr_model_release,
    hr_session: sys::hr_session_release,
    hr_call: sys::hr_call_release,
    hr_run: sys::hr_run_release,
    hr_queue: sys::hr_queue_release,
    hr_dataset: sys::hr_dataset_release,
    hr_summary: sys::hr_summary_release,
    hr_progress: sys::hr_progress_release,
    hr_launch: sys::hr_launch_release,
    hr_store: sys::hr_store_release,
    hr_group: sys::hr_group_release,
    hr_work: sys::hr_work_release,
}

/// A handle that is released when it is dropped.
pub(crate) struct Owned<T: Release>(NonNull<T>);

// SAFETY: handles are thread-safe, or the library refuses a second thread with a failure. What
// neither holds for (hr_node_spec, hr_progress) is used through `&mut` only.
unsafe impl<T: Release> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T: Release> Sync for Owned<T> {}

impl<T: Release> Owned<T> {
    /// Takes over a handle, if it is not NULL.
    ///
    /// # Safety
    /// The caller owns the handle and gives it away.
    pub(crate) unsafe fn from_raw(handle: *mut T) -> Option<Self> {
        NonNull::new(handle).map(Self)
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }

    /// Gives the handle away.
    pub(crate) fn into_raw(self) -> *mut T {
        let handle = self.0.as_ptr();
        std::mem::forget(self);
        handle
    }
}

impl<T: Release> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: this is the owner.
        unsafe { T::release(self.0.as_ptr()) }
    }
}

/// Turns a status of C into a result.
pub(crate) fn check(status: *mut sys::hr_status) -> Result<()> {
    // The first test is all that a call that succeeds pays.
    if status.is_null() {
        return Ok(());
    }
    // SAFETY: whoever gets a status owns it.
    match unsafe { Owned::from_raw(status) } {
        Some(status) => Err(Error::of_status(status.get())),
        None => Ok(()),
    }
}

/// Calls a function that writes a new handle, which is never NULL if it succeeds.
pub(crate) fn made<T: Release>(
    make: impl FnOnce(*mut *mut T) -> *mut sys::hr_status,
) -> Result<Owned<T>> {
    made_or_null(make)?.ok_or_else(|| Error::new(Code::INTERNAL, "the library gave no object"))
}

/// Calls a function that writes a new handle, or NULL.
pub(crate) fn made_or_null<T: Release>(
    make: impl FnOnce(*mut *mut T) -> *mut sys::hr_status,
) -> Result<Option<Owned<T>>> {
    let mut out = ptr::null_mut();
    check(make(&mut out))?;
    // SAFETY: a call that succeeds gives the object to its caller.
    Ok(unsafe { Owned::from_raw(out) })
}

/// Calls a function that writes a value.
pub(crate) fn written<T: Default>(write: impl FnOnce(*mut T) -> *mut sys::hr_status) -> Result<T> {
    let mut out = T::default();
    check(write(&mut out))?;
    Ok(out)
}

/// Calls a function that writes a text.
pub(crate) fn text_of(
    write: impl FnOnce(*mut *mut sys::hr_text) -> *mut sys::hr_status,
) -> Result<String> {
    made(write).map(|text| text_string(&text))
}

pub(crate) fn text_string(text: &Owned<sys::hr_text>) -> String {
    // SAFETY: the text has that many bytes and lives here.
    let bytes = unsafe {
        let data = sys::hr_text_data(text.get()).cast::<u8>();
        slice::from_raw_parts(data, sys::hr_text_size(text.get()))
    };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text as C takes it. Fails if it has a NUL, which no text of C can have.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        let message = format!(
            "expected a text without NUL, got one at byte {} of {:?}",
            error.nul_position(),
            text
        );
        Error::new(Code::INVALID_ARGUMENT, message).with_source(error)
    })
}

/// As `c_text`, for a text that may be missing.
pub(crate) fn optional_text(text: Option<&str>) -> Result<Option<CString>> {
    text.map(c_text).transpose()
}

/// The pointer to a text that may be missing.
pub(crate) fn text_pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

/// Attributes are a text, of which "" means none.
pub(crate) fn attribute_text(text: &str) -> Result<Option<CString>> {
    optional_text(Some(text).filter(|text| !text.is_empty()))
}

/// Texts as an array of C.
pub(crate) struct Texts {
    pointers: Vec<*const c_char>,
    _texts: Vec<CString>,
}

impl Texts {
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let texts = texts.into_iter().map(c_text).collect::<Result<Vec<_>>>()?;
        Ok(Self { pointers: texts.iter().map(|text| text.as_ptr()).collect(), _texts: texts })
    }

    pub(crate) fn len(&self) -> usize {
        self.pointers.len()
    }

    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

/// A copy of a text of C; "" if it is NULL.
///
/// # Safety
/// The pointer is NULL or leads to a text that lives during this call.
pub(crate) unsafe fn copied(text: *const c_char) -> String {
    // SAFETY: the caller promises it.
    unsafe { copied_or_none(text) }.unwrap_or_default()
}

/// A copy of a text of C, if it is not NULL.
///
/// # Safety
/// As for `copied`.
pub(crate) unsafe fn copied_or_none(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises that it is a text.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// An array of C, which may be NULL if it has no elements.
///
/// # Safety
/// The array has that many elements, which live and do not change for the lifetime that the caller
/// gives the result.
pub(crate) unsafe fn array<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 || data.is_null() {
        return &[];
    }
    // SAFETY: the caller promises it.
    unsafe { slice::from_raw_parts(data, count) }
}
