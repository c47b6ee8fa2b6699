//! Services of the host for an env: memory, log, clock, threads.
use std::alloc::Layout;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use headrace_sys as sys;

use crate::env::release_of;
use crate::error::caught;
use crate::host::{object, Given};
use crate::limits::nanos;

/// Memory of the host. Any thread may call the functions, also the one that keeps groups alive.
///
/// # Safety
/// What `allocate` returns is null or memory as the layout says, which nobody else uses until it is
/// given to `deallocate`.
pub unsafe trait Allocator: Send + Sync + 'static {
    /// Returns memory, or null if there is none left. A panic counts as null.
    fn allocate(&self, layout: Layout) -> *mut u8;

    /// Takes memory back.
    ///
    /// # Safety
    /// `allocate` has returned `data` for the same layout.
    unsafe fn deallocate(&self, data: *mut u8, layout: Layout);
}

/// How much a log message matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

impl LogLevel {
    fn of(level: sys::hr_log_level) -> Self {
        match level {
            sys::HR_LOG_DEBUG => Self::Debug,
            sys::HR_LOG_INFO => Self::Info,
            sys::HR_LOG_WARNING => Self::Warning,
            _ => Self::Error,
        }
    }
}

/// Threads of the host.
pub trait Executor: Send + Sync + 'static {
    /// The most threads that run tasks at one time, including the one that calls `run`.
    fn concurrency(&self) -> i32;

    /// Calls `task(i)` once for each i in [0, tasks), on at most `threads` threads including this
    /// one, and returns when all calls have returned. Any thread may call it. Tasks that it leaves
    /// out, also because it panics, run on the calling thread; a second call of one does nothing.
    fn run(&self, tasks: i32, threads: i32, task: &(dyn Fn(i32) + Sync));
}

pub(crate) fn raw_allocator(given: &Given<Box<dyn Allocator>>) -> sys::hr_allocator {
    sys::hr_allocator {
        context: given.context(),
        allocate: Some(allocate),
        deallocate: Some(deallocate),
        release: Some(release_of(given)),
        ..Default::default()
    }
}

unsafe extern "C" fn allocate(context: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void {
    // SAFETY: the context is the `Given` of `raw_allocator`.
    let allocator = unsafe { object::<Box<dyn Allocator>>(context) };
    let Ok(layout) = Layout::from_size_align(bytes.max(1), alignment) else {
        return ptr::null_mut();
    };
    caught("the allocator", || allocator.allocate(layout)).unwrap_or(ptr::null_mut()).cast()
}

unsafe extern "C" fn deallocate(
    context: *mut c_void,
    data: *mut c_void,
    bytes: usize,
    alignment: usize,
) {
    // SAFETY: the context is the `Given` of `raw_allocator`.
    let allocator = unsafe { object::<Box<dyn Allocator>>(context) };
    if let Ok(layout) = Layout::from_size_align(bytes.max(1), alignment) {
        // SAFETY: `allocate` has returned the memory for this layout. If it panics, it keeps it.
        let _ = caught("the allocator", || unsafe { allocator.deallocate(data.cast(), layout) });
    }
}

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

pub(crate) fn raw_log(given: &Given<Log>) -> sys::hr_log_sink {
    sys::hr_log_sink {
        context: given.context(),
        write: Some(write),
        release: Some(release_of(given)),
        ..Default::default()
    }
}

unsafe extern "C" fn write(context: *mut c_void, level: sys::hr_log_level, message: *const c_char) {
    // SAFETY: the context is the `Given` of `raw_log`, and the message lives during the call.
    let (write, message) = unsafe { (object::<Log>(context), CStr::from_ptr(message)) };
    // A log that panics has nobody to tell it to.
    let _ = caught("the log", || write(LogLevel::of(level), &message.to_string_lossy()));
}

/// A clock, and the last time that it has told.
pub(crate) struct Clock {
    now: Box<dyn Fn() -> Duration + Send + Sync>,
    last: AtomicI64,
}

impl Clock {
    pub(crate) fn new(now: Box<dyn Fn() -> Duration + Send + Sync>) -> Self {
        Self { now, last: AtomicI64::new(0) }
    }
}

pub(crate) fn raw_clock(given: &Given<Clock>) -> sys::hr_clock {
    sys::hr_clock {
        context: given.context(),
        now_nanos: Some(now_nanos),
        release: Some(release_of(given)),
        ..Default::default()
    }
}

unsafe extern "C" fn now_nanos(context: *mut c_void) -> i64 {
    // SAFETY: the context is the `Given` of `raw_clock`.
    let clock = unsafe { object::<Clock>(context) };
    match caught("the clock", || nanos((clock.now)())) {
        Ok(now) => clock.last.fetch_max(now, Ordering::Relaxed).max(now),
        Err(_) => clock.last.load(Ordering::Relaxed),
    }
}

pub(crate) fn raw_executor(concurrency: i32, given: &Given<Box<dyn Executor>>) -> sys::hr_executor {
    sys::hr_executor {
        context: given.context(),
        concurrency,
        parallel_for: Some(parallel_for),
        release: Some(release_of(given)),
        ..Default::default()
    }
}

/// The tasks of one call, each of which runs once, whatever an executor does.
struct Tasks {
    begun: Vec<AtomicBool>,
    run: unsafe extern "C" fn(*mut c_void, c_int),
    context: *mut c_void,
}

// SAFETY: the library allows the tasks to run on several threads.
unsafe impl Sync for Tasks {}

impl Tasks {
    fn run(&self, task: i32) {
        let begun = usize::try_from(task).ok().and_then(|task| self.begun.get(task));
        if begun.is_some_and(|begun| !begun.swap(true, Ordering::Relaxed)) {
            // SAFETY: the task exists and has not run; the call of `parallel_for` goes on.
            unsafe { (self.run)(self.context, task) }
        }
    }
}

unsafe extern "C" fn parallel_for(
    context: *mut c_void,
    tasks: i32,
    threads: i32,
    run: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    run_context: *mut c_void,
) {
    // SAFETY: the context is the `Given` of `raw_executor`.
    let executor = unsafe { object::<Box<dyn Executor>>(context) };
    let Some(run) = run else { return };
    let begun = (0..tasks).map(|_| AtomicBool::new(false)).collect();
    let all = Tasks { begun, run, context: run_context };
    let _ = caught("the executor", || executor.run(tasks, threads, &|task| all.run(task)));
    for task in 0..tasks {
        all.run(task);
    }
}
