//! Failures.
use std::any::Any;
use std::error;
use std::ffi::CStr;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use headrace_sys as sys;

use crate::raw::copied;

/// The result of what can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it is. Later versions of the library may add codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $raw:ident;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Code = Code(sys::$raw);)*
        }
    };
}

codes! {
    /// The call was cancelled.
    CANCELLED = HR_CANCELLED;
    /// Unknown; so are failures of the host that name no other code, and panics.
    UNKNOWN = HR_UNKNOWN;
    /// An argument is not what the call needs.
    INVALID_ARGUMENT = HR_INVALID_ARGUMENT;
    /// The deadline has passed.
    DEADLINE_EXCEEDED = HR_DEADLINE_EXCEEDED;
    /// There is no such thing.
    NOT_FOUND = HR_NOT_FOUND;
    /// There is one already.
    ALREADY_EXISTS = HR_ALREADY_EXISTS;
    /// The system does not allow it.
    PERMISSION_DENIED = HR_PERMISSION_DENIED;
    /// Memory or another resource is used up.
    RESOURCE_EXHAUSTED = HR_RESOURCE_EXHAUSTED;
    /// The object is not in a state that allows the call.
    FAILED_PRECONDITION = HR_FAILED_PRECONDITION;
    /// A rank has ended the group.
    ABORTED = HR_ABORTED;
    /// The data is over, or an index is too large.
    OUT_OF_RANGE = HR_OUT_OF_RANGE;
    /// The library cannot do this.
    UNIMPLEMENTED = HR_UNIMPLEMENTED;
    /// A fault of the library.
    INTERNAL = HR_INTERNAL;
    /// A peer, a plugin or a service cannot be reached.
    UNAVAILABLE = HR_UNAVAILABLE;
    /// Data is damaged.
    DATA_LOSS = HR_DATA_LOSS;
    /// A rank has another secret.
    UNAUTHENTICATED = HR_UNAUTHENTICATED;
    /// An update of the session failed half-way; restore a checkpoint.
    TAINTED = HR_TAINTED;
    /// The process that decides about a group's failures is gone.
    ARBITER_LOST = HR_ARBITER_LOST;
    /// A device failed for good; what was in its memory is gone.
    DEVICE_LOST = HR_DEVICE_LOST;
}

impl Code {
    /// The name, such as "INVALID_ARGUMENT".
    pub fn name(self) -> &'static str {
        // SAFETY: the text is static.
        unsafe { CStr::from_ptr(sys::hr_code_name(self.0)) }.to_str().unwrap_or("UNKNOWN")
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failure: a code, one or more sentences that say what was expected, what came and what to do,
/// and the node to blame, if there is one.
///
/// A function of yours that the library calls returns one, too. Its code and message come back from
/// the call that needed the function; so does its source, if the library calls the function on the
/// thread that made the call ([`ModelReader`](crate::ModelReader), the steps of
/// [`Session::train`](crate::Session::train)).
#[derive(Clone, Debug)]
pub struct Error {
    code: Code,
    message: String,
    node: Option<String>,
    source: Option<Arc<dyn error::Error + Send + Sync>>,
}

impl Error {
    /// A failure of your own.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), node: None, source: None }
    }

    /// The failure with the error that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// What kind of failure it is.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What was expected, what came and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The name of the node that failed.
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// Copies a status, which is not NULL and lives during the call.
    pub(crate) fn of_status(status: *const sys::hr_status) -> Self {
        // SAFETY: the status lives, and its texts live as long.
        let (code, message, node) = unsafe {
            (
                sys::hr_status_code(status),
                copied(sys::hr_status_message(status)),
                copied(sys::hr_status_node(status)),
            )
        };
        Self { code: Code(code), message, node: Some(node).filter(|n| !n.is_empty()), source: None }
    }

    /// A panic in a function of the host.
    pub(crate) fn of_panic(function: &str, payload: &(dyn Any + Send)) -> Self {
        let said = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = format!("{function} has panicked: {}", said.unwrap_or("(no text)"));
        Self::new(Code::UNKNOWN, message)
    }

    /// A status with the code and the message.
    pub(crate) fn to_status(&self) -> *mut sys::hr_status {
        // A NUL would cut the message off.
        let message = self.message.replace('\0', "\u{fffd}") + "\0";
        // SAFETY: the text ends with its only NUL, and the library copies it.
        unsafe { sys::hr_status_create(self.code.0, message.as_ptr().cast()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match &self.node {
            Some(node) => write!(f, " (node '{node}')"),
            None => Ok(()),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => Code::NOT_FOUND,
            std::io::ErrorKind::PermissionDenied => Code::PERMISSION_DENIED,
            std::io::ErrorKind::UnexpectedEof => Code::DATA_LOSS,
            _ => Code::UNAVAILABLE,
        };
        Self::new(code, error.to_string()).with_source(error)
    }
}

/// Calls a function of the host. No panic may pass through C, so it becomes an error.
pub(crate) fn caught<T>(function: &str, call: impl FnOnce() -> T) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let error = Error::of_panic(function, payload.as_ref());
        // The payload's own destructor may panic; then it is leaked.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
        error
    })
}

/// As `caught`, for a function that returns a result, as a status.
pub(crate) fn caught_status(
    function: &str,
    call: impl FnOnce() -> Result<()>,
) -> *mut sys::hr_status {
    match caught(function, call).and_then(|result| result) {
        Ok(()) => std::ptr::null_mut(),
        Err(error) => error.to_status(),
    }
}
