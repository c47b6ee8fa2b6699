"""Nanoseconds a node of a chain of Adds in ONNX Runtime, graph optimizations off."""
import numpy
from onnx import helper

from harness.peer import calls_for, seconds_each, serve
from models import onnx_models

steps = {}


def make(length):
    names = ["x", *(f"v{i}" for i in range(1, length)), "y"]
    nodes = [helper.make_node("Add", [names[i], "x"], [names[i + 1]]) for i in range(length)]
    session = onnx_models.session(onnx_models.model(nodes, [("x", [4])], [("y", [4])]),
                                  optimize=False)
    step = onnx_models.bound_run(session, {"x": numpy.ones(4, "float32")}, ["y"])
    return step, calls_for(step, 0.3)


def run(case, repeats):
    length = int(case.removeprefix("chain-"))
    if case not in steps:
        steps[case] = make(length)
    return [1e9 * seconds / length for seconds in seconds_each(*steps[case], repeats)]


serve(run)
