"""Element types, by any of their names."""
from . import _native as native
from ._constants import Dtype
from .errors import InvalidArgument

float16 = Dtype.FLOAT16
float32 = Dtype.FLOAT32
float64 = Dtype.FLOAT64
bfloat16 = Dtype.BFLOAT16
float8e4m3fn = Dtype.FLOAT8E4M3FN
float8e4m3fnuz = Dtype.FLOAT8E4M3FNUZ
float8e5m2 = Dtype.FLOAT8E5M2
float8e5m2fnuz = Dtype.FLOAT8E5M2FNUZ
int8 = Dtype.INT8
int16 = Dtype.INT16
int32 = Dtype.INT32
int64 = Dtype.INT64
uint8 = Dtype.UINT8
uint16 = Dtype.UINT16
uint32 = Dtype.UINT32
uint64 = Dtype.UINT64
bool_ = Dtype.BOOL

FLOATING = {float16, float32, float64, bfloat16}
# Those that NumPy knows through the package ml_dtypes, by its names.
OF_ML_DTYPES = {bfloat16: "bfloat16", float8e4m3fn: "float8_e4m3fn",
                float8e4m3fnuz: "float8_e4m3fnuz", float8e5m2: "float8_e5m2",
                float8e5m2fnuz: "float8_e5m2fnuz"}
_BY_NAME = {native.hr_dtype_name(one): one for one in Dtype if one is not Dtype.UNDEFINED}
_BY_NAME_OF_NUMPY = _BY_NAME | {name: one for one, name in OF_ML_DTYPES.items()}
_BY_TYPE = {float: float32, int: int64, bool: bool_}


def dtype_of(of):
    """Return the Dtype of `of`.

    Parameters
    ----------
    of : Dtype, str, type or numpy.dtype
        ``hr.float32``, ``"float32"``, ``float`` (float32), ``int`` (int64), ``bool``,
        ``numpy.float32`` or ``numpy.dtype("float32")``.

    Raises
    ------
    InvalidArgument
        If there is no such type.
    """
    if isinstance(of, Dtype):
        return of
    if of in _BY_TYPE:
        return _BY_TYPE[of]
    name = of if isinstance(of, str) else getattr(of, "name", None) or getattr(of, "__name__", "")
    if name in _BY_NAME_OF_NUMPY:
        return _BY_NAME_OF_NUMPY[name]
    if isinstance(of, int) and of in list(Dtype):
        return Dtype(of)
    raise InvalidArgument(f"{of!r} is no element type; the types are {', '.join(_BY_NAME)}")


def name_of(dtype):
    """Return the name of an element type, such as "float32"."""
    return native.hr_dtype_name(dtype)


def bytes_of(dtype):
    """Return the bytes of one element."""
    return native.hr_dtype_size(dtype_of(dtype))


def numpy_dtype(dtype):
    """Return NumPy's dtype; of bfloat16 and floats of 8 bits that of the package ml_dtypes."""
    import numpy
    if dtype not in OF_ML_DTYPES:
        return numpy.dtype(name_of(dtype))
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"NumPy has no {name_of(dtype)} of its own: install the package "
                          "ml_dtypes, or cast to float32") from None
    return numpy.dtype(getattr(ml_dtypes, OF_ML_DTYPES[dtype]))
