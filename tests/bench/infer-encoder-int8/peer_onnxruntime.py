"""Milliseconds of inference of the quantized encoder in ONNX Runtime."""
import os

from harness.peer import PREPARED, calls_for, seconds_each, serve
from models import encoder_onnx

steps = {}


def run(case, repeats):
    if case not in steps:
        batch, length = (int(n) for n in case.split("x"))
        path = os.path.join(PREPARED, f"encoder-{case}.onnx")
        step = encoder_onnx.inference(batch, length, path)
        steps[case] = step, calls_for(step, 0.5)
    return [1e3 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
