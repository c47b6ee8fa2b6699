"""Milliseconds of one training step of ResNet-18 in PyTorch."""
from harness.peer import calls_for, seconds_each, serve
from models import resnet_torch

steps = {}


def run(case, repeats):
    if case not in steps:
        step = resnet_torch.train_step(int(case.removeprefix("batch-")))
        steps[case] = step, calls_for(step, 0.5)
    return [1e3 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
