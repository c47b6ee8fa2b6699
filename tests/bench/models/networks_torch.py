"""The networks of `sweep` in PyTorch, their data, and their ONNX files.

Run as a program (with a folder, and perhaps names), it writes for each network what the other sides
read: NAME-infer.onnx, NAME-train.onnx (normalizations by the batch), NAME-x.pb and NAME-labels.pb
(the data of the largest batch), NAME-optimizer.txt (as hr_graph_minimize takes it, and a learning
rate), and NAME.done.
"""
import dataclasses
import pathlib
import sys
from typing import Callable

import numpy
import torch

from models import resnet_torch

nn = torch.nn
functional = nn.functional
MOST = 64  # the largest batch
SIZE = 64  # of images, both ways
LENGTH = 128  # of sequences
WIDTH, HEADS = 384, 6  # of transformers


def layer(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU):
    """A convolution, a normalization by the batch, and an activation unless it is None."""
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
             nn.BatchNorm2d(outputs, track_running_stats=False)]
    return nn.Sequential(*parts, *([] if activation is None else [activation()]))


class Residual(nn.Module):
    def __init__(self, main, side=None, last=None):
        super().__init__()
        self.main, self.side, self.last = main, side or nn.Identity(), last or nn.Identity()

    def forward(self, x):
        return self.last(self.main(x) + self.side(x))


def head(channels, classes=1000):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def lenet():
    """LeNet for 64 x 64 pixels."""
    return nn.Sequential(nn.Conv2d(3, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(50 * 13 * 13, 500),
                         nn.ReLU(), nn.Linear(500, 10))


def bottleneck(inputs, channels, stride):
    outputs = 4 * channels
    side = None if inputs == outputs else layer(inputs, outputs, 1, stride, activation=None)
    return Residual(nn.Sequential(layer(inputs, channels, 1), layer(channels, channels, 3, stride),
                                  layer(channels, outputs, 1, activation=None)), side, nn.ReLU())


def resnet50():
    """He et al., arXiv:1512.03385, table 1, with the stride in the 3 x 3 convolutions."""
    blocks, inputs = [], 64
    for channels, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(count):
            stride = 2 if number == 0 and channels > 64 else 1
            blocks.append(bottleneck(inputs, channels, stride))
            inputs = 4 * channels
    return nn.Sequential(layer(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks, head(inputs))


def resnet20():
    """For images of 32 x 32 (He et al., arXiv:1512.03385, section 4.2), with convolutions where the
    size changes."""
    blocks, inputs = [], 16
    for outputs in (16, 32, 64):
        for number in range(3):
            stride = 2 if number == 0 and outputs > 16 else 1
            blocks.append(resnet_torch.Block(inputs, outputs, stride))
            inputs = outputs
    return nn.Sequential(layer(3, 16, 3), *blocks, head(64, 10))


def inverted(inputs, outputs, stride, expansion):
    inner = inputs * expansion
    parts = [] if expansion == 1 else [layer(inputs, inner, 1, activation=nn.ReLU6)]
    parts += [layer(inner, inner, 3, stride, groups=inner, activation=nn.ReLU6),
              layer(inner, outputs, 1, activation=None)]
    main = nn.Sequential(*parts)
    return Residual(main) if stride == 1 and inputs == outputs else main


def mobilenet():
    """MobileNetV2 (Sandler et al., arXiv:1801.04381, table 2)."""
    blocks, inputs = [layer(3, 32, 3, 2, activation=nn.ReLU6)], 32
    for expansion, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                              (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                              (6, 320, 1, 1)):
        for number in range(count):
            blocks.append(inverted(inputs, outputs, stride if number == 0 else 1, expansion))
            inputs = outputs
    return nn.Sequential(*blocks, layer(inputs, 1280, 1, activation=nn.ReLU6), head(1280))


def vgg():
    """VGG-11 (Simonyan and Zisserman, arXiv:1409.1556, column A) for 64 x 64 pixels."""
    parts, inputs = [], 3
    for outputs, pool in ((64, 1), (128, 1), (256, 0), (256, 1), (512, 0), (512, 1), (512, 0),
                          (512, 1)):
        parts += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
        parts += [nn.MaxPool2d(2)] if pool else []
        inputs = outputs
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(512 * 2 * 2, 1024), nn.ReLU(),
                         nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1000))


class UNet(nn.Module):
    """Ronneberger et al., arXiv:1505.04597, with padding, normalization and half the channels."""

    def __init__(self, channels=(32, 64, 128, 256), classes=4):
        super().__init__()
        self.down, self.up, self.joined = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        inputs = 3
        for outputs in channels:
            self.down.append(nn.Sequential(layer(inputs, outputs, 3), layer(outputs, outputs, 3)))
            inputs = outputs
        for outputs in reversed(channels[:-1]):
            self.up.append(nn.ConvTranspose2d(inputs, outputs, 2, 2))
            self.joined.append(nn.Sequential(layer(2 * outputs, outputs, 3),
                                             layer(outputs, outputs, 3)))
            inputs = outputs
        self.scores = nn.Conv2d(inputs, classes, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(functional.max_pool2d(kept[-1], 2) if kept else x)
            kept.append(x)
        for up, joined, beside in zip(self.up, self.joined, reversed(kept[:-1])):
            x = joined(torch.cat([beside, up(x)], 1))
        return self.scores(x)


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal
        self.inner, self.outer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.reshape(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.inner(x).split(WIDTH, -1))
        x = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.outer(x.transpose(1, 2).reshape(-1, LENGTH, WIDTH))


class Transformer(nn.Module):
    """Six layers of width 384, normalized before each part (Radford et al., 2019)."""

    def __init__(self, causal, vocabulary, classes):
        super().__init__()
        self.causal, self.classes = causal, classes
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        parts = []
        for _ in range(6):
            parts += [Residual(nn.Sequential(nn.LayerNorm(WIDTH), Attention(causal))),
                      Residual(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH),
                                             nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)))]
        self.body = nn.Sequential(*parts, nn.LayerNorm(WIDTH))
        self.scores = nn.Linear(WIDTH, classes)

    def forward(self, tokens):
        x = self.body(self.words(tokens) + self.places)
        return self.scores(x).reshape(-1, self.classes) if self.causal else self.scores(x.mean(1))


class LSTM(nn.Module):
    """Two layers of 256, which predict the next of 256 characters."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(256, 256)
        self.cells = nn.LSTM(256, 256, 2, batch_first=True)
        self.scores = nn.Linear(256, 256)

    def forward(self, tokens):
        return self.scores(self.cells(self.words(tokens))[0]).reshape(-1, 256)


def embedding_mlp():
    """Sixteen categories of a record, of 50,000 all together, and three dense layers."""
    return nn.Sequential(nn.Embedding(50000, 32), nn.Flatten(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


@dataclasses.dataclass
class Network:
    make: Callable
    shape: tuple = (3, SIZE, SIZE)  # of one input
    vocabulary: int = 0             # of tokens; 0: pixels
    labels: tuple = ()              # of one input
    adam: bool = False


NETWORKS = {
    "lenet": Network(lenet),
    "resnet18": Network(resnet_torch.network),
    "resnet20": Network(resnet20, (3, 32, 32)),
    "resnet50": Network(resnet50),
    "resnet50-224": Network(resnet50, (3, 224, 224)),
    "mobilenet": Network(mobilenet),
    "mobilenet-224": Network(mobilenet, (3, 224, 224)),
    "vgg": Network(vgg),
    "unet": Network(UNet, labels=(SIZE, SIZE)),
    "encoder": Network(lambda: Transformer(False, 8192, 10), (LENGTH,), 8192, adam=True),
    "decoder": Network(lambda: Transformer(True, 4096, 4096), (LENGTH,), 4096, (LENGTH,), True),
    "lstm": Network(LSTM, (LENGTH,), 256, (LENGTH,), True),
    "embedding": Network(embedding_mlp, (16,), 50000, adam=True),
}
# Of SGD, of Adam: so low that rounding does not grow with the steps.
RATES = {False: 1e-5, True: 1e-5}
OPTIMIZERS = {False: "sgd momentum=0.9", True: "adam weight_decay=0.01 decoupled=1"}


def made(name):
    torch.manual_seed(1)
    return NETWORKS[name].make()


def random(shape, seed=0):
    """Integers below 2^24, the same ones everywhere: a hash of each element's number."""
    numbers = (torch.arange(torch.Size(shape).numel()) + (seed << 26)) * 2654435761 % 2 ** 32
    numbers = (numbers ^ numbers >> 16) * 73244475 % 2 ** 32
    return (numbers >> 8 ^ numbers % 2 ** 24).reshape(shape)


def uniform(shape, seed=0):
    """Numbers from -1 to 1."""
    return random(shape, seed).float() / 2 ** 23 - 1


def inputs(name, batch):
    network = NETWORKS[name]
    shape = (batch, *network.shape)
    return random(shape) % network.vocabulary if network.vocabulary else uniform(shape)


def labels(name, batch):
    """Classes, of the shape of the scores without their dimension 1."""
    shape = NETWORKS[name].labels
    shape = (batch * LENGTH,) if shape == (LENGTH,) else (batch, *shape)
    return random(shape) // 16 % (4 if name == "unet" else 10)


def optimizer(name, model):
    if NETWORKS[name].adam:
        return torch.optim.AdamW(model.parameters(), lr=RATES[True], weight_decay=0.01, fused=True)
    return torch.optim.SGD(model.parameters(), lr=RATES[False], momentum=0.9, fused=True)


def write_tensor(tensor, path):
    from onnx import numpy_helper
    path.write_bytes(numpy_helper.from_array(numpy.ascontiguousarray(tensor)).SerializeToString())


def export(name, training, path):
    model = resnet_torch.keep_statistics(made(name)).train(training)
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(model, (inputs(name, 2),), path, dynamo=False, training=mode,
                      do_constant_folding=True, opset_version=18, input_names=["x"],
                      output_names=["scores"],
                      dynamic_axes={"x": {0: "batch"}, "scores": {0: "examples"}})


def write(name, folder):
    adam = NETWORKS[name].adam
    (folder / f"{name}-optimizer.txt").write_text(f"{OPTIMIZERS[adam]}\n{RATES[adam]}\n")
    write_tensor(inputs(name, MOST).numpy(), folder / f"{name}-x.pb")
    write_tensor(labels(name, MOST).numpy(), folder / f"{name}-labels.pb")
    export(name, False, folder / f"{name}-infer.onnx")
    export(name, True, folder / f"{name}-train.onnx")
    (folder / f"{name}.done").touch()


if __name__ == "__main__":
    for one in sys.argv[2:] or NETWORKS:
        write(one, pathlib.Path(sys.argv[1]))
