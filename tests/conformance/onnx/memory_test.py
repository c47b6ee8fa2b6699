"""The memory that a conversion takes does not grow with the model.

usage: memory_test.py HEADRACE
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import onnx
    from onnx import helper
except ImportError as error:
    print(f"skipped: {error}; cmake/setup tests installs what is missing")
    sys.exit(77)

TOOL = None
MIB = 1 << 20
MODEL = 160 * MIB
MOST = 64 * MIB  # and the largest tensor


def in_typed_field(tensor):
    """The tensor with its bytes in float_data, which has the wire format of raw_data."""
    raw, tensor.raw_data = tensor.raw_data, b""
    size, length = len(raw), b""
    while size >= 128:
        size, length = size >> 7, length + bytes([size & 127 | 128])
    tensor.ClearField("raw_data")
    tensor.MergeFromString(b"\x22" + length + bytes([size]) + raw)
    return tensor


def write_model(path, count, typed):
    """A sum of `count` weights of equal size, which together have MODEL bytes."""
    value = helper.make_tensor_value_info
    weights = numpy.arange(MODEL // count // 4, dtype=numpy.float32)
    initializers = [onnx.TensorProto(name=f"w{i}", data_type=1, dims=weights.shape,
                                     raw_data=(weights + i).tobytes()) for i in range(count)]
    if typed:
        initializers = [in_typed_field(tensor) for tensor in initializers]
    sums = [helper.make_node("ReduceSum", [f"w{i}"], [f"s{i}"], keepdims=0) for i in range(count)]
    total = helper.make_node("Sum", [f"s{i}" for i in range(count)], ["y"])
    graph = helper.make_graph([*sums, total], "g", [], [value("y", 1, [])], initializers)
    opset = helper.make_opsetid("", 17)
    path.write_bytes(helper.make_model(graph, opset_imports=[opset],
                                       ir_version=8).SerializeToString())


class Memory(unittest.TestCase):
    def check(self, count, *options, typed=False):
        # Files are synced: in memory, if that can be had.
        memory = pathlib.Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
            model = pathlib.Path(scratch) / "model.onnx"
            # In a process of its own: this one's memory would count until the tool begins.
            subprocess.run([sys.executable, "-B", __file__, "write", model, str(count),
                            *["typed"] * typed], check=True)
            target = pathlib.Path(scratch) / "model.hrg"
            code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                    "stdout=subprocess.DEVNULL); "
                    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            done = subprocess.run([sys.executable, "-c", code, TOOL, "convert", model, target,
                                   *options], check=True, capture_output=True, text=True)
            self.assertGreater(target.stat().st_size, MODEL)
            self.assertLess(int(done.stdout) * 1024, MOST + MODEL // count)

    def test_many_small_weights(self):
        self.check(4096)
        self.check(4096, "--simplify")

    def test_weights_of_a_few_pages(self):
        self.check(40)
        self.check(40, "--simplify")

    def test_one_weight(self):
        self.check(1)

    def test_weights_in_typed_fields(self):
        self.check(40, typed=True)
        self.check(40, "--simplify", typed=True)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write_model(pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] == ["typed"])
        sys.exit(0)
    TOOL = sys.argv.pop(1)
    unittest.main()
