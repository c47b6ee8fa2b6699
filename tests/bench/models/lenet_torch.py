"""The LeNet of the benchmarks in PyTorch."""
import torch

from harness.peer import THREADS
from models import fashion

torch.set_num_threads(THREADS)


def network():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=True)


def pixels(images):
    """[n, 28, 28] bytes to [n, 1, 28, 28] floats in 0..1."""
    return images.unsqueeze(1).float() / 255


def data(part):
    images, labels = fashion.load(part)
    return torch.from_numpy(images.copy()), torch.from_numpy(labels.copy()).long()


def train_step(model, sgd):
    """A function (images, labels) → loss that makes one step."""
    loss_of = torch.nn.CrossEntropyLoss()

    def step(images, labels):
        sgd.zero_grad(set_to_none=True)
        loss = loss_of(model(images), labels)
        loss.backward()
        sgd.step()
        return loss

    return step
