//! Tensors.
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{size_of, size_of_val};
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use headrace_sys as sys;

use crate::graph::path_text;
use crate::host::{release, Given};
use crate::raw::{array, check, made, text_string, Owned};
use crate::{Code, DType, Element, Env, Error, Result};

/// A tensor whose memory is its own: of the library, or of Rust and moved into it.
pub type Tensor = TensorView<'static>;

/// A typed view of memory that lives for `'a`, described as DLPack describes it. [`Tensor`] is the
/// one that owns its memory.
///
/// Elements can be written through [`as_mut_slice`](Self::as_mut_slice) as long as nobody else may
/// use the memory: not after a clone, not once a graph or a data set shares it, and not if it came
/// from memory that is borrowed or from a file. [`to_tensor`](Self::to_tensor) copies.
///
/// ```
/// # use headrace::Tensor;
/// let mut x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// x.as_mut_slice::<f32>()?[3] = 5.0;
/// assert_eq!(x.shape(), [2, 2]);
/// assert_eq!(x.as_slice::<f32>()?, [1.0, 2.0, 3.0, 5.0]);
/// # Ok::<(), headrace::Error>(())
/// ```
pub struct TensorView<'a> {
    raw: Owned<sys::hr_tensor>,
    // Whether somebody else may use the memory.
    shared: AtomicBool,
    _memory: PhantomData<&'a [u8]>,
}

impl Tensor {
    /// Makes a tensor of zeros in memory of the env's allocator.
    pub fn zeros(env: &Env, dtype: DType, shape: &[i64]) -> Result<Self> {
        // SAFETY: the shape lives during the call.
        let raw = made(|out| unsafe {
            sys::hr_tensor_create(env.raw(), dtype.0, shape.len(), shape.as_ptr(), out)
        })?;
        let out = Self::of(raw, false);
        if out.bytes() > 0 {
            // SAFETY: the memory is the tensor's, and has that many bytes.
            unsafe { out.data().write_bytes(0, out.bytes()) };
        }
        Ok(out)
    }

    /// Makes a tensor in memory of the env's allocator and copies the elements.
    pub fn copy_of<T: Element>(env: &Env, data: &[T], shape: &[i64]) -> Result<Self> {
        // SAFETY: the shape and the data live during the call.
        let raw = made(|out| unsafe {
            let data = (data.as_ptr().cast(), size_of_val(data));
            let (rank, dims) = (shape.len(), shape.as_ptr());
            sys::hr_tensor_copy_of(env.raw(), T::DTYPE.0, rank, dims, data.0, data.1, out)
        })?;
        Ok(Self::of(raw, false))
    }

    /// Reads a file with a single tensor, such as a `.pb` of ONNX's test vectors, and gives its name
    /// ("" if it has none).
    pub fn load(env: &Env, path: impl AsRef<Path>) -> Result<(Self, String)> {
        let path = path_text(path.as_ref())?;
        let mut name = std::ptr::null_mut();
        // SAFETY: the path lives during the call, and both are written.
        let raw =
            made(|out| unsafe { sys::hr_tensor_load(env.raw(), path.as_ptr(), out, &mut name) })?;
        // SAFETY: a call that succeeds gives the name to its caller.
        let name = unsafe { Owned::from_raw(name) };
        Ok((Self::of(raw, false), name.map(|text| text_string(&text)).unwrap_or_default()))
    }

    /// Makes a tensor of the vector's memory, without a copy.
    pub fn from_vec<T: Element>(data: Vec<T>, shape: &[i64]) -> Result<Self> {
        let (start, bytes) = (data.as_ptr().cast_mut(), size_of_val(data.as_slice()));
        // SAFETY: the vector keeps its memory where it is until it is released, and nobody else
        // can use it.
        unsafe { Self::owning(data, start.cast(), bytes, T::DTYPE, shape, None) }
    }

    /// Makes a tensor of memory that an owner keeps alive until the last user is gone. Strides count
    /// elements; without them the tensor is contiguous.
    ///
    /// # Safety
    /// The memory has that many bytes until `owner` is dropped, and only the tensor uses it.
    pub(crate) unsafe fn owning<O: Send>(
        owner: O,
        data: *mut c_void,
        bytes: usize,
        dtype: DType,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Result<Self> {
        let owner = Given::new(owner);
        let strides = strides.map_or(std::ptr::null(), <[i64]>::as_ptr);
        let raw = made(|out| {
            let (rank, dims, context) = (shape.len(), shape.as_ptr(), owner.context());
            let drop_owner = Some(release::<O> as unsafe extern "C" fn(*mut c_void));
            // SAFETY: the caller promises the memory; the rest lives during the call.
            unsafe {
                sys::hr_tensor_wrap_strided(
                    dtype.0, rank, dims, strides, data, bytes, drop_owner, context, out,
                )
            }
        })?;
        owner.taken();
        Ok(Self::of(raw, false))
    }

    /// Takes over a managed tensor of DLPack 1.x, without a copy. Elements cannot be written,
    /// because the producer may have them, too. If the call fails, the caller keeps `managed`.
    ///
    /// # Safety
    /// `managed` is valid, the caller owns it, and nobody writes its elements while the tensor or
    /// something that was made with it lives.
    pub unsafe fn from_dlpack(managed: *mut sys::hr_dlpack) -> Result<Self> {
        // SAFETY: the caller promises it.
        let raw = made(|out| unsafe { sys::hr_tensor_from_dlpack(managed, out) })?;
        Ok(Self::of(raw, true))
    }

    /// Makes a managed tensor of DLPack 1.x that shares the memory. The caller calls its `deleter`
    /// once, and must not write its elements while this tensor or a clone lives; no tensor of this
    /// memory can be written from now on.
    pub fn to_dlpack(&self) -> Result<*mut sys::hr_dlpack> {
        self.share();
        let mut out = std::ptr::null_mut();
        // SAFETY: the tensor lives.
        check(unsafe { sys::hr_tensor_to_dlpack(self.raw(), &mut out) })?;
        Ok(out)
    }
}

impl<'a> TensorView<'a> {
    /// Makes a view of borrowed memory, without a copy.
    pub fn from_slice<T: Element>(data: &'a [T], shape: &[i64]) -> Result<Self> {
        // SAFETY: the view keeps the memory borrowed; it is never written, because it is shared.
        unsafe { Self::borrowing(data.as_ptr().cast_mut(), data.len(), shape, true) }
    }

    /// Makes a view of borrowed memory that runs can write to, without a copy.
    pub fn from_mut_slice<T: Element>(data: &'a mut [T], shape: &[i64]) -> Result<Self> {
        // SAFETY: the view keeps the memory borrowed.
        unsafe { Self::borrowing(data.as_mut_ptr(), data.len(), shape, false) }
    }

    /// # Safety
    /// The memory has that many elements for `'a`, and nobody else writes it; if it is not shared,
    /// nobody else uses it.
    unsafe fn borrowing<T: Element>(
        data: *mut T,
        count: usize,
        shape: &[i64],
        shared: bool,
    ) -> Result<Self> {
        let (rank, dims, bytes) = (shape.len(), shape.as_ptr(), count * size_of::<T>());
        let null = std::ptr::null_mut();
        // SAFETY: the caller promises it.
        let raw = made(|out| unsafe {
            sys::hr_tensor_wrap(T::DTYPE.0, rank, dims, data.cast(), bytes, None, null, out)
        })?;
        Ok(Self::of(raw, shared))
    }

    pub(crate) fn of(raw: Owned<sys::hr_tensor>, shared: bool) -> Self {
        Self { raw, shared: AtomicBool::new(shared), _memory: PhantomData }
    }

    pub(crate) fn raw(&self) -> *mut sys::hr_tensor {
        self.raw.get()
    }

    pub(crate) fn into_raw(self) -> *mut sys::hr_tensor {
        self.raw.into_raw()
    }

    /// From now on somebody else may use the memory.
    pub(crate) fn share(&self) {
        self.shared.store(true, Ordering::Relaxed);
    }

    /// Makes another handle of the same memory. From now on neither can write to it.
    pub fn try_clone(&self) -> Result<Self> {
        self.share();
        // SAFETY: the tensor lives.
        let raw = made(|out| unsafe { sys::hr_tensor_share(self.raw(), out) })?;
        Ok(Self::of(raw, true))
    }

    /// Copies the elements to a contiguous tensor in memory of the env's allocator.
    pub fn to_tensor(&self, env: &Env) -> Result<Tensor> {
        self.require_host()?;
        let out = Tensor::zeros(env, self.dtype(), self.shape())?;
        let size = self.dtype().size();
        let target = out.data();
        for (i, offset) in self.offsets().enumerate() {
            // SAFETY: both tensors have the element, which has that many bytes.
            unsafe { target.add(i * size).copy_from(self.data().add(offset * size), size) };
        }
        Ok(out)
    }

    /// The offsets of all elements from the first one, in row-major order, in elements.
    fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        let shape = self.shape();
        let strides = self.strides().map_or_else(|| contiguous(shape), <[i64]>::to_vec);
        (0..self.len()).map(move |mut index| {
            let mut offset = 0;
            for (size, stride) in shape.iter().zip(&strides).rev() {
                offset += index % *size as usize * *stride as usize;
                index /= *size as usize;
            }
            offset
        })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        // SAFETY: the tensor lives.
        DType(unsafe { sys::hr_tensor_dtype(self.raw()) })
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &[i64] {
        // SAFETY: the array has as many entries as the rank and lives as long as the tensor.
        unsafe { array(sys::hr_tensor_dims(self.raw()), sys::hr_tensor_rank(self.raw())) }
    }

    /// The strides in elements; none if the tensor is contiguous.
    pub fn strides(&self) -> Option<&[i64]> {
        // SAFETY: as for `shape`.
        unsafe {
            let strides = sys::hr_tensor_strides(self.raw());
            (!strides.is_null()).then(|| array(strides, sys::hr_tensor_rank(self.raw())))
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        // SAFETY: the tensor lives.
        usize::try_from(unsafe { sys::hr_tensor_elements(self.raw()) }).unwrap_or(0)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all elements together.
    pub fn bytes(&self) -> usize {
        // SAFETY: the tensor lives.
        unsafe { sys::hr_tensor_bytes(self.raw()) }
    }

    /// Whether the elements must not be written, as those of a file.
    pub fn is_read_only(&self) -> bool {
        // SAFETY: the tensor lives.
        unsafe { sys::hr_tensor_read_only(self.raw()) != 0 }
    }

    /// The kind of the device that the memory belongs to, as DLPack's DLDeviceType (1: the host),
    /// and its number among those of the kind.
    pub fn device(&self) -> (i32, i32) {
        let mut ordinal = 0;
        // SAFETY: the tensor lives.
        let kind = unsafe { sys::hr_tensor_device(self.raw(), &mut ordinal) };
        (kind, ordinal)
    }

    /// The address of the first element on the tensor's device.
    pub fn device_data(&self) -> *const c_void {
        // SAFETY: the tensor lives.
        unsafe { sys::hr_tensor_device_data(self.raw()) }
    }

    /// The address of the first element; null if the host cannot access the memory.
    pub fn as_ptr(&self) -> *const u8 {
        self.data()
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the tensor lives.
        unsafe { sys::hr_tensor_data(self.raw()) }.cast()
    }

    /// The elements of a contiguous tensor of the host.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        let data = self.elements::<T>()?;
        // SAFETY: `elements` has checked the type, the place and the values.
        Ok(unsafe { array(data, self.len()) })
    }

    /// The elements of a contiguous tensor of the host, to be written.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.require_writable()?;
        let data = self.elements::<T>()?;
        if self.is_empty() {
            return Ok(&mut []);
        }
        // SAFETY: as in `as_slice`; nobody else uses the memory.
        Ok(unsafe { slice::from_raw_parts_mut(data, self.len()) })
    }

    /// Copies the elements, in row-major order.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if self.strides().is_none() {
            return self.as_slice().map(<[T]>::to_vec);
        }
        let data = self.typed::<T>()?;
        // SAFETY: the offsets lie in the tensor; the check that `T::valid` needs comes below.
        let read = |offset| unsafe {
            slice::from_raw_parts(data.add(offset).cast::<u8>(), size_of::<T>())
        };
        if !self.offsets().all(|offset| T::valid(read(offset))) {
            return Err(invalid::<T>());
        }
        // SAFETY: every element is a value of the type.
        Ok(self.offsets().map(|offset| unsafe { *data.add(offset) }).collect())
    }

    /// Fails if somebody else may use the memory.
    pub(crate) fn require_writable(&self) -> Result<()> {
        if self.is_read_only() || self.shared.load(Ordering::Relaxed) {
            let message =
                "the tensor's memory is shared (by a clone, a graph, a data set, a slice \
                           or a file), so it cannot be written; copy it with to_tensor";
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        Ok(())
    }

    fn require_host(&self) -> Result<()> {
        if self.data().is_null() && !self.is_empty() {
            let message =
                format!("expected a tensor of the host, got one of device {:?}", self.device());
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        Ok(())
    }

    /// The first element, if the tensor has the type and lies in memory of the host.
    pub(crate) fn typed<T: Element>(&self) -> Result<*mut T> {
        if self.dtype() != T::DTYPE {
            let message = format!("expected a tensor of {}, got {}", T::DTYPE, self.dtype());
            return Err(Error::new(Code::INVALID_ARGUMENT, message));
        }
        self.require_host()?;
        let data = self.data().cast::<T>();
        if !data.is_aligned() {
            let message = format!("the elements of the tensor are not aligned to {}", T::DTYPE);
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        Ok(data)
    }

    fn elements<T: Element>(&self) -> Result<*mut T> {
        let data = self.typed::<T>()?;
        if self.strides().is_some() {
            let message = "the tensor is not contiguous; copy it with to_vec or to_tensor";
            return Err(Error::new(Code::FAILED_PRECONDITION, message));
        }
        // SAFETY: the elements are contiguous bytes.
        if !T::valid(unsafe { array(data.cast::<u8>(), self.bytes()) }) {
            return Err(invalid::<T>());
        }
        Ok(data)
    }
}

fn invalid<T: Element>() -> Error {
    Error::new(Code::DATA_LOSS, format!("a byte of the tensor is no value of {}", T::DTYPE))
}

fn contiguous(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    strides
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?})", self.dtype(), self.shape())
    }
}

#[cfg(feature = "ndarray")]
mod with_ndarray {
    use ndarray::{
        ArrayBase, ArrayD, ArrayView, ArrayViewD, ArrayViewMutD, Dimension, IxDyn, OwnedRepr,
    };

    use super::*;

    fn shape_of(shape: &[usize]) -> Vec<i64> {
        shape.iter().map(|size| *size as i64).collect()
    }

    fn ix(shape: &[i64]) -> IxDyn {
        IxDyn(&shape.iter().map(|size| *size as usize).collect::<Vec<_>>())
    }

    fn of_shape(error: ndarray::ShapeError) -> Error {
        Error::new(Code::INTERNAL, error.to_string()).with_source(error)
    }

    /// With the feature `ndarray`.
    impl Tensor {
        /// Makes a tensor of the array's memory, without a copy if the array is in row-major order.
        pub fn from_ndarray<T: Element, D: Dimension>(
            array: ArrayBase<OwnedRepr<T>, D>,
        ) -> Result<Self> {
            let shape = shape_of(array.shape());
            if !array.is_standard_layout() {
                return Self::from_vec(array.iter().copied().collect(), &shape);
            }
            let (data, offset) = array.into_raw_vec_and_offset();
            if offset.unwrap_or(0) == 0 && data.len() == shape.iter().product::<i64>() as usize {
                return Self::from_vec(data, &shape);
            }
            let start = offset.unwrap_or(0);
            let count = shape.iter().product::<i64>() as usize;
            Self::from_vec(data[start..start + count].to_vec(), &shape)
        }
    }

    /// With the feature `ndarray`.
    impl<'a> TensorView<'a> {
        /// Makes a view of the array's memory, without a copy. Strides must not be negative.
        pub fn from_array_view<T: Element, D: Dimension>(
            array: ArrayView<'a, T, D>,
        ) -> Result<Self> {
            let (shape, strides) = (shape_of(array.shape()), array.strides());
            if strides.iter().any(|stride| *stride < 0) {
                let message = format!("expected strides of at least 0, got {strides:?}");
                return Err(Error::new(Code::INVALID_ARGUMENT, message));
            }
            let strides: Vec<i64> = strides.iter().map(|stride| *stride as i64).collect();
            let last: i64 =
                shape.iter().zip(&strides).map(|(size, stride)| (size - 1) * stride).sum();
            let count = if array.is_empty() { 0 } else { last as usize + 1 };
            let (data, null) = (array.as_ptr().cast_mut().cast(), std::ptr::null_mut());
            let bytes = count * size_of::<T>();
            // SAFETY: the array lives for 'a, and has the elements from the first to the last; the
            // view is shared, so it is never written.
            let raw = made(|out| unsafe {
                let (rank, dims, strides) = (shape.len(), shape.as_ptr(), strides.as_ptr());
                sys::hr_tensor_wrap_strided(
                    T::DTYPE.0,
                    rank,
                    dims,
                    strides,
                    data,
                    bytes,
                    None,
                    null,
                    out,
                )
            })?;
            Ok(Self::of(raw, true))
        }

        /// The elements as an array.
        pub fn as_array<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
            ArrayViewD::from_shape(ix(self.shape()), self.as_slice()?).map_err(of_shape)
        }

        /// The elements as an array, to be written.
        pub fn as_array_mut<T: Element>(&mut self) -> Result<ArrayViewMutD<'_, T>> {
            let shape = ix(self.shape());
            ArrayViewMutD::from_shape(shape, self.as_mut_slice()?).map_err(of_shape)
        }

        /// Copies the elements to an array, also of a tensor that is not contiguous.
        pub fn to_array<T: Element>(&self) -> Result<ArrayD<T>> {
            ArrayD::from_shape_vec(ix(self.shape()), self.to_vec()?).map_err(of_shape)
        }
    }
}
