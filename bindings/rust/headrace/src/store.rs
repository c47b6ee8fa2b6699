//! Stores, through which the ranks of a group find each other.
use std::ffi::{c_char, c_void};
use std::fmt;

use headrace_sys as sys;

use crate::error::caught_status;
use crate::host::{object, release, Given};
use crate::raw::{array, c_text, copied, made, optional_text, text_of, text_pointer, Owned};
use crate::{Env, Result};

/// A small key-value store. Groups keep their store alive.
pub struct Store(Owned<sys::hr_store>);

/// How a store is opened.
#[derive(Clone, Default, Debug)]
pub struct StoreOptions {
    /// This process keeps the store, for as long as the handle or a group that uses it lives. PORT
    /// may be 0 then, which means any free port.
    pub serve: bool,
    /// TCP may leave this host without a secret.
    pub trusted_fabric: bool,
    /// The cluster secret. None: as for groups; "": none.
    pub secret: Option<String>,
}

impl Store {
    /// Opens a store: "tcp:HOST:PORT", "file:FOLDER" or "memory:".
    pub fn open(env: &Env, url: &str) -> Result<Self> {
        let url = c_text(url)?;
        // SAFETY: the text lives during the call, and `out` is written.
        made(|out| unsafe { sys::hr_store_open(env.raw(), url.as_ptr(), out) }).map(Self)
    }

    /// Opens a store with options.
    pub fn open_with(env: &Env, url: &str, options: &StoreOptions) -> Result<Self> {
        let (url, secret) = (c_text(url)?, optional_text(options.secret.as_deref())?);
        let raw = sys::hr_store_options {
            serve: options.serve.into(),
            trusted_fabric: options.trusted_fabric.into(),
            secret: text_pointer(&secret),
            ..Default::default()
        };
        // SAFETY: the texts live during the call, and `out` is written.
        made(|out| unsafe { sys::hr_store_open_with(env.raw(), url.as_ptr(), &raw, out) }).map(Self)
    }

    /// Makes a store of a back end of yours.
    pub fn from_backend(backend: impl StoreBackend) -> Result<Self> {
        let given = Given::new(Box::new(backend) as Box<dyn StoreBackend>);
        let callbacks = sys::hr_store_callbacks {
            context: given.context(),
            get: Some(get),
            compare_and_swap: Some(compare_and_swap),
            remove: Some(remove),
            release: Some(release::<Box<dyn StoreBackend>>),
            ..Default::default()
        };
        // SAFETY: the library copies the struct, and `out` is written.
        let made = made(|out| unsafe { sys::hr_store_from_callbacks(&callbacks, out) })?;
        given.taken();
        Ok(Self(made))
    }

    /// The URL with which other processes open the store; "" if they cannot.
    pub fn url(&self) -> Result<String> {
        // SAFETY: the store lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_store_url(self.raw(), out) })
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_store {
        self.0.get()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({:?})", self.url().unwrap_or_default())
    }
}

/// A store of yours. Any thread may call the functions, several at a time. A failure or a panic
/// comes back from the call that needed the store.
pub trait StoreBackend: Send + Sync + 'static {
    /// Returns the value of a key, if it exists.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;

    /// Sets the key to `desired` if its value is `expected`, or if it does not exist and `expected`
    /// is None; atomically for all ranks. Returns whether it was set.
    fn compare_and_swap(&self, key: &str, expected: Option<&[u8]>, desired: &[u8]) -> Result<bool>;

    /// Removes the key, if it exists.
    fn remove(&self, key: &str) -> Result<()>;
}

unsafe extern "C" fn get(
    context: *mut c_void,
    key: *const c_char,
    value: *mut c_char,
    capacity: usize,
    out_size: *mut i64,
) -> *mut sys::hr_status {
    caught_status("'get' of the store", || {
        // SAFETY: the context is the `Given` of `from_backend`; the key lives during the call.
        let (backend, key) = unsafe { (object::<Box<dyn StoreBackend>>(context), copied(key)) };
        let found = backend.get(&key)?;
        // SAFETY: the memory has that capacity, and the size may be written.
        unsafe {
            *out_size = found.as_ref().map_or(-1, |bytes| bytes.len() as i64);
            let bytes = found.unwrap_or_default();
            let fits = bytes.len().min(capacity);
            if fits > 0 {
                value.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), fits);
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn compare_and_swap(
    context: *mut c_void,
    key: *const c_char,
    expected: *const c_char,
    expected_size: usize,
    desired: *const c_char,
    desired_size: usize,
    out_swapped: *mut i32,
) -> *mut sys::hr_status {
    caught_status("'compare_and_swap' of the store", || {
        // SAFETY: the context is the `Given` of `from_backend`; the rest lives during the call.
        unsafe {
            let (backend, key) = (object::<Box<dyn StoreBackend>>(context), copied(key));
            let wanted = (!expected.is_null()).then(|| array(expected.cast::<u8>(), expected_size));
            let desired = array(desired.cast::<u8>(), desired_size);
            *out_swapped = backend.compare_and_swap(&key, wanted, desired)?.into();
        }
        Ok(())
    })
}

unsafe extern "C" fn remove(context: *mut c_void, key: *const c_char) -> *mut sys::hr_status {
    caught_status("'remove' of the store", || {
        // SAFETY: the context is the `Given` of `from_backend`; the key lives during the call.
        let (backend, key) = unsafe { (object::<Box<dyn StoreBackend>>(context), copied(key)) };
        backend.remove(&key)
    })
}
