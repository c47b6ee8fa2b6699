//! Options of groups.
use std::time::Duration;

use headrace_sys as sys;

use crate::limits::nanos;
use crate::raw::{optional_text, text_pointer};
use crate::{Result, Store};

/// How a group is made. The default takes everything from the environment.
#[derive(Clone, Default, Debug)]
pub struct GroupOptions<'a> {
    /// The rank of this process, if `size` is not 0.
    pub rank: i32,
    /// 0: rank, size, epoch, and the store if none is given, come from the environment.
    pub size: i32,
    /// Of the job; each restart of all ranks needs a new one.
    pub epoch: u64,
    /// Must be unique among the groups of one store and epoch. None: "world".
    pub name: Option<&'a str>,
    /// The store. None: the one that `store_url` names.
    pub store: Option<&'a Store>,
    /// As for [`Store::open`], if there is no store.
    pub store_url: Option<&'a str>,
    /// The transports that may be used, such as "shm,tcp". None: all.
    pub transport: Option<&'a str>,
    /// The numeric address of this host where TCP listens.
    pub address: Option<&'a str>,
    /// TCP may leave this host without a secret, in plain text.
    pub trusted_fabric: bool,
    /// The timeout of calls that are given no limits. None: 10 minutes.
    pub timeout: Option<Duration>,
    /// Calls that are given no limits wait for ever.
    pub no_timeout: bool,
    /// A peer that sends nothing for so long counts as dead. None: 10 seconds.
    pub silence: Option<Duration>,
    /// Fixes algorithms, such as "all_reduce=ring"; the same on all ranks.
    pub algorithms: Option<&'a str>,
    /// The folder of the flight recorder.
    pub dump_folder: Option<&'a str>,
    /// The cluster secret, the same on all ranks: at least 16 bytes. "": none.
    pub secret: Option<&'a str>,
    /// The path of a file of `headrace comm calibrate`. "": built-in costs.
    pub calibration: Option<&'a str>,
}

impl GroupOptions<'_> {
    pub(crate) fn with_raw<R>(
        &self,
        call: impl FnOnce(*const sys::hr_group_options) -> Result<R>,
    ) -> Result<R> {
        let name = optional_text(self.name)?;
        let store_url = optional_text(self.store_url)?;
        let transport = optional_text(self.transport)?;
        let address = optional_text(self.address)?;
        let algorithms = optional_text(self.algorithms)?;
        let dump_folder = optional_text(self.dump_folder)?;
        let secret = optional_text(self.secret)?;
        let calibration = optional_text(self.calibration)?;
        call(&sys::hr_group_options {
            rank: self.rank,
            size: self.size,
            epoch: self.epoch,
            name: text_pointer(&name),
            store: self.store.map_or(std::ptr::null_mut(), Store::raw),
            store_url: text_pointer(&store_url),
            transport: text_pointer(&transport),
            address: text_pointer(&address),
            trusted_fabric: self.trusted_fabric.into(),
            timeout_nanos: if self.no_timeout { -1 } else { self.timeout.map_or(0, nanos) },
            silence_nanos: self.silence.map_or(0, nanos),
            algorithms: text_pointer(&algorithms),
            dump_folder: text_pointer(&dump_folder),
            secret: text_pointer(&secret),
            calibration: text_pointer(&calibration),
            ..Default::default()
        })
    }
}
