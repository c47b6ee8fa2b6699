"""Images a second of training LeNet in PyTorch; argument `compile`: through torch.compile."""
import sys

import torch

from harness.peer import calls_for, seconds_each, serve
from models import lenet_torch

SECONDS = 1.5
images, labels = lenet_torch.data("train")
images = lenet_torch.pixels(images[:16384])
steps = {}


def make(batch):
    torch.manual_seed(1)
    model = lenet_torch.network()
    sgd = lenet_torch.optimizer(model)
    if "compile" in sys.argv:
        model = torch.compile(model)
    train = lenet_torch.train_step(model, sgd)
    position = 0

    def step():
        nonlocal position
        train(images[position:position + batch], labels[position:position + batch])
        position = (position + batch) % len(images)

    return step, calls_for(step, SECONDS)


def run(case, repeats):
    batch = int(case.removeprefix("batch-"))
    if case not in steps:
        steps[case] = make(batch)
    step, count = steps[case]
    return [batch / seconds for seconds in seconds_each(step, count, repeats)]


serve(run)
