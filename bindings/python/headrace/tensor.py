"""Tensors: typed memory that Python, NumPy, DLPack and the library see together."""
from . import _native as native
from ._objects import Closeable
from .dtypes import OF_ML_DTYPES, bytes_of, dtype_of, name_of, numpy_dtype
from .env import env_handle


class Tensor(Closeable):
    """A tensor in memory that may be shared with an array.

    Parameters
    ----------
    data : array, buffer, tensor of another library, number or list
        NumPy arrays, buffers and tensors with ``__dlpack__`` (PyTorch's and JAX's on the CPU) are
        shared, not copied: who writes one sees it in the other. What cannot be shared is copied:
        lists, numbers, arrays in backward or foreign byte order.
    dtype : optional
        The element type of lists and numbers, and what an array is converted to if it has another.

    Notes
    -----
    ``numpy.asarray(tensor)``, ``tensor.numpy()`` and ``numpy.from_dlpack(tensor)`` share the memory,
    too, and keep it alive, even if the tensor is closed.
    """

    __slots__ = ()

    def __init__(self, data, dtype=None):
        self._handle = _handle_of(data, None if dtype is None else dtype_of(dtype))

    @classmethod
    def _of(cls, handle):
        self = cls.__new__(cls)
        self._handle = handle
        return self

    @classmethod
    def empty(cls, shape, dtype="float32", env=None):
        """Return a tensor with any elements, in memory of the env, aligned to 64 bytes."""
        return cls._of(native.hr_tensor_create(env_handle(env), dtype_of(dtype), shape))

    @classmethod
    def copy_of(cls, data, env=None):
        """Return a copy of an array, in memory of the env."""
        source = data if isinstance(data, Tensor) else cls(data)
        block = _contiguous(source)
        return cls._of(native.hr_tensor_copy_of(env_handle(env), source.dtype, source.shape, block))

    @classmethod
    def from_buffer(cls, buffer, dtype, shape):
        """Return a tensor of any element type and shape in writable, contiguous memory."""
        return cls._of(native.hr_tensor_wrap(buffer, dtype_of(dtype), shape))

    @classmethod
    def from_dlpack(cls, source):
        """Return a tensor that shares the memory of an object with ``__dlpack__``."""
        return cls._of(_import(source))

    # ---- Description ----

    @property
    def dtype(self):
        """The element type, a `Dtype`."""
        return dtype_of(native.hr_tensor_dtype(self._handle))

    @property
    def shape(self):
        """The sizes of the dimensions, a tuple."""
        return tuple(native.hr_tensor_dims(self._handle))

    @property
    def ndim(self):
        """The number of dimensions."""
        return native.hr_tensor_rank(self._handle)

    @property
    def size(self):
        """The number of elements."""
        return native.hr_tensor_elements(self._handle)

    @property
    def nbytes(self):
        """The bytes of all elements together."""
        return native.hr_tensor_bytes(self._handle)

    @property
    def strides(self):
        """The strides in elements; None if the tensor is contiguous."""
        strides = native.hr_tensor_strides(self._handle)
        return None if strides is None else tuple(strides)

    @property
    def read_only(self):
        """Whether the elements must not be written to."""
        return bool(native.hr_tensor_read_only(self._handle))

    @property
    def device(self):
        """The device of the memory, as DLPack counts them: (1, 0) is the host."""
        return native.hr_tensor_device(self._handle)

    @property
    def data_address(self):
        """The address of the first element: on the host, or else on the device; 0 if it is empty."""
        return (native.hr_tensor_data(self._handle)
                or native.hr_tensor_device_data(self._handle))

    def share(self):
        """Return another tensor of the same memory."""
        return Tensor._of(native.hr_tensor_share(self._handle))

    # ---- Elements ----

    def numpy(self):
        """Return a NumPy array that shares the memory."""
        import numpy
        if self.dtype in OF_ML_DTYPES:
            return numpy.asarray(native.block_of(self._handle)).view(numpy_dtype(self.dtype))
        return numpy.asarray(self._handle)

    def __array__(self, dtype=None, copy=None):
        import numpy
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"a {name_of(self.dtype)} tensor cannot be a {dtype} array "
                                 "without a copy")
            return array.astype(dtype)
        return numpy.array(array) if copy else array

    def __buffer__(self, flags):
        return memoryview(self._handle)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the tensor is on the device {self.__dlpack_device__()}")
        source = Tensor.copy_of(self) if copy else self
        versioned = max_version is not None and max_version[0] >= 1
        return native.hr_tensor_to_dlpack(source._handle, versioned)

    def __dlpack_device__(self):
        return tuple(self.device)

    def item(self):
        """Return the only element as a number of Python."""
        return self.numpy().item()

    def tolist(self):
        """Return the elements as a list of lists."""
        return self.numpy().tolist()

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __getitem__(self, index):
        return self.numpy()[index]

    def __setitem__(self, index, value):
        self.numpy()[index] = value

    def __iter__(self):
        return iter(self.numpy())

    def __repr__(self):
        if self.closed:
            return "<headrace.Tensor, closed>"
        if self.size > 100:
            return f"<headrace.Tensor {name_of(self.dtype)}{list(self.shape)}>"
        return f"headrace.Tensor({self.tolist()}, {name_of(self.dtype)})"


def _contiguous(tensor):
    if tensor.strides is None:
        return native.block_of(tensor._handle)
    import numpy
    return numpy.ascontiguousarray(tensor.numpy())


def _import(source):
    """A handle that shares the memory of an object with __dlpack__."""
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before DLPack 1.0
        capsule = source.__dlpack__()
    return native.hr_tensor_from_dlpack(capsule)


def _is_array(data):
    return type(data).__module__.partition(".")[0] == "numpy" and hasattr(data, "dtype")


def _handle_of(data, dtype):
    if isinstance(data, Tensor):
        if dtype in (None, data.dtype):
            return native.hr_tensor_share(data._handle)
        return _handle_of_array(data.numpy(), dtype)
    if _is_array(data):
        return _handle_of_array(data, dtype)
    if hasattr(data, "__dlpack__"):
        handle = _import(data)
        return handle if dtype in (None, native.hr_tensor_dtype(handle)) else _handle_of(
            Tensor._of(handle), dtype)
    import numpy
    if isinstance(data, (bytes, bytearray, memoryview)):
        return _handle_of_array(numpy.asarray(memoryview(data)), dtype)
    wanted = None if dtype is None else numpy_dtype(dtype)
    array = numpy.asarray(data, dtype=wanted)
    if dtype is None and array.dtype == numpy.float64 and not _has_dtype(data):
        array = array.astype(numpy.float32)  # what Python's floats are meant to be here
    return _handle_of_array(array, dtype)


def _has_dtype(data):
    """Whether a list holds arrays, whose types count."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return hasattr(data, "dtype")


def _handle_of_array(array, dtype):
    import numpy
    if dtype is not None and array.dtype.name != OF_ML_DTYPES.get(dtype, name_of(dtype)):
        array = array.astype(numpy_dtype(dtype))
    array = numpy.asarray(array)
    if array.dtype.name in OF_ML_DTYPES.values():
        kind = dtype_of(array.dtype)
        bits = array.view(numpy.uint8 if bytes_of(kind) == 1 else numpy.uint16)
        return native.hr_tensor_wrap(numpy.require(bits, requirements=["C", "W"]), kind,
                                     array.shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        return native.tensor_of_buffer(array)
    except BufferError:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"a tensor cannot hold the elements of a NumPy array of "
                            f"{array.dtype}; expected numbers or booleans") from None
        return native.tensor_of_buffer(numpy.ascontiguousarray(array))


def as_tensor(data, dtype=None):
    """Return `data` if it is a Tensor of the type, else a Tensor of it, shared where that can be."""
    if isinstance(data, Tensor) and dtype is None:
        return data
    return Tensor(data, dtype)
