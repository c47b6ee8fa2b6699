"""Tensors of JAX and PyTorch, by DLPack: what they are in is used where it is."""
import gc
import pathlib
import sys

import pytest

import headrace as hr

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Jax:
    def __init__(self):
        jax = pytest.importorskip("jax")
        jax.config.update("jax_platforms", "cpu")
        self.library = jax.numpy

    def make(self, values, dtype):
        return self.library.asarray(values, dtype=dtype)

    def take(self, tensor):
        return self.library.from_dlpack(tensor)

    def address(self, array):
        return array.unsafe_buffer_pointer()


class Torch:
    """PyTorch has gigabytes: that of the benchmarks is used if they have installed it."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(sys, "path", [*sys.path, *map(str, ROOT.glob(
            f".venv-bench/lib/python3.{sys.version_info.minor}/site-packages"))])
        self.library = pytest.importorskip("torch")

    def make(self, values, dtype):
        return self.library.tensor(values, dtype=getattr(self.library, dtype))

    def take(self, tensor):
        return self.library.from_dlpack(tensor)

    def address(self, array):
        return array.data_ptr()


@pytest.fixture(params=["jax", "torch"])
def other(request, monkeypatch):
    return Jax() if request.param == "jax" else Torch(monkeypatch)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool"])
def test_memory_is_shared_in_both_directions(other, dtype):
    array = other.make([[0, 1, 1], [1, 0, 1]], dtype)
    tensor = hr.Tensor(array)
    assert (tensor.dtype, tensor.shape) == (hr.dtype_of(dtype), (2, 3))
    assert tensor.data_address == other.address(array)
    assert other.address(other.take(tensor)) == tensor.data_address


def test_each_keeps_the_memory_that_the_other_has_made(other):
    size = 1 << 20
    tensor = hr.Tensor(other.make([5.0] * size, "float32"))
    array = other.take(hr.Tensor([7.0] * size))
    gc.collect()
    junk = [other.make([1.0] * size, "float32") for _ in range(3)]
    assert (tensor.numpy() == 5).all() and bool((array == 7).all()) and junk


def test_runs_read_the_memory_of_others(other, spy):
    array = other.make([[1, 2], [3, 4]], "float32")
    call, seen = spy
    call["x"] = array
    call.run()
    assert seen == [other.address(array)] and call["y"].tolist() == [[1, 2], [3, 4]]


def test_torch_gets_outputs_where_it_wants_them(monkeypatch, spy):
    torch = Torch(monkeypatch).library
    call, seen = spy
    x, y = torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2)
    call["x"] = x
    call.bind_output("y", y)
    call.run()
    assert y.tolist() == [[1, 2]] and seen == [x.data_ptr()]
    assert call["y"].data_address == y.data_ptr()
    with pytest.raises(BufferError, match="gradient"):
        call["x"] = torch.ones(1, 2, requires_grad=True)
    with pytest.raises(hr.Error):
        hr.Tensor(torch.ones(2, dtype=torch.complex64))
    assert hr.Tensor(torch.arange(6).reshape(2, 3).T).strides == (1, 3)
