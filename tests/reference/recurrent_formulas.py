#!/usr/bin/env python3
"""Writes recurrent_formulas.json: RNN, GRU and LSTM after the formulas of PyTorch's documentation.

usage: recurrent_formulas.py [--torch] [FILE]    (needs numpy; the tests read only the JSON)

The formulas are those of torch.nn.RNN (tanh), torch.nn.GRU and torch.nn.LSTM, in their order of the
gates; what is written is in ONNX's order, where that GRU has linear_before_reset 1. Gradients are
complex steps of the loss: exact to rounding, and without a formula of their own. --torch compares
all numbers with those of an installed PyTorch first; those of 2.15.0 are the same.

The recipe, all in float64: 4 steps of 3 sequences of 2 inputs, 3 hidden units, both directions.
Element number i (row-major) of array number s of x [4, 3, 2], w [2, G 3, 2], r [2, G 3, 3], bias
[2, 2 G 3], initial_h [2, 3, 3], initial_c [2, 3, 3] (s from 0; G gates, ONNX's layout) is
((37 i + 11 s) mod 97) / 97 - 1/2. The loss is the sum of weight(i) y(i), with weight(i) =
((13 i) mod 29) / 29, over y [4, 2, 3, 3], plus the sums of the last states.
"""
import argparse
import json
import pathlib

import numpy

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 2, 3
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
# ONNX's gate number i is PyTorch's number ORDER[i]: z r h of r z n, i o f c of i f g o.
ORDER = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}


def shapes_of(cell):
    rows = GATES[cell] * HIDDEN
    shapes = {"x": (STEPS, BATCH, INPUTS), "w": (2, rows, INPUTS), "r": (2, rows, HIDDEN),
              "bias": (2, 2 * rows), "initial_h": (2, BATCH, HIDDEN)}
    if cell == "LSTM":
        shapes["initial_c"] = (2, BATCH, HIDDEN)
    return shapes


def operands_of(cell):
    return {name: (((37 * numpy.arange(numpy.prod(shape)) + 11 * s) % 97) / 97 - 0.5).reshape(shape)
            for s, (name, shape) in enumerate(shapes_of(cell).items())}


def as_torch(cell, rows):
    """The rows of the gates, in PyTorch's order."""
    parts = numpy.split(rows, GATES[cell])
    return numpy.concatenate([parts[ORDER[cell].index(i)] for i in range(GATES[cell])])


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def step(cell, x, h, c, w_ih, w_hh, b_ih, b_hh):
    """One step of PyTorch's cell; the names are those of its documentation."""
    own, other = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if cell == "RNN":
        return numpy.tanh(own + other), c
    if cell == "GRU":
        (own_r, own_z, own_n), (r, z, n) = numpy.split(own, 3, 1), numpy.split(other, 3, 1)
        r, z = sigmoid(own_r + r), sigmoid(own_z + z)
        n = numpy.tanh(own_n + r * n)
        return (1 - z) * n + z * h, c
    i, f, g, o = numpy.split(own + other, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
    return sigmoid(o) * numpy.tanh(c), c


def forward(cell, values):
    """y, and the last h and c as [direction, batch, hidden]."""
    y = numpy.zeros((STEPS, 2, BATCH, HIDDEN), values["x"].dtype)
    last_h, last_c = [], []
    for direction in range(2):
        h = values["initial_h"][direction]
        c = values["initial_c"][direction] if cell == "LSTM" else numpy.zeros_like(h)
        b_ih, b_hh = numpy.split(values["bias"][direction], 2)
        weights = [as_torch(cell, rows) for rows in
                   (values["w"][direction], values["r"][direction], b_ih, b_hh)]
        for t in range(STEPS) if direction == 0 else reversed(range(STEPS)):
            h, c = step(cell, values["x"][t], h, c, *weights)
            y[t, direction] = h
        last_h.append(h)
        last_c.append(c)
    return y, numpy.stack(last_h), numpy.stack(last_c)


def loss(cell, values):
    y, h, c = forward(cell, values)
    weights = ((13 * numpy.arange(y.size)) % 29) / 29
    return (weights * y.ravel()).sum() + h.sum() + (c.sum() if cell == "LSTM" else 0)


def gradient(cell, values, name):
    out = []
    for i in range(values[name].size):
        moved = {key: value.astype(complex) for key, value in values.items()}
        moved[name].reshape(-1)[i] += 1e-30j
        out.append(loss(cell, moved).imag / 1e-30)
    return out


def compare_with_torch(cell, values, result):
    import torch
    layer = getattr(torch.nn, cell)(INPUTS, HIDDEN, bidirectional=True).double()
    tensors = {}
    with torch.no_grad():
        for direction, suffix in enumerate(["", "_reverse"]):
            b_ih, b_hh = numpy.split(values["bias"][direction], 2)
            for name, rows in (("weight_ih", values["w"][direction]), ("bias_ih", b_ih),
                               ("weight_hh", values["r"][direction]), ("bias_hh", b_hh)):
                parameter = getattr(layer, f"{name}_l0{suffix}")
                parameter.copy_(torch.tensor(as_torch(cell, rows)))
    for name in ("x", "initial_h", "initial_c"):
        if name in values:
            tensors[name] = torch.tensor(values[name], requires_grad=True)
    state = tensors["initial_h"]
    if cell == "LSTM":
        state = (state, tensors["initial_c"])
    y, last = layer(tensors["x"], state)
    y = y.reshape(STEPS, BATCH, 2, HIDDEN).transpose(1, 2)
    weights = torch.tensor(((13 * numpy.arange(y.numel())) % 29) / 29).reshape(y.shape)
    total = (weights * y).sum() + sum(part.sum() for part in (last if cell == "LSTM" else [last]))
    total.backward()
    numpy.testing.assert_allclose(y.detach().numpy().ravel(), result["y"], 1e-12)
    for name, tensor in tensors.items():
        numpy.testing.assert_allclose(tensor.grad.numpy().ravel(), result["d" + name], 1e-11)
    for name, parameter in (("dw", "weight_ih"), ("dr", "weight_hh")):
        grads = numpy.array(result[name]).reshape(values[name[1:]].shape)
        for direction, suffix in enumerate(["", "_reverse"]):
            got = getattr(layer, f"{parameter}_l0{suffix}").grad.numpy()
            numpy.testing.assert_allclose(got, as_torch(cell, grads[direction]), 1e-11)
    print(f"{cell}: as PyTorch {torch.__version__}")


def main():
    default = pathlib.Path(__file__).resolve().with_suffix(".json")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch", action="store_true", help="compare with PyTorch first")
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=default)
    arguments = parser.parse_args()
    out = {"made_by": "tests/reference/recurrent_formulas.py"}
    for cell in GATES:
        values = operands_of(cell)
        y, h, c = forward(cell, values)
        result = {"y": y.ravel().tolist(), "y_h": h.ravel().tolist()}
        if cell == "LSTM":
            result["y_c"] = c.ravel().tolist()
        for name in values:
            result["d" + name] = gradient(cell, values, name)
        if arguments.torch:
            compare_with_torch(cell, values, result)
        out.update({f"{cell}.{name}": numbers for name, numbers in result.items()})
    lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in out.items())
    arguments.file.write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
