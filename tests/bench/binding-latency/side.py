"""The Python side of the benchmark. usage: side.py ENGINE"""
import sys

import numpy

from harness.peer import SCRATCH, THREADS, calls_for, seconds_each, serve

# The input and the output of each case.
CASES = {"one-node": ("x", numpy.array([1, 2, 3, 4], "float32"), "y", (4,)),
         "magika": ("bytes", (numpy.arange(2048, dtype="int32") % 257)[None], "target_label", (1, 214))}


class Headrace:
    def __init__(self, case):
        import headrace
        name, x, output, shape = CASES[case]
        self.version = headrace.__version__
        self.y = numpy.zeros(shape, "float32")
        model = headrace.load(f"{SCRATCH}/{case}.hrg", headrace.Env(threads=THREADS))
        call = model.session().call("infer")
        call[name] = x
        call.bind_output(output, self.y)
        self.run = call.run


class OnnxRuntime:
    def __init__(self, case):
        import onnxruntime
        from models import onnx_models
        name, x, output, shape = CASES[case]
        self.version = onnxruntime.__version__
        self.y = numpy.zeros(shape, "float32")
        session = onnx_models.session(f"{SCRATCH}/{case}.onnx")
        bound = session.io_binding()
        bound.bind_cpu_input(name, x)
        bound.bind_output(output, "cpu", 0, "float32", shape, self.y.ctypes.data)
        self.run = lambda: session.run_with_iobinding(bound)


ENGINE = {"headrace": Headrace, "onnxruntime": OnnxRuntime}[sys.argv[1]]
steps = {}


def run(case, repeats):
    if case not in steps:
        one = ENGINE(case)
        steps[case] = (one, calls_for(one.run, 0.2))
    one, count = steps[case]
    values = [1e6 * seconds for seconds in seconds_each(one.run, count, repeats)]
    return {"values": values, "version": one.version, "result": one.y.ravel().tolist()}


serve(run)
