//! Element types.
use std::ffi::CStr;
use std::fmt;

use headrace_sys as sys;

/// The type of a tensor's elements. Later versions of the library may add types.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType(pub i32);

macro_rules! dtypes {
    ($($name:ident = $raw:ident;)*) => {
        /// The codes are ONNX's.
        #[allow(missing_docs)]
        impl DType {
            $(pub const $name: DType = DType(sys::$raw);)*
        }
    };
}

dtypes! {
    UNDEFINED = HR_UNDEFINED;
    FLOAT32 = HR_FLOAT32;
    UINT8 = HR_UINT8;
    INT8 = HR_INT8;
    UINT16 = HR_UINT16;
    INT16 = HR_INT16;
    INT32 = HR_INT32;
    INT64 = HR_INT64;
    BOOL = HR_BOOL;
    FLOAT16 = HR_FLOAT16;
    FLOAT64 = HR_FLOAT64;
    UINT32 = HR_UINT32;
    UINT64 = HR_UINT64;
    BFLOAT16 = HR_BFLOAT16;
    FLOAT8E4M3FN = HR_FLOAT8E4M3FN;
    FLOAT8E4M3FNUZ = HR_FLOAT8E4M3FNUZ;
    FLOAT8E5M2 = HR_FLOAT8E5M2;
    FLOAT8E5M2FNUZ = HR_FLOAT8E5M2FNUZ;
}

impl DType {
    /// The bytes of one element; 0 if tensors cannot hold the type.
    pub fn size(self) -> usize {
        // SAFETY: any number is allowed.
        unsafe { sys::hr_dtype_size(self.0) }
    }

    /// The name, such as "float32".
    pub fn name(self) -> &'static str {
        // SAFETY: the text is static.
        unsafe { CStr::from_ptr(sys::hr_dtype_name(self.0)) }.to_str().unwrap_or("undefined")
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that has the layout of an element type.
///
/// # Safety
/// The layout is that of `DTYPE`, any bytes that `valid` accepts are a value, and the default
/// accepts all of them.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;

    /// Whether all of these bytes are values of the type.
    fn valid(_bytes: &[u8]) -> bool {
        true
    }
}

/// An element type of which any bytes are a value: all but bool. Other processes can write such
/// memory.
///
/// # Safety
/// `valid` accepts any bytes.
pub unsafe trait Plain: Element {}

macro_rules! elements {
    ($($type:ty: $dtype:ident,)*) => {
        $(
            // SAFETY: numbers have the same layout in C, and any bits are a number.
            unsafe impl Element for $type {
                const DTYPE: DType = DType::$dtype;
            }
            // SAFETY: as above.
            unsafe impl Plain for $type {}
        )*
    };
}

elements! {
    f32: FLOAT32, f64: FLOAT64, u8: UINT8, i8: INT8, u16: UINT16, i16: INT16, i32: INT32,
    i64: INT64, u32: UINT32, u64: UINT64, F16: FLOAT16, Bf16: BFLOAT16,
}

#[cfg(feature = "half")]
elements! {
    half::f16: FLOAT16, half::bf16: BFLOAT16,
}

// SAFETY: a bool is a byte that is 0 or 1, in C and here.
unsafe impl Element for bool {
    const DTYPE: DType = DType::BOOL;

    fn valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| *byte <= 1)
    }
}

/// The bits of a float16. The feature `half` gives the crate `half`'s type for arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The bits of a bfloat16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);
