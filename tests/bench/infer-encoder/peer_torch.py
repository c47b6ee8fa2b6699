"""Milliseconds of inference of the encoder in PyTorch."""
from harness.peer import calls_for, seconds_each, serve
from models import encoder_torch

steps = {}


def run(case, repeats):
    if case not in steps:
        batch, length = (int(n) for n in case.split("x"))
        step = encoder_torch.inference(batch, length)
        steps[case] = step, calls_for(step, 0.5)
    return [1e3 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
