//! Envs: the allocator, log, clock, threads and devices that models and sessions share.
use std::fmt;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use headrace_sys as sys;

use crate::graph::path_text;
use crate::host::{release, Given};
use crate::raw::{c_text, check, made, text_of, text_pointer, Owned};
use crate::services::{self, Allocator, Executor, LogLevel};
use crate::{Code, Error, Operator, OperatorDef, Result};

/// What a program's models, sessions, data sets and groups share. Everything keeps its env alive,
/// so the order of drops is free. Clones are the same env. Two envs are independent of each other.
///
/// ```
/// let env = headrace::Env::new()?;
/// assert!(env.describe()?.contains("devices"));
/// # Ok::<(), headrace::Error>(())
/// ```
#[derive(Clone)]
pub struct Env(Arc<Owned<sys::hr_env>>);

impl Env {
    /// Makes an env with defaults: memory of the system, one thread per processor, no log.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Says how an env is made.
    pub fn builder() -> EnvBuilder {
        EnvBuilder::default()
    }

    /// Loads a plugin, such as "cuda", or a path with a slash. It must be loaded before the env's
    /// first model or group. [`Code::UNAVAILABLE`]: the plugin, or a driver that it needs, is
    /// missing; the env remains usable.
    pub fn load_plugin(&self, name_or_path: &str) -> Result<()> {
        let name = c_text(name_or_path)?;
        // SAFETY: both live during the call.
        check(unsafe { sys::hr_env_load_plugin(self.raw(), name.as_ptr()) })
    }

    /// Adds an operator of your own, before the env's first model. A program adds it before it
    /// loads a file that uses it.
    pub fn add_operator(&self, def: &OperatorDef, operator: impl Operator) -> Result<()> {
        crate::operator::add(self, def, operator)
    }

    /// Describes devices, plugins, threads, transports and operators as JSON.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: the env lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_env_describe(self.raw(), out) })
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_env {
        self.0.get()
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env")
    }
}

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;
type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// Makes an [`Env`].
///
/// What is given to an env is dropped when the env and everything that keeps it is gone, on the
/// thread that drops the last of them; an allocator also waits for the last tensor that came from
/// it.
#[derive(Default)]
pub struct EnvBuilder {
    threads: i32,
    allocator: Option<Box<dyn Allocator>>,
    log: Option<Log>,
    clock: Option<Clock>,
    executor: Option<Box<dyn Executor>>,
    cost_table: Option<PathBuf>,
}

impl EnvBuilder {
    /// The thread budget: however many sessions and threads run, no more threads compute. 0: one
    /// per processor. An executor has its own.
    #[must_use]
    pub fn threads(mut self, threads: i32) -> Self {
        self.threads = threads;
        self
    }

    /// Memory of tensors, arenas and plans comes from this allocator.
    #[must_use]
    pub fn allocator(mut self, allocator: impl Allocator) -> Self {
        self.allocator = Some(Box::new(allocator));
        self
    }

    /// Log messages go to this function, which any thread may call. A panic in it drops the
    /// message.
    #[must_use]
    pub fn log(mut self, write: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(write));
        self
    }

    /// Deadlines are measured by this monotonic clock, which any thread may ask. If it panics, the
    /// time stands still.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(now));
        self
    }

    /// Kernels run on the threads of this executor.
    #[must_use]
    pub fn executor(mut self, executor: impl Executor) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }

    /// Layouts and kernels of convolutions are chosen by this file, which `headrace roof --costs`
    /// has measured on this machine.
    #[must_use]
    pub fn cost_table(mut self, file: impl Into<PathBuf>) -> Self {
        self.cost_table = Some(file.into());
        self
    }

    /// Makes the env. [`Code::FAILED_PRECONDITION`]: the library that was loaded does not fit the
    /// one that this crate was written for.
    pub fn build(self) -> Result<Env> {
        check_version(sys::HR_API_VERSION, library_version())?;
        let cost_table = self.cost_table.as_deref().map(path_text).transpose()?;
        let allocator = self.allocator.map(Given::new);
        let log = self.log.map(Given::new);
        let clock = self.clock.map(|clock| Given::new(services::Clock::new(clock)));
        let executor = self.executor.map(|one| (one.concurrency(), Given::new(one)));
        let raw_allocator = allocator.as_ref().map(services::raw_allocator);
        let raw_log = log.as_ref().map(services::raw_log);
        let raw_clock = clock.as_ref().map(services::raw_clock);
        let raw_executor =
            executor.as_ref().map(|(width, one)| services::raw_executor(*width, one));
        let options = sys::hr_env_options {
            allocator: pointer(&raw_allocator),
            log: pointer(&raw_log),
            clock: pointer(&raw_clock),
            executor: pointer(&raw_executor),
            threads: self.threads,
            cost_table: text_pointer(&cost_table),
            ..Default::default()
        };
        // SAFETY: the options live during the call, which copies them.
        let env = made(|out| unsafe { sys::hr_env_create(&options, out) })?;
        taken(allocator);
        taken(log);
        taken(clock);
        taken(executor.map(|(_, one)| one));
        Ok(Env(Arc::new(env)))
    }
}

impl fmt::Debug for EnvBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvBuilder").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// The release of a service's context is that of its type.
pub(crate) fn release_of<T: Send>(
    _given: &Given<T>,
) -> unsafe extern "C" fn(*mut std::ffi::c_void) {
    release::<T>
}

fn taken<T: Send>(given: Option<Given<T>>) {
    if let Some(given) = given {
        given.taken();
    }
}

fn pointer<T>(value: &Option<T>) -> *const T {
    value.as_ref().map_or(ptr::null(), ptr::from_ref)
}

/// The version of the interface of the library that was loaded: 10000 · major + 100 · minor.
pub fn library_version() -> u32 {
    // SAFETY: the function has no conditions.
    unsafe { sys::hr_api_version() }
}

/// The library's version and what the build contains, such as "0.1.0 +onednn".
pub fn version_text() -> String {
    // SAFETY: the text is static.
    unsafe { crate::raw::copied(sys::hr_version_text()) }
}

/// A program can use a library of the same major version that is not older.
fn check_version(wanted: u32, found: u32) -> Result<()> {
    if wanted / 10000 == found / 10000 && wanted <= found {
        return Ok(());
    }
    let text = |version: u32| format!("{}.{}", version / 10000, version / 100 % 100);
    let advice = if wanted / 10000 > found / 10000 || wanted > found {
        "install a newer library"
    } else {
        "use a newer version of the crate, or install an older library"
    };
    Err(Error::new(
        Code::FAILED_PRECONDITION,
        format!(
            "this program was built for version {} of Headrace's interface and has loaded a \
             library of version {}; {advice}",
            text(wanted),
            text(found)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_library_of_the_same_major_version_fits() {
        assert!(check_version(10100, 10100).is_ok());
        assert!(check_version(10100, 10200).is_ok());
    }

    #[test]
    fn other_libraries_are_refused_with_both_versions() {
        let older = check_version(10200, 10100).unwrap_err();
        assert_eq!(older.code(), Code::FAILED_PRECONDITION);
        assert!(older.message().contains("version 1.2 of"), "{older}");
        assert!(older.message().contains("library of version 1.1; install a newer"), "{older}");
        let newer = check_version(10100, 20000).unwrap_err();
        assert!(newer.message().contains("a newer version of the crate"), "{newer}");
    }
}
