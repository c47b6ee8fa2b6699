//! Data sets.
use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;

use headrace_sys as sys;

use crate::error::caught_status;
use crate::graph::path_text;
use crate::host::{object, release, Given};
use crate::limits::{made_within, within};
use crate::raw::{
    c_text, check, copied_or_none, made, optional_text, text_of, text_pointer, Owned, Texts,
};
use crate::{Code, DType, Element, Env, Error, Limits, Result, Session, Tensor};

/// How a data set makes its batches.
#[derive(Clone, Debug, Default)]
pub struct DataSetOptions {
    /// Examples in a batch of this shard; 0: 32.
    pub batch: i64,
    /// Epochs in a pass; 0: 1; -1: forever.
    pub repeat: i64,
    /// A new order in each epoch.
    pub shuffle: bool,
    /// Leave out a last batch that is smaller.
    pub drop_remainder: bool,
    /// Of the order.
    pub seed: u64,
    /// The number of batches that a thread reads ahead.
    pub prefetch: i64,
    /// Which shard this is, from 0 to `shard_count` - 1.
    pub shard_index: i32,
    /// 0: 1.
    pub shard_count: i32,
}

impl DataSetOptions {
    fn raw(options: Option<&Self>) -> sys::hr_dataset_options {
        let options = options.cloned().unwrap_or_default();
        sys::hr_dataset_options {
            batch: options.batch,
            repeat: options.repeat,
            shuffle: options.shuffle.into(),
            drop_remainder: options.drop_remainder.into(),
            seed: options.seed,
            prefetch: options.prefetch,
            shard_index: options.shard_index,
            shard_count: options.shard_count,
            ..Default::default()
        }
    }
}

/// Where [`DataSet::cache`] keeps examples.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cache<'a> {
    /// A file that later processes use, too. None: memory.
    pub path: Option<&'a Path>,
    /// What the examples depend on beside files: a file of another key is made anew. Needed for a
    /// file of tensors, of a [`Source`], or of a session.
    pub key: Option<&'a str>,
    /// How the new data set is drawn. None: as the old one.
    pub options: Option<&'a DataSetOptions>,
}

/// A source of batches, which are a tensor for each of its named fields. One thread at a time uses
/// it: another one, or a function of a [`Source`], gets
/// [`Code::FAILED_PRECONDITION`](crate::Code::FAILED_PRECONDITION).
///
/// ```
/// # use headrace::{DataSet, DataSetOptions, Env, Tensor};
/// let env = Env::new()?;
/// let x = Tensor::from_vec((0..6).map(|i| i as f32).collect(), &[6])?;
/// let options = DataSetOptions { batch: 4, ..Default::default() };
/// let data = DataSet::from_tensors(&env, &[("x", &x)], Some(&options))?;
/// let sizes: Vec<usize> = data.iter().map(|batch| batch.map(|fields| fields[0].len())).collect::<Result<_, _>>()?;
/// assert_eq!(sizes, [4, 2]);
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct DataSet(Owned<sys::hr_dataset>);

impl DataSet {
    /// Opens a data set of files, such as `"idx:fashion-mnist/train?batch=64&shuffle=1&seed=7"`.
    pub fn open(env: &Env, uri: &str) -> Result<Self> {
        let uri = c_text(uri)?;
        // SAFETY: the text lives during the call, and `out` is written.
        made(|out| unsafe { sys::hr_dataset_open(env.raw(), uri.as_ptr(), out) }).map(Self)
    }

    /// Makes a data set of tensors, one for each field, whose memory it shares. The first dimension
    /// counts the examples.
    pub fn from_tensors(
        env: &Env,
        fields: &[(&str, &Tensor)],
        options: Option<&DataSetOptions>,
    ) -> Result<Self> {
        fields.iter().for_each(|(_, tensor)| tensor.share());
        let names = Texts::new(fields.iter().map(|(name, _)| *name))?;
        let tensors: Vec<_> = fields.iter().map(|(_, tensor)| tensor.raw().cast_const()).collect();
        let options = DataSetOptions::raw(options);
        // SAFETY: the arrays have as many entries as there are fields.
        made(|out| unsafe {
            let (count, names) = (names.len(), names.as_ptr());
            sys::hr_dataset_from_tensors(env.raw(), count, names, tensors.as_ptr(), &options, out)
        })
        .map(Self)
    }

    /// Makes a data set of a source of yours. `shuffle` must be off and `seed` is ignored: the
    /// source decides about the order of an epoch.
    pub fn from_source(
        env: &Env,
        fields: &[Field<'_>],
        source: impl Source,
        options: Option<&DataSetOptions>,
    ) -> Result<Self> {
        let (seekable, examples) = (source.can_seek(), source.examples());
        let declared: Vec<_> = fields.iter().map(|field| field.dtype).collect();
        let given = Given::new(Hosted { source: Mutex::new(Box::new(source)), declared });
        let callbacks = sys::hr_dataset_callbacks {
            context: given.context(),
            next: Some(next),
            seek: if seekable { Some(seek) } else { None },
            release: Some(release::<Hosted>),
            examples: examples.unwrap_or(-1),
            ..Default::default()
        };
        let names = fields.iter().map(|field| c_text(field.name)).collect::<Result<Vec<_>>>()?;
        let raw: Vec<_> = fields
            .iter()
            .zip(&names)
            .map(|(field, name)| sys::hr_dataset_field {
                name: name.as_ptr(),
                dtype: field.dtype.0,
                rank: field.shape.len(),
                dims: field.shape.as_ptr(),
                ..Default::default()
            })
            .collect();
        let options = DataSetOptions::raw(options);
        // SAFETY: all of them live during the call, which copies the structs.
        let made = made(|out| unsafe {
            let (env, count, fields) = (env.raw(), raw.len(), raw.as_ptr());
            sys::hr_dataset_from_callbacks(env, &callbacks, count, fields, &options, out)
        })?;
        given.taken();
        Ok(Self(made))
    }

    /// Makes a data set of what a signature of the session's model makes of the examples: its inputs
    /// are fields, its outputs take their place. It sees a batch at a time, of any size, and each
    /// example must depend on nothing else. A new data set of a [`Source`] draws from this one,
    /// which nobody else may use any more.
    pub fn map(
        &self,
        session: &Session,
        signature: &str,
        limits: Option<&Limits<'_>>,
    ) -> Result<Self> {
        let signature = c_text(signature)?;
        // SAFETY: all of them live during the call.
        made_within(limits, |limits, out| unsafe {
            sys::hr_dataset_map(self.raw(), session.raw(), signature.as_ptr(), limits, out)
        })
        .map(Self)
    }

    /// Makes a data set of the examples for which the only output of the signature, a bool for each,
    /// is true. Reads all examples once.
    pub fn filter(
        &self,
        session: &Session,
        signature: &str,
        limits: Option<&Limits<'_>>,
    ) -> Result<Self> {
        let signature = c_text(signature)?;
        // SAFETY: all of them live during the call.
        made_within(limits, |limits, out| unsafe {
            sys::hr_dataset_filter(self.raw(), session.raw(), signature.as_ptr(), limits, out)
        })
        .map(Self)
    }

    /// Reads all examples once, and makes a data set of what it has kept, in memory or in a file.
    pub fn cache(&self, cache: &Cache<'_>, limits: Option<&Limits<'_>>) -> Result<Self> {
        let path = cache.path.map(path_text).transpose()?;
        let key = optional_text(cache.key)?;
        let options = cache.options.map(|options| DataSetOptions::raw(Some(options)));
        let raw = sys::hr_cache_options {
            path: text_pointer(&path),
            key: text_pointer(&key),
            options: options.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            ..Default::default()
        };
        // SAFETY: all of them live during the call.
        made_within(limits, |limits, out| unsafe {
            sys::hr_dataset_cache(self.raw(), &raw, limits, out)
        })
        .map(Self)
    }

    /// Whether the pass is over. It may wait for the next batch to find out; if the limits end
    /// that, or the batch is a failure, it is false, and the next read says why.
    pub fn is_done(&self, limits: Option<&Limits<'_>>) -> bool {
        let mut done = false;
        // SAFETY: the data set lives. The call has no status; a panic counts as the limits' end.
        let asked = within(limits, |limits| unsafe {
            done = sys::hr_dataset_done(self.raw(), limits) != 0;
            std::ptr::null_mut()
        });
        asked.is_ok() && done
    }

    /// The number of batches in an epoch, if it is known.
    pub fn batches(&self) -> Option<u64> {
        // SAFETY: the data set lives.
        u64::try_from(unsafe { sys::hr_dataset_batches(self.raw()) }).ok()
    }

    /// Begins another pass.
    pub fn rewind(&self, limits: Option<&Limits<'_>>) -> Result<()> {
        // SAFETY: the data set lives.
        within(limits, |limits| unsafe { sys::hr_dataset_rewind(self.raw(), limits) })
    }

    /// The names of the fields.
    pub fn fields(&self) -> Vec<String> {
        // SAFETY: the data set lives, and so do its texts.
        unsafe {
            (0..sys::hr_dataset_field_count(self.raw()))
                .filter_map(|i| copied_or_none(sys::hr_dataset_field_name(self.raw(), i)))
                .collect()
        }
    }

    /// Reads the next batch: a tensor for each field. None: the pass is over.
    pub fn next(&self, limits: Option<&Limits<'_>>) -> Result<Option<Vec<Tensor>>> {
        // SAFETY: the data set lives.
        let count = unsafe { sys::hr_dataset_field_count(self.raw()) };
        let mut out = vec![std::ptr::null_mut(); count];
        // SAFETY: there is an entry for each field.
        let read = within(limits, |limits| unsafe {
            sys::hr_dataset_next(self.raw(), limits, out.as_mut_ptr())
        });
        match read {
            // The batch may share the memory of the data set.
            Ok(()) => Ok(Some(crate::session::tensors_of(out, true))),
            Err(error) if error.code() == Code::OUT_OF_RANGE => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The rest of the pass, batch by batch.
    pub fn iter(&self) -> Batches<'_> {
        Batches { data: self, failed: false }
    }

    /// Renames a field, so that it is fed to the input of that name.
    pub fn rename(&self, field: &str, name: &str) -> Result<()> {
        let (field, name) = (c_text(field)?, c_text(name)?);
        // SAFETY: the texts live during the call.
        check(unsafe { sys::hr_dataset_rename(self.raw(), field.as_ptr(), name.as_ptr()) })
    }

    /// Describes the data set as JSON.
    pub fn describe(&self) -> Result<String> {
        // SAFETY: the data set lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_dataset_describe(self.raw(), out) })
    }

    /// The position as JSON, which counts examples. Another data set of the same data can go on
    /// from it, also with another batch or other shards.
    pub fn position(&self) -> Result<String> {
        // SAFETY: the data set lives, and `out` is written.
        text_of(|out| unsafe { sys::hr_dataset_position(self.raw(), out) })
    }

    /// Goes to a position.
    pub fn seek(&self, position: &str, limits: Option<&Limits<'_>>) -> Result<()> {
        let position = c_text(position)?;
        within(limits, |limits| {
            // SAFETY: the text lives during the call.
            unsafe { sys::hr_dataset_seek(self.raw(), position.as_ptr(), limits) }
        })
    }

    /// Goes on, from the present position, as shard `index` of `count`.
    pub fn reshard(&self, index: i64, count: i64, limits: Option<&Limits<'_>>) -> Result<()> {
        within(limits, |limits| {
            // SAFETY: the data set lives.
            unsafe { sys::hr_dataset_reshard(self.raw(), index, count, limits) }
        })
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_dataset {
        self.0.get()
    }
}

impl fmt::Debug for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataSet").field("fields", &self.fields()).finish()
    }
}

/// The batches of a pass. After a failure there are none.
#[derive(Debug)]
pub struct Batches<'a> {
    data: &'a DataSet,
    failed: bool,
}

impl Iterator for Batches<'_> {
    type Item = Result<Vec<Tensor>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let batch = self.data.next(None).transpose();
        self.failed = matches!(batch, Some(Err(_)));
        batch
    }
}

impl<'a> IntoIterator for &'a DataSet {
    type Item = Result<Vec<Tensor>>;
    type IntoIter = Batches<'a>;

    fn into_iter(self) -> Batches<'a> {
        self.iter()
    }
}

/// A field of a data set of yours. `shape` is the largest shape of a batch; a dimension of -1
/// differs between batches.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Field<'a> {
    pub name: &'a str,
    pub dtype: DType,
    pub shape: &'a [i64],
}

/// What makes the batches of a data set of yours. One thread at a time calls the functions: the one
/// that needs a batch, or a thread of the library that reads ahead. They must not use the data set.
/// A failure or a panic comes back from the call that needed the batch.
pub trait Source: Send + 'static {
    /// Makes the next batch of `examples` examples, and returns false if the epoch is over instead.
    /// A batch may have fewer examples, but at least one, if there are no shards.
    fn next(&mut self, examples: usize, batch: &mut Batch<'_>) -> Result<bool>;

    /// Makes the next batch begin with an example of an epoch, if `can_seek` is true.
    fn seek(&mut self, _epoch: i64, _first_example: i64) -> Result<()> {
        Err(Error::new(Code::UNIMPLEMENTED, "the data set can be read once, from its beginning"))
    }

    /// Whether `seek` can be called. A data set that cannot has one pass, and no shards.
    fn can_seek(&self) -> bool {
        false
    }

    /// The exact number of examples in an epoch, if it is known.
    fn examples(&self) -> Option<i64> {
        None
    }
}

/// A batch to be made: fill the memory of a field, or set a tensor of your own.
pub struct Batch<'a> {
    fields: &'a mut [*mut sys::hr_tensor],
    declared: &'a [DType],
}

impl Batch<'_> {
    /// The memory of a field, if all its dimensions are known: [`set`](Self::set) it otherwise, or
    /// if the batch is smaller. It is zero at first.
    pub fn field<T: Element>(&mut self, index: usize) -> Result<&mut [T]> {
        let raw = self.slot(index)?;
        if raw.is_null() {
            let message =
                format!("field {index} has an unknown dimension, so `set` a tensor of it");
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        if self.declared[index] != T::DTYPE {
            let message = format!("field {index} is of {}, not {}", self.declared[index], T::DTYPE);
            return Err(Error::new(Code::INVALID_ARGUMENT, message));
        }
        // SAFETY: the tensor lives during the call of the source, is contiguous and of this type,
        // and nobody else uses it. `next` has written the memory.
        unsafe {
            let data = sys::hr_tensor_data(raw).cast::<T>();
            let count = sys::hr_tensor_elements(raw) as usize;
            if count == 0 {
                return Ok(&mut []);
            }
            Ok(std::slice::from_raw_parts_mut(data, count))
        }
    }

    /// Gives a tensor for a field.
    pub fn set(&mut self, index: usize, tensor: Tensor) -> Result<()> {
        let old = self.slot(index)?;
        // SAFETY: the slot belongs to the source during the call.
        drop(unsafe { Owned::from_raw(old) });
        tensor.share();
        self.fields[index] = tensor.into_raw();
        Ok(())
    }

    fn slot(&self, index: usize) -> Result<*mut sys::hr_tensor> {
        self.fields.get(index).copied().ok_or_else(|| {
            let message = format!("there is no field {index}, but {}", self.fields.len());
            Error::new(Code::OUT_OF_RANGE, message)
        })
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("fields", &self.declared).finish()
    }
}

struct Hosted {
    source: Mutex<Box<dyn Source>>,
    declared: Vec<DType>,
}

/// Writes the memory of a tensor of the library, since Rust reads no memory that nobody has written.
fn clear(tensor: *mut sys::hr_tensor) {
    // SAFETY: the tensor is NULL, or lives and has that many bytes.
    unsafe {
        if !tensor.is_null() && sys::hr_tensor_elements(tensor) > 0 {
            let bytes = sys::hr_tensor_bytes(tensor);
            sys::hr_tensor_data(tensor).cast::<u8>().write_bytes(0, bytes);
        }
    }
}

unsafe extern "C" fn next(
    context: *mut c_void,
    examples: i64,
    field_count: usize,
    out: *mut *mut sys::hr_tensor,
    out_end: *mut i32,
) -> *mut sys::hr_status {
    caught_status("'next' of the data set", || {
        // SAFETY: the context is the `Given` of `from_source`; the array has that many entries.
        let (hosted, fields) = unsafe {
            let fields = if field_count == 0 {
                &mut []
            } else {
                std::slice::from_raw_parts_mut(out, field_count)
            };
            (object::<Hosted>(context), fields)
        };
        fields.iter().for_each(|field| clear(*field));
        let mut batch = Batch { fields, declared: &hosted.declared };
        let mut source = hosted.source.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let more = source.next(usize::try_from(examples).unwrap_or(0), &mut batch)?;
        // SAFETY: the number may be written.
        unsafe { *out_end = i32::from(!more) };
        Ok(())
    })
}

unsafe extern "C" fn seek(
    context: *mut c_void,
    epoch: i64,
    first_example: i64,
) -> *mut sys::hr_status {
    caught_status("'seek' of the data set", || {
        // SAFETY: the context is the `Given` of `from_source`.
        let hosted = unsafe { object::<Hosted>(context) };
        let mut source = hosted.source.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        source.seek(epoch, first_example)
    })
}
