"""The Python side of the benchmark: nanoseconds of a run."""
import numpy

import headrace as hr
from harness.peer import THREADS, calls_for, seconds_each, serve

steps = {}


def add():
    """y = x + x on four floats, bound. Fusion is off, as in C."""
    g = hr.Graph(hr.Env(threads=THREADS))
    x = g.input("x", "float32", [4])
    g.signature("infer", {"x": x}, {"y": x + x})
    call = g.model().session(disable_fusion=True).call("infer")
    call["x"] = numpy.array([1, 2, 3, 4], numpy.float32)
    call.bind_output("y", numpy.zeros(4, numpy.float32))
    call.run()
    assert call["y"].tolist() == [2, 4, 6, 8]
    return call.run


def run(case, repeats):
    if case not in steps:
        step = add()
        steps[case] = (step, calls_for(step, 0.2))
    return [1e9 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
