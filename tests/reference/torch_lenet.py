#!/usr/bin/env python3
"""Writes torch_lenet.json: the losses that PyTorch has while it trains a small LeNet.

usage: torch_lenet.py [FILE]    (needs torch and numpy; the tests read only the JSON)

Weights and data come from a recipe that any language recomputes bit by bit, so the JSON holds
nothing but losses and a few values to check an implementation of the recipe by.

The recipe. All integers are unsigned and 32 bits wide, and wrap.

  mix(x):    x ^= x >> 16;  x *= 0x85EBCA6B;  x ^= x >> 13;  x *= 0xC2B2AE35;  x ^= x >> 16
  hash(stream, index) = mix(mix(stream + 0x9E3779B9) ^ index)

Weights: tensor number t of the list below, element number i in row-major order:

  unit  = (hash(t, i) >> 8) / 2^24                       exact in float32, 0 <= unit < 1
  value = float32((2 * unit - 1) * (1 / sqrt(fan_in)))   computed in float64, rounded once

  t  tensor        shape            fan_in
  0  conv1.weight  [20, 1, 5, 5]    25     output channel, input channel, row, column
  1  conv1.bias    [20]             25
  2  conv2.weight  [50, 20, 5, 5]   500
  3  conv2.bias    [50]             500
  4  fc1.weight    [500, 800]       800    output, input
  5  fc1.bias      [500]            800
  6  fc2.weight    [10, 500]        500
  7  fc2.bias      [10]             500

The float64 run begins with the same float32 values.

Data: step s (from 0) trains on samples n = 16 s … 16 s + 15, images [1, 28, 28], pixel number p in
row-major order:

  label(n)    = hash(8, n) mod 10
  block(p)    = 7 * (row(p) / 4) + column(p) / 4         integer divisions: 7 x 7 blocks of 4 x 4
  lit(n, p)   = hash(10, 49 label(n) + block(p)) >> 31   0 or 1: the pattern of the class
  noise(n, p) = hash(9, 784 n + p) >> 25                 0 to 127
  pixel(n, p) = (48 lit(n, p) + noise(n, p)) / 256      exact in float32

The network: conv1 (no padding), ReLU, 2x2 max pooling, conv2 (no padding), ReLU, 2x2 max pooling,
flatten to 800 (channel, row, column), fc1, ReLU, fc2, mean softmax cross entropy over the batch.
SGD as PyTorch has it: v = 0.9 v + g (v = g in the first step), w = w - 0.05 v.
The loss of a step is the one before its update.
"""
import json
import pathlib
import sys

import numpy
import torch

BATCH, RATE, MOMENTUM = 16, 0.05, 0.9
STEPS = {"float64": 100, "float32": 10}
FAN_IN = [25, 25, 500, 500, 800, 800, 500, 500]


def mix(x):
    x = x ^ (x >> numpy.uint32(16))
    x = x * numpy.uint32(0x85EBCA6B)
    x = x ^ (x >> numpy.uint32(13))
    x = x * numpy.uint32(0xC2B2AE35)
    return x ^ (x >> numpy.uint32(16))


def hash_of(stream, index):
    start = numpy.array([(stream + 0x9E3779B9) & 0xFFFFFFFF], numpy.uint32)
    return mix(mix(start) ^ numpy.asarray(index, numpy.uint32))


def weights(tensor, shape):
    unit = (hash_of(tensor, numpy.arange(numpy.prod(shape))) >> 8).astype(numpy.float64) / 2**24
    values = (2 * unit - 1) * (1 / numpy.sqrt(numpy.float64(FAN_IN[tensor])))
    return values.astype(numpy.float32).reshape(shape)


def batch(step):
    samples = numpy.arange(BATCH * step, BATCH * (step + 1))[:, None]
    labels = hash_of(8, samples) % 10
    pixels = numpy.arange(784)[None, :]
    noise = hash_of(9, 784 * samples + pixels) >> 25
    lit = hash_of(10, 49 * labels + 7 * (pixels // 28 // 4) + pixels % 28 // 4) >> 31
    images = (48 * lit + noise).astype(numpy.float32) / 256
    return images.reshape(BATCH, 1, 28, 28), labels[:, 0].astype(numpy.int64)


def network():
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    with torch.no_grad():
        for tensor, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.from_numpy(weights(tensor, tuple(parameter.shape))))
    return model


def losses(dtype, steps):
    model = network().to(dtype)
    sgd = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    found = []
    for step in range(steps):
        images, labels = batch(step)
        sgd.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(images).to(dtype)),
                                                 torch.from_numpy(labels))
        loss.backward()
        sgd.step()
        found.append(loss.item())
    return found


def main():
    default = pathlib.Path(__file__).resolve().parent / "torch_lenet.json"
    torch.set_num_threads(1)  # sums in one order
    images, labels = batch(99)
    result = {
        "made_by": f"tests/reference/torch_lenet.py with PyTorch {torch.__version__.split('+')[0]}",
        "batch": BATCH, "learning_rate": RATE, "momentum": MOMENTUM,
        "check": {
            "hash(3, 7)": int(hash_of(3, 7)[0]),
            "conv2.weight[0..3]": [float(x) for x in weights(2, (50, 20, 5, 5)).flat[:4]],
            "fc1.weight sum": float(weights(4, (500, 800)).astype(numpy.float64).sum()),
            "step 99: labels": [int(x) for x in labels],
            "step 99: image 0, pixels 0..3": [float(x) for x in images.flat[:4]],
        },
        **{f"losses_{name}": losses(getattr(torch, name), steps) for name, steps in STEPS.items()},
    }
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
