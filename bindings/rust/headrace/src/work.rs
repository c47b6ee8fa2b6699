//! Operations of a group in flight.
use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use headrace_sys as sys;

use crate::completion::Completion;
use crate::limits::within;
use crate::raw::{check, Owned};
use crate::{Code, DType, Error, Limits, Plain, Queue, Result, Tensor};

/// Memory that an operation in flight owns: `Vec<T>` and contiguous tensors.
///
/// # Safety
/// The memory stays where it is when the buffer is moved, has that many elements of that type, and
/// nobody writes it while the buffer is given away.
pub unsafe trait Buffer: Send + 'static {
    /// The type of the elements.
    fn dtype(&self) -> DType;
    /// The number of elements.
    fn count(&self) -> usize;
    /// The address of the first element. Fails if the memory cannot be used.
    fn start(&self) -> Result<*const c_void>;
}

/// A buffer that an operation can write.
///
/// # Safety
/// As for [`Buffer`]; nobody else uses the memory, and any bytes are values of the type.
pub unsafe trait BufferMut: Buffer {
    /// The address of the first element. Fails if the memory cannot be written.
    fn start_mut(&mut self) -> Result<*mut c_void>;
}

// SAFETY: the memory is on the heap and belongs to the vector.
unsafe impl<T: Plain> Buffer for Vec<T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn start(&self) -> Result<*const c_void> {
        Ok(self.as_ptr().cast())
    }
}

// SAFETY: as above.
unsafe impl<T: Plain> BufferMut for Vec<T> {
    fn start_mut(&mut self) -> Result<*mut c_void> {
        Ok(self.as_mut_ptr().cast())
    }
}

// SAFETY: the memory is the tensor's; what others share is not written.
unsafe impl Buffer for Tensor {
    fn dtype(&self) -> DType {
        Tensor::dtype(self)
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn start(&self) -> Result<*const c_void> {
        if self.strides().is_some() || self.as_ptr().is_null() && !self.is_empty() {
            let message = "expected a contiguous tensor of the host; copy it with to_tensor";
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        Ok(self.as_ptr().cast())
    }
}

// SAFETY: nobody shares the memory; elements are checked when they are read.
unsafe impl BufferMut for Tensor {
    fn start_mut(&mut self) -> Result<*mut c_void> {
        self.require_writable()?;
        self.start().map(<*const c_void>::cast_mut)
    }
}

/// An operation in flight, with the buffers that it uses. It is a future, which any executor can
/// poll and which gives the buffers back. If it is dropped, the operation goes on, and its buffers
/// live until its end.
pub struct Work<B: Send + 'static> {
    raw: Owned<sys::hr_work>,
    completion: Arc<Completion<B>>,
    registered: bool,
}

impl<B: Send + 'static> Work<B> {
    /// The buffers must be those of the operation: they are kept until its end.
    pub(crate) fn of(raw: Owned<sys::hr_work>, buffers: B) -> Self {
        Self { raw, completion: Completion::new(buffers), registered: false }
    }

    /// Whether the operation has ended. Does not wait, but moves data that can be moved now.
    pub fn is_done(&self) -> bool {
        // SAFETY: the work lives.
        unsafe { sys::hr_work_test(self.raw.get()) != 0 }
    }

    /// Waits for the end of the operation and returns its result. The limits (None: the group's
    /// timeout) end the waiting, not the operation.
    pub fn wait(&self, limits: Option<&Limits<'_>>) -> Result<()> {
        // SAFETY: the work lives.
        within(limits, |limits| unsafe { sys::hr_work_wait(self.raw.get(), limits) })
    }

    /// Waits as [`wait`](Self::wait) does, and gives the buffers back.
    pub fn finish(self, limits: Option<&Limits<'_>>) -> Result<B> {
        self.wait(limits)?;
        self.completion.take().ok_or_else(taken)
    }

    /// Puts the operation into a queue when it has ended.
    pub fn enqueue(&self, queue: &Queue, key: u64) -> Result<()> {
        // SAFETY: the work and the queue live.
        check(unsafe { sys::hr_work_enqueue(self.raw.get(), queue.raw(), key) })
    }

    /// Ends the operation with [`Code::CANCELLED`]. A cancelled receive has no effect; any other
    /// operation ends the group.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: the work lives.
        check(unsafe { sys::hr_work_cancel(self.raw.get()) })
    }

    fn register(&mut self) -> Result<()> {
        if self.registered {
            return Ok(());
        }
        // SAFETY: the context lives until the callback.
        self.completion.register(|callback, context| unsafe {
            sys::hr_work_on_done(self.raw.get(), callback, context)
        })?;
        self.registered = true;
        Ok(())
    }
}

fn taken() -> Error {
    Error::new(Code::FAILED_PRECONDITION, "the buffers of the operation have been taken before")
}

impl<B: Send + 'static> Future for Work<B> {
    type Output = Result<B>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<B>> {
        self.register()?;
        self.completion
            .poll(context.waker())
            .map(|result| result.and_then(|()| self.completion.take().ok_or_else(taken)))
    }
}

impl<B: Send + 'static> Drop for Work<B> {
    fn drop(&mut self) {
        if self.registered || self.is_done() {
            return;
        }
        // The callback keeps the buffers until the end; if there can be none, nobody frees them.
        if self.register().is_err() {
            std::mem::forget(Arc::clone(&self.completion));
        }
    }
}

impl<B: Send + 'static> fmt::Debug for Work<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("is_done", &self.is_done()).finish()
    }
}
