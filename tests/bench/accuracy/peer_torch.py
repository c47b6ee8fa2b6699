"""Test accuracy of LeNet trained by PyTorch; the k-th run of a case has seed k."""
import collections

import torch

from harness.peer import serve
from models import lenet_torch

BATCH = 64
images, labels = lenet_torch.data("train")
test_images, test_labels = lenet_torch.data("t10k")
trainings = {}  # by seed; a case with more epochs goes on where one with fewer stopped
runs = collections.Counter()


class Training:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.epochs = 0
        self._model = lenet_torch.network()
        self._step = lenet_torch.train_step(self._model, lenet_torch.optimizer(self._model))
        self._order = torch.Generator().manual_seed(seed)

    def epoch(self):
        order = torch.randperm(len(images), generator=self._order)
        for chosen in order.split(BATCH):
            self._step(lenet_torch.pixels(images[chosen]), labels[chosen])
        self.epochs += 1

    def accuracy(self):
        with torch.no_grad():
            right = sum((self._model(lenet_torch.pixels(x)).argmax(1) == y).sum().item()
                        for x, y in zip(test_images.split(1000), test_labels.split(1000)))
        return right / len(test_labels)


def run(case, repeats):
    epochs = int(case.removesuffix("-epochs"))
    values = []
    for _ in range(repeats):
        runs[case] += 1
        seed = runs[case]
        training = trainings.setdefault(seed, Training(seed))
        while training.epochs < epochs:
            training.epoch()
        values.append(training.accuracy())
    return values


serve(run)
