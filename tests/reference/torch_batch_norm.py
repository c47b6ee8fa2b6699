#!/usr/bin/env python3
"""Writes torch_batch_norm.json: what PyTorch's batch normalization gives while it is trained.

usage: torch_batch_norm.py [FILE]    (needs torch; the tests read only the JSON)

The recipe, all in float64. Element number i (row-major) of step s (from 0) of x: [4, 3, 2, 5] is

  x(s, i) = ((37 i + 101 s) mod 97) / 16 - 3 + channel(i)

with channel(i) = (i / 10) mod 3, and the weights of the loss, the sum of weight * y, are weight(i) = ((13 i) mod 29) / 32. The layer is
torch.nn.BatchNorm2d(3, eps=1e-3, momentum=0.3); SGD with the learning rate 1/64 trains it for STEPS
steps. Each list has the numbers of one step after the other: the loss before the update, and the
running mean, the running variance, the weight and the bias after it. "evaluated" is the loss of
x(STEPS) in eval mode at the end.
"""
import json
import pathlib
import sys

import torch

STEPS, SHAPE = 4, (4, 3, 2, 5)


def x_of(step):
    i = torch.arange(4 * 3 * 2 * 5)
    values = ((37 * i + 101 * step) % 97).double() / 16 - 3 + (i // 10 % 3).double()
    return values.reshape(SHAPE)


def main():
    default = pathlib.Path(__file__).resolve().parent / "torch_batch_norm.json"
    torch.set_num_threads(1)  # sums in one order
    layer = torch.nn.BatchNorm2d(3, eps=1e-3, momentum=0.3).double()
    sgd = torch.optim.SGD(layer.parameters(), lr=1 / 64)
    weights = ((13 * torch.arange(120)) % 29).double().reshape(SHAPE) / 32
    version = torch.__version__.split("+")[0]
    result = {"made_by": f"tests/reference/torch_batch_norm.py with PyTorch {version}",
              "losses": [], "means": [], "variances": [], "scales": [], "biases": []}
    for step in range(STEPS):
        sgd.zero_grad()
        loss = (weights * layer(x_of(step))).sum()
        loss.backward()
        sgd.step()
        result["losses"].append(loss.item())
        result["means"] += layer.running_mean.tolist()
        result["variances"] += layer.running_var.tolist()
        result["scales"] += layer.weight.tolist()
        result["biases"] += layer.bias.tolist()
    layer.eval()
    result["evaluated"] = [(weights * layer(x_of(STEPS))).sum().item()]
    file = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    file.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
