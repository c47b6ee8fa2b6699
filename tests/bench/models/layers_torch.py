"""The layers of `sweep-layers` in PyTorch, by their names, their data, and their ONNX files.

Run as a program (with a folder and names), it writes for each layer what the other sides read:
NAME-forward.onnx, NAME-backward.onnx, NAME-x0.pb … and NAME-dy.pb (the data of the largest batch),
NAME-gradients.txt (the weights, in order), and NAME.done.

All numbers are those of networks_torch.uniform, from a seed each: inputs have 0, 1, …, weights 8,
9, … and the gradient of the output 15.
"""
import pathlib
import re
import sys

import torch

from models import resnet_torch
from models.networks_torch import MOST, uniform, write_tensor

nn = torch.nn
functional = nn.functional
HEADS = 6
WEIGHT_SEED, OUTPUT_SEED = 8, 15


class Product(nn.Module):
    """a [M, K] times a weight [K, N], or [N, K] if it is transposed."""

    def __init__(self, n, k, transposed):
        super().__init__()
        self.weight = nn.Parameter(torch.empty((n, k) if transposed else (k, n)))
        self.transposed = transposed

    def forward(self, a):
        return a @ (self.weight.T if self.transposed else self.weight)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def convolution(numbers, options):
    """conv-KERNELxKERNEL-INxOUT-SIZE[-sSTRIDE][-gGROUPS], padded by half a kernel."""
    kernel, _, inputs, outputs, size = numbers
    return nn.Conv2d(inputs, outputs, kernel, options.get("s", 1), kernel // 2, bias=False,
                     groups=options.get("g", 1)), [(1, inputs, size, size)]


def product(numbers, options):
    """product-MxNxK[-tb]: M rows for an example, times a weight; with -tb it is given as [N, K]."""
    m, n, k = numbers
    return Product(n, k, "tb" in options), [(m, k)]


def batched(numbers, options):
    """batched-BxMxNxK[-tb]: B products for an example."""
    count, m, n, k = numbers
    if "tb" in options:
        return Function(lambda a, b: a @ b.transpose(1, 2)), [(count, m, k), (count, n, k)]
    return Function(torch.matmul), [(count, m, k), (count, k, n)]


def batch_norm(numbers, options):
    """batchnorm-CHANNELS-SIZE: by kept statistics forward, and by the batch's with backward."""
    channels, size = numbers
    return nn.BatchNorm2d(channels, track_running_stats=False), [(1, channels, size, size)]


def layer_norm(numbers, options):
    """layernorm-WIDTH-LENGTH"""
    width, length = numbers
    return nn.LayerNorm(width), [(1, length, width)]


def softmax(numbers, options):
    """softmax-WIDTH-ROWS"""
    width, rows = numbers
    return nn.Softmax(-1), [(1, rows, width)]


def attention(numbers, options):
    """attention-LENGTH-WIDTH[-causal]: HEADS heads of this width."""
    length, width = numbers
    causal = "causal" in options
    return Function(lambda q, k, v: functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal)), 3 * [(1, HEADS, length, width)]


def pool(kind):
    def make(numbers, options):
        """maxpool-KERNELxKERNEL-CHANNELS-SIZE-sSTRIDE, padded by half a kernel of odd size."""
        kernel, _, channels, size = numbers
        return kind(kernel, options["s"], kernel // 2 if kernel % 2 else 0), [
            (1, channels, size, size)]
    return make


def global_pool(numbers, options):
    """globalpool-CHANNELS-SIZE"""
    channels, size = numbers
    return nn.AdaptiveAvgPool2d(1), [(1, channels, size, size)]


KINDS = {"conv": convolution, "product": product, "batched": batched, "batchnorm": batch_norm,
         "layernorm": layer_norm, "softmax": softmax,
         "attention": attention, "maxpool": pool(nn.MaxPool2d), "avgpool": pool(nn.AvgPool2d),
         "globalpool": global_pool}


def made(name):
    """The layer, and the shapes of its inputs for a batch of 1; a batch multiplies dimension 0."""
    kind, *rest = name.split("-")
    options = {}
    for option in rest:
        if match := re.fullmatch(r"([a-z]+)(\d*)", option):
            options[match[1]] = int(match[2] or 0)
    numbers = [int(n) for part in rest if part[0].isdigit() for n in part.split("x")]
    module, shapes = KINDS[kind](numbers, options)
    with torch.no_grad():
        for number, (_, parameter) in enumerate(weights(module)):
            parameter.copy_(uniform(parameter.shape, WEIGHT_SEED + number))
    return module, shapes


def weights(module):
    return sorted(module.named_parameters())


def of_batch(shape, batch):
    return shape[0] * batch, *shape[1:]


def inputs(shapes, batch):
    return [uniform(of_batch(shape, batch), number) for number, shape in enumerate(shapes)]


def output_gradient(module, shapes, batch):
    with torch.no_grad():
        shape = module(*inputs(shapes, batch)).shape
    return uniform(shape, OUTPUT_SEED)


def export(module, shapes, training, path):
    module = resnet_torch.keep_statistics(module).train(training)
    names = [f"x{number}" for number in range(len(shapes))]
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(module, tuple(inputs(shapes, 2)), path, dynamo=False, training=mode,
                      do_constant_folding=not training, opset_version=18, input_names=names,
                      output_names=["y"], dynamic_axes={name: {0: "batch"} for name in [*names, "y"]})


def write(name, folder):
    module, shapes = made(name)
    for number, tensor in enumerate(inputs(shapes, MOST)):
        write_tensor(tensor.numpy(), folder / f"{name}-x{number}.pb")
    write_tensor(output_gradient(module, shapes, MOST).numpy(), folder / f"{name}-dy.pb")
    (folder / f"{name}-gradients.txt").write_text("".join(f"{one}\n" for one, _ in weights(module)))
    export(module, shapes, True, folder / f"{name}-backward.onnx")
    export(module, shapes, False, folder / f"{name}-forward.onnx")
    (folder / f"{name}.done").touch()


if __name__ == "__main__":
    for one in sys.argv[2:]:
        write(one, pathlib.Path(sys.argv[1]))
