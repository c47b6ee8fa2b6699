"""Microseconds of one run of one Add in ONNX Runtime, everything bound beforehand."""
import numpy
from onnx import helper

from harness.peer import calls_for, seconds_each, serve
from models import onnx_models

steps = {}


def make():
    add = onnx_models.model([helper.make_node("Add", ["a", "b"], ["c"])],
                            [("a", [4]), ("b", [4])], [("c", [4])])
    ones = numpy.ones(4, "float32")
    step = onnx_models.bound_run(onnx_models.session(add), {"a": ones, "b": ones}, ["c"])
    return step, calls_for(step, 0.2)


def run(case, repeats):
    if case not in steps:
        steps[case] = make()
    return [1e6 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
