import ctypes
import gc
import weakref

import numpy
import pytest

import headrace as hr


def address(array):
    return array.__array_interface__["data"][0]


def test_numpy_shares_its_memory():
    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    tensor = hr.Tensor(array)
    assert tensor.data_address == address(array) == address(tensor.numpy())
    assert (tensor.shape, tensor.dtype, tensor.size, tensor.nbytes) == ((2, 3), hr.float32, 6, 24)
    array[0, 0] = 7
    assert tensor[0, 0] == 7


@pytest.mark.parametrize("dtype", "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 "
                                  "uint32 uint64 bool".split())
def test_element_types_go_both_ways(dtype):
    array = numpy.array([[0, 1], [1, 0]]).astype(dtype)
    tensor = hr.Tensor(array)
    assert tensor.dtype == hr.dtype_of(dtype)
    assert numpy.array_equal(tensor.numpy(), array) and tensor.numpy().dtype == array.dtype


def test_bfloat16_goes_both_ways():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = numpy.array([1.5, -2], dtype=ml_dtypes.bfloat16)
    tensor = hr.Tensor(array)
    assert tensor.dtype == hr.bfloat16 and tensor.data_address == address(array)
    assert tensor.numpy().tolist() == [1.5, -2]
    with pytest.raises(BufferError):
        memoryview(tensor._handle)


@pytest.mark.parametrize("name", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
def test_floats_of_8_bits_go_both_ways(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = getattr(ml_dtypes, f"float8_{name}")
    array = numpy.array([[1.5, -2], [0, 0.25]], dtype=kind)
    tensor = hr.Tensor(array)
    assert tensor.dtype == hr.dtype_of(f"float8{name}") == hr.dtype_of(kind)
    assert tensor.data_address == address(array) and tensor.numpy().dtype == kind
    assert tensor.numpy().tolist() == [[1.5, -2], [0, 0.25]]
    assert hr.Tensor([1.5, -2], dtype=tensor.dtype).numpy().tolist() == [1.5, -2]
    graph = hr.Graph()
    x = graph.input("x", "float32", [3])
    graph.signature("run", {"x": x}, {"y": graph.op("Cast", x, to=tensor.dtype)})
    call = graph.model().session().call("run")
    call["x"] = numpy.float32([1, 1e9, -0.3])
    call.run()
    y = call["y"].numpy()
    most = float(ml_dtypes.finfo(kind).max)
    assert y.dtype == kind and y.astype(float).tolist() == [1, most, float(kind(-0.3))]


def test_dlpack_shares_the_memory():
    array = numpy.arange(4.0)
    tensor = hr.Tensor.from_dlpack(array)
    assert tensor.data_address == address(array)
    assert address(numpy.from_dlpack(tensor)) == address(array)


def test_old_capsules_of_dlpack_work():
    class Old:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, stream=None):
            return self.array.__dlpack__()

    array = numpy.arange(3.0)
    assert hr.Tensor(Old(array)).data_address == address(array)
    capsule = hr.Tensor(array).__dlpack__()
    assert "dltensor_versioned" not in repr(capsule)


def test_a_capsule_is_taken_once():
    from headrace import _native
    capsule = numpy.arange(3.0).__dlpack__()
    _native.hr_tensor_from_dlpack(capsule)
    with pytest.raises(TypeError, match="nobody has taken"):
        _native.hr_tensor_from_dlpack(capsule)


def test_strides_are_kept():
    array = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)[:, ::2]
    tensor = hr.Tensor(array)
    assert tensor.strides == (4, 2) and tensor.data_address == address(array)
    assert tensor.tolist() == array.tolist()


def test_what_cannot_be_shared_is_copied():
    backward = numpy.arange(4)[::-1]
    foreign = numpy.arange(4, dtype=">i4")
    assert hr.Tensor(backward).tolist() == [3, 2, 1, 0]
    assert hr.Tensor(foreign).tolist() == [0, 1, 2, 3]
    assert hr.Tensor([1.5, 2]).dtype == hr.float32
    assert hr.Tensor([1, 2]).dtype == hr.int64
    assert hr.Tensor(3, "float64").item() == 3


def test_read_only_arrays_stay_so():
    array = numpy.arange(3)
    array.flags.writeable = False
    tensor = hr.Tensor(array)
    assert tensor.read_only and not tensor.numpy().flags.writeable
    with pytest.raises(ValueError):
        tensor[0] = 1


def test_empty_and_scalar():
    assert hr.Tensor(numpy.zeros((0, 3), numpy.float32)).shape == (0, 3)
    assert hr.Tensor(numpy.float32(2)).shape == ()
    assert hr.Tensor.empty([2, 2], "int8").nbytes == 4


@pytest.mark.parametrize("bad", ["text", numpy.array(["a"]), numpy.array([1j]), object(), None])
def test_what_is_no_tensor_is_refused(bad):
    with pytest.raises((TypeError, ValueError, BufferError)):
        hr.Tensor(bad)


def test_the_array_lives_as_long_as_the_tensor():
    class Watched(numpy.ndarray):
        pass

    array = numpy.zeros(10, numpy.float32).view(Watched)
    gone = weakref.ref(array)
    tensor = hr.Tensor(array)
    view = tensor.numpy()
    del array
    gc.collect()
    assert gone() is not None
    tensor.close()
    assert view.sum() == 0  # the view keeps it, too
    del view
    gc.collect()
    assert gone() is None


def test_use_after_close():
    tensor = hr.Tensor([1.0])
    tensor.close()
    tensor.close()
    assert tensor.closed and "closed" in repr(tensor)
    with pytest.raises(hr.FailedPrecondition, match="closed"):
        tensor.numpy()


def test_buffers_of_any_kind():
    memory = (ctypes.c_float * 4)(1, 2, 3, 4)
    assert hr.Tensor.from_buffer(memory, "float32", [2, 2]).tolist() == [[1, 2], [3, 4]]
    assert hr.Tensor(bytearray(b"ab")).tolist() == [97, 98]
    with pytest.raises(hr.InvalidArgument):
        hr.Tensor.from_buffer(memory, "float32", [5])
    with pytest.raises(hr.InvalidArgument):
        hr.Tensor.from_buffer(bytes(16), "float32", [4])


def test_copies():
    array = numpy.arange(6.0).reshape(2, 3).T
    copy = hr.Tensor.copy_of(array)
    assert copy.strides is None and copy.tolist() == array.tolist()
    assert copy.data_address != address(array)
