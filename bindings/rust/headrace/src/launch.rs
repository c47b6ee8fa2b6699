//! How a launcher has started this process.
use std::fmt;

use headrace_sys as sys;

use crate::raw::{copied, made, text_of, Owned};
use crate::Result;

/// The rank and size with which a launcher (torchrun, mpirun, Slurm, or Headrace's own variables)
/// has started this process.
pub struct Launch(Owned<sys::hr_launch>);

impl Launch {
    /// Reads the environment. A process that nobody has launched is rank 0 of 1.
    pub fn from_environment() -> Result<Self> {
        // SAFETY: `out` is written.
        made(|out| unsafe { sys::hr_launch_from_environment(out) }).map(Self)
    }

    /// The rank of this process.
    pub fn rank(&self) -> i32 {
        // SAFETY: the launch lives.
        unsafe { sys::hr_launch_rank(self.raw()) }
    }

    /// The number of processes.
    pub fn size(&self) -> i32 {
        // SAFETY: the launch lives.
        unsafe { sys::hr_launch_size(self.raw()) }
    }

    /// The rank among the processes of this host, if it is known.
    pub fn local_rank(&self) -> Option<i32> {
        // SAFETY: the launch lives.
        Some(unsafe { sys::hr_launch_local_rank(self.raw()) }).filter(|rank| *rank >= 0)
    }

    /// The number of processes of this host, if it is known.
    pub fn local_size(&self) -> Option<i32> {
        // SAFETY: the launch lives.
        Some(unsafe { sys::hr_launch_local_size(self.raw()) }).filter(|size| *size > 0)
    }

    /// The number of times that the job has been restarted.
    pub fn epoch(&self) -> u64 {
        // SAFETY: the launch lives.
        unsafe { sys::hr_launch_epoch(self.raw()) }
    }

    /// With how many ranks an elastic job goes on at least; 0 if the job is not elastic.
    pub fn min_ranks(&self) -> i32 {
        // SAFETY: the launch lives.
        unsafe { sys::hr_launch_min_ranks(self.raw()) }
    }

    /// Up to how many ranks an elastic job takes new ones in; 0 if the job is not elastic.
    pub fn max_ranks(&self) -> i32 {
        // SAFETY: the launch lives.
        unsafe { sys::hr_launch_max_ranks(self.raw()) }
    }

    /// The URL of the store where the ranks meet, if it is known.
    pub fn store(&self) -> Option<String> {
        // SAFETY: the launch lives, and so does its text.
        Some(unsafe { copied(sys::hr_launch_store(self.raw())) }).filter(|url| !url.is_empty())
    }

    /// Describes the launch as JSON, with the variable that each value came from.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: the launch lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_launch_describe(self.raw(), out) })
    }

    fn raw(&self) -> *const sys::hr_launch {
        self.0.get()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Launch(rank {} of {})", self.rank(), self.size())
    }
}
