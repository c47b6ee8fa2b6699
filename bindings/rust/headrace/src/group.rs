//! Groups of processes that communicate. `group_start` has the operations in flight.
use std::fmt;
use std::path::Path;
use std::ptr;

use headrace_sys as sys;

use crate::graph::path_text;
use crate::limits::{made_within, within};
use crate::raw::{c_text, check, text_of, Owned};
use crate::{Env, GroupOptions, Limits, Operation, OperationKind, Plain, ReduceOp, Result};

/// A set of processes that communicate. Each has a rank from 0 to `size` - 1, and all ranks start
/// the same collective operations in the same order.
///
/// One thread at a time may start operations: a second one gets
/// [`Code::FAILED_PRECONDITION`](crate::Code::FAILED_PRECONDITION); give each thread a sub-group
/// ([`split`](Self::split)). If a rank dies, freezes or does something else, the group ends for all
/// ranks with the same failure ([`status`](Self::status)); [`shrink`](Self::shrink) goes on without
/// it. Calls that are given no limits have the group's timeout.
///
/// ```
/// # use headrace::{Env, Group, GroupOptions, ReduceOp, Store};
/// let env = Env::new()?;
/// let store = Store::open(&env, "memory:")?;
/// let group = Group::new(&env, Some(&GroupOptions { size: 1, store: Some(&store), ..Default::default() }), None)?;
/// let mut x = [1.0f32, 2.0];
/// group.all_reduce_in_place(&mut x, ReduceOp::SUM, None)?;
/// assert_eq!(x, [1.0, 2.0]);
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct Group(Owned<sys::hr_group>);

/// Reads the last operations of a group of another process, from its `.flight` file.
pub fn dump_read(path: impl AsRef<Path>) -> Result<String> {
    let path = path_text(path.as_ref())?;
    // SAFETY: the path lives during the call.
    text_of(|out| unsafe { sys::hr_dump_read(path.as_ptr(), out) })
}

impl Group {
    /// Makes a group and waits until all ranks are connected. All ranks call it. Without options
    /// everything comes from the environment.
    pub fn new(
        env: &Env,
        options: Option<&GroupOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<Self> {
        options.unwrap_or(&GroupOptions::default()).with_raw(|options| {
            // SAFETY: the options live during the call.
            made_within(limits, |limits, out| unsafe {
                sys::hr_group_create(env.raw(), options, limits, out)
            })
            .map(Self)
        })
    }

    /// Waits until a group grows, and becomes one of its ranks. Of the options, rank, size and
    /// epoch are ignored.
    pub fn join(
        env: &Env,
        options: Option<&GroupOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<Self> {
        options.unwrap_or(&GroupOptions::default()).with_raw(|options| {
            // SAFETY: the options live during the call.
            made_within(limits, |limits, out| unsafe {
                sys::hr_group_join(env.raw(), options, limits, out)
            })
            .map(Self)
        })
    }

    /// Leaves this group and all groups that share its connections. Operations in flight end with
    /// [`Code::CANCELLED`](crate::Code::CANCELLED). Waits two seconds at most; so does the drop of
    /// the last handle.
    pub fn close(&self) {
        // SAFETY: the group lives.
        unsafe { sys::hr_group_close(self.raw()) }
    }

    /// Ends the group on all ranks, with [`Code::ABORTED`](crate::Code::ABORTED) and the cause.
    pub fn abort(&self, cause: &str) -> Result<()> {
        let cause = c_text(cause)?;
        // SAFETY: the text lives during the call.
        check(unsafe { sys::hr_group_abort(self.raw(), cause.as_ptr()) })
    }

    /// The rank of this process.
    pub fn rank(&self) -> i32 {
        // SAFETY: the group lives.
        unsafe { sys::hr_group_rank(self.raw()) }
    }

    /// The number of ranks.
    pub fn size(&self) -> i32 {
        // SAFETY: the group lives.
        unsafe { sys::hr_group_size(self.raw()) }
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        // SAFETY: the group lives.
        unsafe { sys::hr_group_epoch(self.raw()) }
    }

    /// Why the group has ended, the same on all ranks; Ok while it has not.
    pub fn status(&self) -> Result<()> {
        // SAFETY: the group lives, and the caller gets the status.
        check(unsafe { sys::hr_group_status(self.raw()) })
    }

    /// Describes name, rank, members with their transports, and algorithms as JSON.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: the group lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_group_describe(self.raw(), out) })
    }

    /// Writes the last 2,000 operations as JSON, the oldest first.
    pub fn dump(&self) -> Result<String> {
        // SAFETY: the group lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_group_dump(self.raw(), out) })
    }

    /// Describes as JSON how the group would perform an operation.
    pub fn explain(&self, operation: &Operation) -> Result<String> {
        let raw = operation.raw(ptr::null(), ptr::null_mut());
        // SAFETY: the group lives; the buffers are ignored.
        text_of(|out| unsafe { sys::hr_group_explain(self.raw(), &raw, out) })
    }

    // ---- Other groups ----

    /// Splits the group: ranks of the same color form a sub-group, ordered by key and then by rank.
    /// All ranks call it; one without a color gets no sub-group.
    pub fn split(
        &self,
        color: Option<u16>,
        key: i32,
        limits: Option<&Limits<'_>>,
    ) -> Result<Option<Self>> {
        let color = color.map_or(-1, i32::from);
        let mut out = ptr::null_mut();
        // SAFETY: the group lives, and `out` is written.
        within(limits, |limits| unsafe {
            sys::hr_group_split(self.raw(), color, key, limits, &mut out)
        })?;
        // SAFETY: a call that succeeds gives the group to its caller.
        Ok(unsafe { Owned::from_raw(out) }.map(Self))
    }

    /// Continues a group that has ended, without the ranks that are gone, in a new epoch.
    pub fn shrink(&self, limits: Option<&Limits<'_>>) -> Result<Self> {
        // SAFETY: the group lives, and `out` is written.
        made_within(limits, |limits, out| unsafe { sys::hr_group_shrink(self.raw(), limits, out) })
            .map(Self)
    }

    /// Adds ranks until there are `new_size`, in a new epoch. New processes call
    /// [`join`](Self::join).
    pub fn grow(&self, new_size: i32, limits: Option<&Limits<'_>>) -> Result<Self> {
        // SAFETY: the group lives, and `out` is written.
        made_within(limits, |limits, out| unsafe {
            sys::hr_group_grow(self.raw(), new_size, limits, out)
        })
        .map(Self)
    }

    /// The number of processes that wait in [`join`](Self::join).
    pub fn waiting(&self, limits: Option<&Limits<'_>>) -> Result<i32> {
        let mut out = 0;
        within(limits, |limits| {
            // SAFETY: the group lives, and `out` is written.
            unsafe { sys::hr_group_waiting(self.raw(), limits, &mut out) }
        })?;
        Ok(out)
    }

    // ---- Operations; they wait for their end ----

    /// Sends a message to a rank.
    pub fn send<T: Plain>(
        &self,
        data: &[T],
        to: i32,
        tag: u32,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (start, count) = (data.as_ptr().cast(), data.len() as u64);
        // SAFETY: the memory has that many elements.
        within(limits, |limits| unsafe {
            sys::hr_send(self.raw(), start, count, T::DTYPE.0, to, tag, limits)
        })
    }

    /// Receives the first message of a rank with the tag, whose size and type must be these.
    pub fn recv<T: Plain>(
        &self,
        data: &mut [T],
        from: i32,
        tag: u32,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (start, count) = (data.as_mut_ptr().cast(), data.len() as u64);
        // SAFETY: the memory has that many elements.
        within(limits, |limits| unsafe {
            sys::hr_recv(self.raw(), start, count, T::DTYPE.0, from, tag, limits)
        })
    }

    /// Waits until all ranks have called it.
    pub fn barrier(&self, limits: Option<&Limits<'_>>) -> Result<()> {
        // SAFETY: the group lives.
        within(limits, |limits| unsafe { sys::hr_barrier(self.raw(), limits) })
    }

    /// Makes the data of all ranks that of the root.
    pub fn broadcast<T: Plain>(
        &self,
        data: &mut [T],
        root: i32,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (start, count) = (data.as_mut_ptr().cast(), data.len() as u64);
        // SAFETY: the memory has that many elements.
        within(limits, |limits| unsafe {
            sys::hr_broadcast(self.raw(), start, start, count, T::DTYPE.0, root, limits)
        })
    }

    /// Reduces the inputs of all ranks. Only the root has an output.
    pub fn reduce<T: Plain>(
        &self,
        input: &[T],
        output: Option<&mut [T]>,
        op: ReduceOp,
        root: i32,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (to, length) = parts(output);
        self.require::<T>(OperationKind::REDUCE, input.len(), root, Some(input.len()), length)?;
        let (from, count) = (input.as_ptr().cast(), input.len() as u64);
        // SAFETY: the memory has the sizes that the operation needs.
        within(limits, |limits| unsafe {
            sys::hr_reduce(self.raw(), from, to, count, T::DTYPE.0, op.0, root, limits)
        })
    }

    /// Reduces the inputs of all ranks, on every rank.
    pub fn all_reduce<T: Plain>(
        &self,
        input: &[T],
        output: &mut [T],
        op: ReduceOp,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let lengths = (Some(input.len()), Some(output.len()));
        self.require::<T>(OperationKind::ALL_REDUCE, input.len(), 0, lengths.0, lengths.1)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: both have that many elements.
        within(limits, |limits| unsafe {
            let count = input.len() as u64;
            sys::hr_all_reduce(self.raw(), from, to, count, T::DTYPE.0, op.0, limits)
        })
    }

    /// Reduces the data of all ranks in place.
    pub fn all_reduce_in_place<T: Plain>(
        &self,
        data: &mut [T],
        op: ReduceOp,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (start, count) = (data.as_mut_ptr().cast(), data.len() as u64);
        // SAFETY: the memory has that many elements; input and output may be the same.
        within(limits, |limits| unsafe {
            sys::hr_all_reduce(self.raw(), start, start, count, T::DTYPE.0, op.0, limits)
        })
    }

    /// Puts the inputs of all ranks one after the other. Only the root has an output.
    pub fn gather<T: Plain>(
        &self,
        input: &[T],
        output: Option<&mut [T]>,
        root: i32,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (to, length) = parts(output);
        self.require::<T>(OperationKind::GATHER, input.len(), root, Some(input.len()), length)?;
        let (from, count) = (input.as_ptr().cast(), input.len() as u64);
        // SAFETY: the memory has the sizes that the operation needs.
        within(limits, |limits| unsafe {
            sys::hr_gather(self.raw(), from, to, count, T::DTYPE.0, root, limits)
        })
    }

    /// Puts the inputs of all ranks one after the other, on every rank.
    pub fn all_gather<T: Plain>(
        &self,
        input: &[T],
        output: &mut [T],
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let lengths = (Some(input.len()), Some(output.len()));
        self.require::<T>(OperationKind::ALL_GATHER, input.len(), 0, lengths.0, lengths.1)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: the output has that many elements for each rank.
        within(limits, |limits| unsafe {
            sys::hr_all_gather(self.raw(), from, to, input.len() as u64, T::DTYPE.0, limits)
        })
    }

    /// Gives each rank its block of the root's input.
    pub fn scatter<T: Plain>(
        &self,
        input: Option<&[T]>,
        output: &mut [T],
        root: i32,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let length = input.map(<[T]>::len);
        self.require::<T>(OperationKind::SCATTER, output.len(), root, length, Some(output.len()))?;
        let from = input.map_or(ptr::null(), <[T]>::as_ptr).cast();
        let (to, count) = (output.as_mut_ptr().cast(), output.len() as u64);
        // SAFETY: the memory has the sizes that the operation needs.
        within(limits, |limits| unsafe {
            sys::hr_scatter(self.raw(), from, to, count, T::DTYPE.0, root, limits)
        })
    }

    /// Gives each rank its block of the reduction of all inputs.
    pub fn reduce_scatter<T: Plain>(
        &self,
        input: &[T],
        output: &mut [T],
        op: ReduceOp,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let lengths = (Some(input.len()), Some(output.len()));
        self.require::<T>(OperationKind::REDUCE_SCATTER, output.len(), 0, lengths.0, lengths.1)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: the input has that many elements for each rank.
        within(limits, |limits| unsafe {
            let count = output.len() as u64;
            sys::hr_reduce_scatter(self.raw(), from, to, count, T::DTYPE.0, op.0, limits)
        })
    }

    /// Gives each rank its block of every rank's input.
    pub fn all_to_all<T: Plain>(
        &self,
        input: &[T],
        output: &mut [T],
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let count = input.len() / self.size().max(1) as usize;
        let lengths = (Some(input.len()), Some(output.len()));
        self.require::<T>(OperationKind::ALL_TO_ALL, count, 0, lengths.0, lengths.1)?;
        let (from, to) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        // SAFETY: both have that many elements for each rank.
        within(limits, |limits| unsafe {
            sys::hr_all_to_all(self.raw(), from, to, count as u64, T::DTYPE.0, limits)
        })
    }

    /// Performs any operation.
    pub fn run<T: Plain>(
        &self,
        operation: &Operation,
        input: Option<&[T]>,
        output: Option<&mut [T]>,
        limits: Option<&Limits<'_>>,
    ) -> Result<()> {
        let (to, length) = parts(output);
        let operation = Operation { dtype: T::DTYPE, ..operation.clone() };
        operation.require(self.place(), input.map(<[T]>::len), length)?;
        let raw = operation.raw(input.map_or(ptr::null(), <[T]>::as_ptr).cast(), to);
        // SAFETY: the memory has the sizes that the operation needs.
        within(limits, |limits| unsafe { sys::hr_group_run(self.raw(), &raw, limits) })
    }

    fn require<T: Plain>(
        &self,
        kind: OperationKind,
        count: usize,
        root: i32,
        input: Option<usize>,
        output: Option<usize>,
    ) -> Result<()> {
        let operation = Operation { peer: root, ..Operation::new(kind, T::DTYPE, count) };
        operation.require(self.place(), input, output)
    }

    /// Rank and size.
    pub(crate) fn place(&self) -> (i32, i32) {
        (self.rank(), self.size())
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_group {
        self.0.get()
    }
}

/// The address and length of an output that may be missing.
fn parts<T>(output: Option<&mut [T]>) -> (*mut std::ffi::c_void, Option<usize>) {
    match output {
        Some(output) => (output.as_mut_ptr().cast(), Some(output.len())),
        None => (ptr::null_mut(), None),
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, size) = self.place();
        write!(f, "Group(rank {rank} of {size}, epoch {})", self.epoch())
    }
}
