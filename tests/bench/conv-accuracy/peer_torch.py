"""Rounding errors of PyTorch's convolutions: rms of float32 minus float64 over rms of float64."""
import functools
import re

import torch

from harness.peer import THREADS, serve

torch.set_num_threads(THREADS)


def uniform(*shape):
    return torch.rand(shape) * 2 - 1


def passes(x, w, dy, stride):
    """y, dx and dw."""
    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    y = torch.nn.functional.conv2d(x, w, stride=stride, padding=w.shape[-1] // 2)
    y.backward(dy.to(y.dtype))
    return y.detach(), x.grad, w.grad


def rms(values):
    return values.double().square().mean().sqrt().item()


@functools.lru_cache(maxsize=1)
def errors(kernel, stride, inputs, outputs, size, batch):
    torch.manual_seed(1)
    x, w = uniform(batch, inputs, size, size), uniform(outputs, inputs, kernel, kernel)
    out = (size - 1) // stride + 1
    dy = uniform(batch, outputs, out, out)
    exact = passes(x.double(), w.double(), dy, stride)
    return [rms(got - want) / rms(want) for got, want in zip(passes(x, w, dy, stride), exact)]


def run(case, repeats):
    shape, what = case.rsplit("-", 1)
    kernel, _, *rest = map(int, re.findall(r"\d+", shape))
    return [errors(kernel, *rest)[["forward", "data", "weights"].index(what)]] * repeats


serve(run)
