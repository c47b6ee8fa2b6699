"""Seconds and bytes of loading 1 GiB of weights into ONNX Runtime; argument `lean`: without graph
optimizations and without packing, as little work as it can be told to do."""
import os
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from harness.peer import SCRATCH, resident_bytes, serve
from models import onnx_models

COUNT, SIDE = 64, 2048
PATH = os.path.join(SCRATCH, "load.onnx")


def write():
    """The weights lie in a file beside the model, which is the quicker of the two ways."""
    weight = numpy.random.default_rng(1).random((SIDE, SIDE), "float32") / SIDE
    names = ["x", *(f"v{i}" for i in range(1, COUNT)), "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(COUNT)]
    weights = [numpy_helper.from_array(weight, f"w{i}") for i in range(COUNT)]
    model = onnx_models.model(nodes, [("x", [1, SIDE])], [("y", [1, SIDE])], weights)
    onnx.save(model, PATH, save_as_external_data=True, location="load.bin")


def run(case, repeats):
    options = onnx_models.options(optimize="lean" not in sys.argv)
    if "lean" in sys.argv:
        options.add_session_config_entry("session.disable_prepacking", "1")
    if not os.path.exists(PATH):
        write()
    values = []
    for _ in range(repeats):
        before, start = resident_bytes(), time.perf_counter()
        session = onnxruntime.InferenceSession(PATH, options, providers=["CPUExecutionProvider"])
        taken = time.perf_counter() - start
        values.append(taken if case == "time" else resident_bytes() - before)
        del session
    return values


serve(run)
