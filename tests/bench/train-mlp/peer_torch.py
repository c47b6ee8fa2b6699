"""Microseconds of one training step of 784-128-10 in PyTorch; argument `compile`."""
import sys

import torch

from harness.peer import calls_for, seconds_each, serve
from models import lenet_torch

images, labels = lenet_torch.data("train")
steps = {}


def make(batch):
    nn = torch.nn
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    sgd = lenet_torch.optimizer(model)
    if "compile" in sys.argv:
        model = torch.compile(model)
    train = lenet_torch.train_step(model, sgd)
    x = lenet_torch.pixels(images[:batch]).reshape(batch, 784)

    def step():
        train(x, labels[:batch])

    return step, calls_for(step, 0.5)


def run(case, repeats):
    if case not in steps:
        steps[case] = make(int(case.removeprefix("batch-")))
    return [1e6 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
