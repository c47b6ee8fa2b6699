import math
import re

from harness import verdict
from harness.catalog import Benchmark, Check, Sweep

# models/layers_torch.py says what the names mean.
CONVOLUTIONS = [
    "conv-1x1-64x256-16", "conv-1x1-256x64-16", "conv-1x1-512x512-4", "conv-3x3-3x32-64",
    "conv-3x3-64x64-16", "conv-3x3-128x128-8", "conv-3x3-512x512-2", "conv-5x5-20x50-14",
    "conv-5x5-64x64-14", "conv-7x7-16x16-28", "conv-7x7-3x64-64-s2", "conv-3x3-64x128-16-s2",
    "conv-1x1-64x128-16-s2", "conv-3x3-96x96-32-g96", "conv-3x3-144x144-16-s2-g144",
    "conv-3x3-64x64-16-g4"]
PRODUCTS = ["product-1x1024x1024", "product-1x512x2048-tb", "product-1x10x500",
            "product-128x384x384", "product-128x1536x384", "product-128x384x1536-tb"]
BATCHED = ["batched-6x128x128x64-tb", "batched-6x128x64x128", "batched-6x16x16x64-tb"]
REST = ["batchnorm-64-16", "batchnorm-512-4", "layernorm-384-128", "softmax-128-768",
        "attention-128-64", "attention-128-64-causal", "attention-512-64",
        "maxpool-3x3-64-32-s2", "maxpool-2x2-64-16-s2", "avgpool-2x2-64-16-s2", "globalpool-512-4"]
WEIGHTS = {"conv": 1, "product": 1, "batchnorm": 2, "layernorm": 2}
INPUTS = {"batched": 2, "attention": 3}


def kind(row):
    return row.split("-")[0]


def numbers(row):
    """Those of the shape, and a function that gives an option's."""
    shape = [int(n) for part in row.split("-") if part[0].isdigit() for n in part.split("x")]
    options = dict(re.findall(r"-([sg])(\d+)", row))
    return shape, lambda name: int(options.get(name, 1))


def check_of(row, mode):
    inputs, weights = INPUTS.get(kind(row), 1), WEIGHTS.get(kind(row), 0)
    tensors = 1 if mode == "forward" else inputs + weights
    error = verdict.rms_error(tensors)
    return Check(200 * tensors, verdict.errs(error), "exact", error)


def work(row, batch):
    """Multiply-adds, and elements that are read or written at least: forward."""
    shape, option = numbers(row)
    if kind(row) == "conv":
        kernel, _, inputs, outputs, size = shape
        weights = outputs * inputs // option("g") * kernel ** 2
        out = batch * math.ceil(size / option("s")) ** 2
        return weights * out, batch * inputs * size ** 2 + weights + outputs * out
    if kind(row) in ("product", "batched"):
        count, m, n, k = [1, *shape] if kind(row) == "product" else shape
        times = batch * count
        shared = n * k if kind(row) == "product" else times * n * k
        return times * m * n * k, times * m * (n + k) + shared
    if kind(row) == "attention":
        length, width = shape
        return 2 * batch * 6 * length ** 2 * width, 4 * batch * 6 * length * width
    return 0, elements(row, shape, option, batch)


def elements(row, shape, option, batch):
    """Of input and output."""
    if kind(row) in ("layernorm", "softmax"):
        return 2 * batch * shape[0] * shape[1]
    channels, size = shape[-2:]
    out = 1 if kind(row) == "globalpool" else math.ceil(size / option("s")) ** 2
    return batch * channels * (size ** 2 + out)


def floor(case, machine):
    """Milliseconds that the arithmetic or the bytes need; "backward" computes the output and both
    gradients, and touches everything and its gradient."""
    row, mode, batch = case.split("/")
    products, touched = work(row, int(batch))
    products, touched = (3 * products, 2 * touched) if mode == "backward" else (products, touched)
    return 1e3 * max(2 * products / machine.flops, 4 * touched / machine.bytes)


def peers_of(row, mode, batch):
    return ["torch", *(["onednn"] if kind(row) in ("conv", "product") else [])]


SWEEP = Sweep(rows=[*CONVOLUTIONS, *PRODUCTS, *BATCHED, *REST], modes=["forward", "backward"],
              columns=[1, 8, 32], peers_of=peers_of, check_of=check_of,
              models="models/layers_torch.py", programs={"onednn": "bench_layers_onednn"})
BENCHMARK = Benchmark(
    name="sweep-layers", about="single layers, by batch: forward and backward", unit="ms",
    cases=SWEEP.cases, peers=["torch", "onednn"], repeats=3, floor=floor, sweep=SWEEP)
