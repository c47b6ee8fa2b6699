//! Operations of a group that are started and go on in the background.
use std::ffi::c_void;
use std::ptr;

use headrace_sys as sys;

use crate::raw::made;
use crate::{
    Buffer, BufferMut, Code, DType, Error, Group, Operation, OperationKind, ReduceOp, Result, Work,
};

/// The addresses, lengths and type of an operation's buffers.
struct Buffers {
    input: *const c_void,
    output: *mut c_void,
    lengths: (Option<usize>, Option<usize>),
    dtype: DType,
}

impl Buffers {
    fn of<I: Buffer, O: BufferMut>(input: Option<&I>, output: Option<&mut O>) -> Result<Self> {
        let dtypes = [input.map(Buffer::dtype), output.as_ref().map(|output| output.dtype())];
        let dtype = dtypes.iter().flatten().next().copied().unwrap_or(DType::UINT8);
        if let Some(other) = dtypes.iter().flatten().find(|other| **other != dtype) {
            let message = format!("the input is of {dtype}, but the output of {other}");
            return Err(Error::new(Code::INVALID_ARGUMENT, message));
        }
        Ok(Self {
            input: input.map_or(Ok(ptr::null()), Buffer::start)?,
            lengths: (input.map(Buffer::count), output.as_ref().map(|output| output.count())),
            output: output.map_or(Ok(ptr::null_mut()), BufferMut::start_mut)?,
            dtype,
        })
    }
}

type Pair<I, O> = (Option<I>, Option<O>);

impl Group {
    /// Checks the buffers and starts an operation with them.
    fn begin<I: Buffer, O: BufferMut>(
        &self,
        (input, mut output): Pair<I, O>,
        operation: Operation,
        start: impl FnOnce(&Buffers, *mut *mut sys::hr_work) -> *mut sys::hr_status,
    ) -> Result<Work<Pair<I, O>>> {
        let buffers = Buffers::of(input.as_ref(), output.as_mut())?;
        operation.require(self.place(), buffers.lengths.0, buffers.lengths.1)?;
        let raw = made(|out| start(&buffers, out))?;
        Ok(Work::of(raw, (input, output)))
    }

    /// Starts an operation that works in place, or has one buffer.
    fn begin_one<B: BufferMut>(
        &self,
        mut data: B,
        start: impl FnOnce(*mut c_void, u64, i32, *mut *mut sys::hr_work) -> *mut sys::hr_status,
    ) -> Result<Work<B>> {
        let (memory, count, dtype) = (data.start_mut()?, data.count() as u64, data.dtype().0);
        let raw = made(|out| start(memory, count, dtype, out))?;
        Ok(Work::of(raw, data))
    }

    /// Starts [`send`](Self::send).
    pub fn send_start<B: Buffer>(&self, data: B, to: i32, tag: u32) -> Result<Work<B>> {
        let (memory, count, dtype) = (data.start()?, data.count() as u64, data.dtype().0);
        // SAFETY: the work keeps the buffer until its end.
        let raw = made(|out| unsafe {
            sys::hr_send_start(self.raw(), memory, count, dtype, to, tag, out)
        })?;
        Ok(Work::of(raw, data))
    }

    /// Starts [`recv`](Self::recv).
    pub fn recv_start<B: BufferMut>(&self, data: B, from: i32, tag: u32) -> Result<Work<B>> {
        // SAFETY: the work keeps the buffer until its end.
        self.begin_one(data, |memory, count, dtype, out| unsafe {
            sys::hr_recv_start(self.raw(), memory, count, dtype, from, tag, out)
        })
    }

    /// Starts [`barrier`](Self::barrier).
    pub fn barrier_start(&self) -> Result<Work<()>> {
        // SAFETY: the group lives.
        let raw = made(|out| unsafe { sys::hr_barrier_start(self.raw(), out) })?;
        Ok(Work::of(raw, ()))
    }

    /// Starts [`broadcast`](Self::broadcast).
    pub fn broadcast_start<B: BufferMut>(&self, data: B, root: i32) -> Result<Work<B>> {
        // SAFETY: the work keeps the buffer until its end.
        self.begin_one(data, |memory, count, dtype, out| unsafe {
            sys::hr_broadcast_start(self.raw(), memory, memory, count, dtype, root, out)
        })
    }

    /// Starts [`all_reduce_in_place`](Self::all_reduce_in_place).
    pub fn all_reduce_start<B: BufferMut>(&self, data: B, op: ReduceOp) -> Result<Work<B>> {
        // SAFETY: the work keeps the buffer until its end.
        self.begin_one(data, |memory, count, dtype, out| unsafe {
            sys::hr_all_reduce_start(self.raw(), memory, memory, count, dtype, op.0, out)
        })
    }

    /// Starts [`reduce`](Self::reduce).
    pub fn reduce_start<I: Buffer, O: BufferMut>(
        &self,
        input: I,
        output: Option<O>,
        op: ReduceOp,
        root: i32,
    ) -> Result<Work<Pair<I, O>>> {
        let operation = described(OperationKind::REDUCE, &input, input.count(), root);
        let count = operation.count as u64;
        // SAFETY: the work keeps the buffers until its end.
        self.begin((Some(input), output), operation, |b, out| unsafe {
            let (from, to, dtype) = (b.input, b.output, b.dtype.0);
            sys::hr_reduce_start(self.raw(), from, to, count, dtype, op.0, root, out)
        })
    }

    /// Starts [`gather`](Self::gather).
    pub fn gather_start<I: Buffer, O: BufferMut>(
        &self,
        input: I,
        output: Option<O>,
        root: i32,
    ) -> Result<Work<Pair<I, O>>> {
        let operation = described(OperationKind::GATHER, &input, input.count(), root);
        let count = operation.count as u64;
        // SAFETY: the work keeps the buffers until its end.
        self.begin((Some(input), output), operation, |b, out| unsafe {
            sys::hr_gather_start(self.raw(), b.input, b.output, count, b.dtype.0, root, out)
        })
    }

    /// Starts [`all_gather`](Self::all_gather).
    pub fn all_gather_start<I: Buffer, O: BufferMut>(
        &self,
        input: I,
        output: O,
    ) -> Result<Work<Pair<I, O>>> {
        let operation = described(OperationKind::ALL_GATHER, &input, input.count(), 0);
        let count = operation.count as u64;
        // SAFETY: the work keeps the buffers until its end.
        self.begin((Some(input), Some(output)), operation, |b, out| unsafe {
            sys::hr_all_gather_start(self.raw(), b.input, b.output, count, b.dtype.0, out)
        })
    }

    /// Starts [`scatter`](Self::scatter).
    pub fn scatter_start<I: Buffer, O: BufferMut>(
        &self,
        input: Option<I>,
        output: O,
        root: i32,
    ) -> Result<Work<Pair<I, O>>> {
        let operation = described(OperationKind::SCATTER, &output, output.count(), root);
        let count = operation.count as u64;
        // SAFETY: the work keeps the buffers until its end.
        self.begin((input, Some(output)), operation, |b, out| unsafe {
            sys::hr_scatter_start(self.raw(), b.input, b.output, count, b.dtype.0, root, out)
        })
    }

    /// Starts [`reduce_scatter`](Self::reduce_scatter).
    pub fn reduce_scatter_start<I: Buffer, O: BufferMut>(
        &self,
        input: I,
        output: O,
        op: ReduceOp,
    ) -> Result<Work<Pair<I, O>>> {
        let operation = described(OperationKind::REDUCE_SCATTER, &output, output.count(), 0);
        let count = operation.count as u64;
        // SAFETY: the work keeps the buffers until its end.
        self.begin((Some(input), Some(output)), operation, |b, out| unsafe {
            let (from, to, dtype) = (b.input, b.output, b.dtype.0);
            sys::hr_reduce_scatter_start(self.raw(), from, to, count, dtype, op.0, out)
        })
    }

    /// Starts [`all_to_all`](Self::all_to_all).
    pub fn all_to_all_start<I: Buffer, O: BufferMut>(
        &self,
        input: I,
        output: O,
    ) -> Result<Work<Pair<I, O>>> {
        let count = input.count() / self.size().max(1) as usize;
        let operation = described(OperationKind::ALL_TO_ALL, &input, count, 0);
        // SAFETY: the work keeps the buffers until its end.
        self.begin((Some(input), Some(output)), operation, |b, out| unsafe {
            let (from, to, count) = (b.input, b.output, count as u64);
            sys::hr_all_to_all_start(self.raw(), from, to, count, b.dtype.0, out)
        })
    }

    /// Starts any operation, of the type of its buffers.
    pub fn start<I: Buffer, O: BufferMut>(
        &self,
        operation: &Operation,
        input: Option<I>,
        output: Option<O>,
    ) -> Result<Work<Pair<I, O>>> {
        let described = operation.clone();
        self.begin((input, output), operation.clone(), |b, out| {
            let raw = Operation { dtype: b.dtype, ..described }.raw(b.input, b.output);
            // SAFETY: the work keeps the buffers until its end.
            unsafe { sys::hr_group_start(self.raw(), &raw, out) }
        })
    }
}

fn described<B: Buffer>(kind: OperationKind, buffer: &B, count: usize, root: i32) -> Operation {
    Operation { peer: root, ..Operation::new(kind, buffer.dtype(), count) }
}
