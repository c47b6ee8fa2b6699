//! Models: loaded, verified, immutable graphs.
use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Mutex;

use headrace_sys as sys;

use crate::error::caught;
use crate::graph::path_text;
use crate::host::{release, Given};
use crate::limits::made_within;
use crate::raw::{c_text, made, optional_text, text_of, text_pointer, text_string, Owned};
use crate::{Env, Error, Limits, Result};

/// How a model is loaded.
#[derive(Clone, Copy, Default, Debug)]
pub struct LoadOptions {
    /// Read the file into memory instead of mapping it: slower, but safe if somebody truncates it.
    pub read_whole_file: bool,
    /// Verify the checksums of the tensors.
    pub verify_checksums: bool,
    /// Load a model even if it has unknown operators. It can be described and viewed.
    pub inspect_only: bool,
}

impl LoadOptions {
    fn raw(options: Option<&Self>) -> sys::hr_load_options {
        let options = options.copied().unwrap_or_default();
        sys::hr_load_options {
            read_whole_file: options.read_whole_file.into(),
            verify_checksums: options.verify_checksums.into(),
            inspect_only: options.inspect_only.into(),
            ..Default::default()
        }
    }
}

/// How a model of another format is converted.
#[derive(Clone, Copy, Default, Debug)]
pub struct ConvertOptions {
    /// Weights become constants instead of variables.
    pub constants: bool,
    /// Constants are computed, and copies and what no output needs go.
    pub simplify: bool,
}

/// How a model is written in another format.
#[derive(Clone, Copy, Default, Debug)]
pub struct ExportOptions<'a> {
    /// Tensors go to a file beside the model. Otherwise they do so only if they must.
    pub external_data: bool,
    /// The signature that is written. None: "infer", or the only one.
    pub signature: Option<&'a str>,
}

/// A file of the host, for [`Model::load_from`].
pub trait ModelReader: Send {
    /// The bytes of the file.
    fn size(&self) -> u64;
    /// Fills `out` with the bytes at `offset`.
    fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<()>;
}

/// Which nodes a view shows.
#[derive(Clone, Copy, Default, Debug)]
pub struct GraphView<'a> {
    /// What this signature needs of the main graph. None: all nodes.
    pub signature: Option<&'a str>,
    /// 0: the main graph; others have the numbers of [`Model::describe`].
    pub graph: u32,
}

/// A loaded and verified graph. Immutable; any number of sessions and threads share it.
pub struct Model(Owned<sys::hr_model>);

impl Model {
    /// Maps a `.hrg` file and verifies its structure, without reading the weights.
    pub fn load(env: &Env, path: impl AsRef<Path>, options: Option<&LoadOptions>) -> Result<Self> {
        let (path, options) = (path_text(path.as_ref())?, LoadOptions::raw(options));
        // SAFETY: the path and the options live during the call.
        made(|out| unsafe { sys::hr_model_load(env.raw(), path.as_ptr(), &options, out) }).map(Self)
    }

    /// Loads a model from memory, which it keeps, without a copy.
    pub fn load_memory<B>(env: &Env, data: B, options: Option<&LoadOptions>) -> Result<Self>
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let options = LoadOptions::raw(options);
        // The box keeps the bytes where they are, also if they are part of B itself.
        let data = Box::new(data);
        let bytes = (*data).as_ref();
        let (start, size) = (bytes.as_ptr(), bytes.len());
        let owner = Given::new(data);
        let drop_owner = Some(release::<Box<B>> as unsafe extern "C" fn(*mut c_void));
        // SAFETY: the bytes do not change until the owner is released.
        let model = made(|out| unsafe {
            let context = owner.context();
            sys::hr_model_load_memory(
                env.raw(),
                start.cast(),
                size,
                drop_owner,
                context,
                &options,
                out,
            )
        })?;
        owner.taken();
        Ok(Self(model))
    }

    /// Loads a model through a reader, which is used during the call only.
    pub fn load_from(
        env: &Env,
        reader: impl ModelReader,
        options: Option<&LoadOptions>,
    ) -> Result<Self> {
        let options = LoadOptions::raw(options);
        let total_bytes = caught("the reader", || reader.size())?;
        let file = File { reader: Mutex::new(Box::new(reader)), failure: Mutex::new(None) };
        let raw = sys::hr_reader {
            context: ptr::from_ref(&file).cast_mut().cast(),
            total_bytes,
            read: Some(read),
            release: None,
            ..Default::default()
        };
        // SAFETY: the reader is used during the call only.
        let made =
            made(|out| unsafe { sys::hr_model_load_callback(env.raw(), &raw, &options, out) });
        let failure = file.failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        made.map(Self).map_err(|error| failure.unwrap_or(error))
    }

    /// Converts the model in the file `from`, such as one of ONNX, to the `.hrg` file `to`, and
    /// returns a report as JSON. With `constants` weights become constants instead of variables.
    pub fn convert(
        env: &Env,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        constants: bool,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        Self::convert_with(env, from, to, ConvertOptions { constants, simplify: false }, limits)
    }

    /// As [`convert`](Self::convert), with all options.
    pub fn convert_with(
        env: &Env,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: ConvertOptions,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let (from, to) = (path_text(from.as_ref())?, path_text(to.as_ref())?);
        let options = sys::hr_convert_options {
            constants: options.constants.into(),
            simplify: options.simplify.into(),
            ..Default::default()
        };
        let (from, to) = (from.as_ptr(), to.as_ptr());
        // SAFETY: the paths and the options live during the call.
        let report = made_within(limits, |limits, out| unsafe {
            sys::hr_model_convert(env.raw(), from, to, &options, limits, out)
        })?;
        Ok(text_string(&report))
    }

    /// Writes one signature of the `.hrg` file `from` as a model of another format, such as ONNX,
    /// and returns a report as JSON. It is the inverse of [`convert`](Self::convert).
    pub fn export(
        env: &Env,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: Option<&ExportOptions<'_>>,
        limits: Option<&Limits<'_>>,
    ) -> Result<String> {
        let (from, to) = (path_text(from.as_ref())?, path_text(to.as_ref())?);
        let options = options.copied().unwrap_or_default();
        let signature = optional_text(options.signature)?;
        let raw = sys::hr_export_options {
            external_data: options.external_data.into(),
            signature: text_pointer(&signature),
            ..Default::default()
        };
        let (from, to) = (from.as_ptr(), to.as_ptr());
        // SAFETY: the paths and the options live during the call.
        let report = made_within(limits, |limits, out| unsafe {
            sys::hr_model_export(env.raw(), from, to, &raw, limits, out)
        })?;
        Ok(text_string(&report))
    }

    /// Describes signatures with their types, variables, graphs, operators and metadata as JSON.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: the model lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_model_describe(self.raw(), out) })
    }

    /// Writes the whole main graph with its nodes, as "json" or "dot" (for Graphviz).
    pub fn graph_text(&self, format: &str) -> Result<String> {
        let format = c_text(format)?;
        // SAFETY: the text lives during the call.
        text_of(|out| unsafe { sys::hr_model_graph_text(self.raw(), format.as_ptr(), out) })
    }

    /// Writes a part of the model as [`graph_text`](Self::graph_text) does.
    pub fn view(&self, format: &str, view: &GraphView<'_>) -> Result<String> {
        let (format, signature) = (c_text(format)?, optional_text(view.signature)?);
        let raw = sys::hr_graph_view {
            signature: text_pointer(&signature),
            graph: view.graph,
            ..Default::default()
        };
        // SAFETY: the texts live during the call.
        text_of(|out| unsafe { sys::hr_model_view(self.raw(), format.as_ptr(), &raw, out) })
    }

    /// Describes the parts of a `.hrg` file as JSON: format version, sizes, segments, checksums.
    pub fn describe_file(path: impl AsRef<Path>) -> Result<String> {
        let path = path_text(path.as_ref())?;
        // SAFETY: the path lives during the call.
        text_of(|out| unsafe { sys::hr_model_file_describe(path.as_ptr(), out) })
    }

    pub(crate) fn of(raw: Owned<sys::hr_model>) -> Self {
        Self(raw)
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_model {
        self.0.get()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}

struct File<'a> {
    reader: Mutex<Box<dyn ModelReader + 'a>>,
    failure: Mutex<Option<Error>>,
}

unsafe extern "C" fn read(
    context: *mut c_void,
    offset: u64,
    out: *mut c_void,
    bytes: usize,
) -> *mut sys::hr_status {
    // SAFETY: the context is the `File` of `load_from`, which lives during the load.
    let file = unsafe { &*context.cast::<File<'_>>() };
    if bytes > 0 {
        // Rust reads no memory that nobody has written.
        // SAFETY: the memory has that many bytes, and the library reads it after the call.
        unsafe { out.cast::<u8>().write_bytes(0, bytes) };
    }
    let out = if bytes == 0 {
        &mut []
    } else {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), bytes) }
    };
    let mut reader = file.reader.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match caught("the reader", || reader.read(offset, out)).and_then(|result| result) {
        Ok(()) => ptr::null_mut(),
        Err(error) => {
            let status = error.to_status();
            *file.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
            status
        }
    }
}
