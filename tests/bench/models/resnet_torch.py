"""The ResNet-18 of the benchmarks in PyTorch."""
import torch

from harness.peer import THREADS

torch.set_num_threads(THREADS)
nn = torch.nn


def layer(inputs, outputs, kernel, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
                         nn.BatchNorm2d(outputs, track_running_stats=False))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.main = nn.Sequential(layer(inputs, outputs, 3, stride), nn.ReLU(inplace=True),
                                  layer(outputs, outputs, 3, 1))
        self.side = nn.Identity() if stride == 1 else layer(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu_(self.main(x) + self.side(x))


def network():
    stages = [nn.Sequential(Block(max(64, channels // 2), channels, 1 if channels == 64 else 2),
                            Block(channels, channels, 1)) for channels in (64, 128, 256, 512)]
    return nn.Sequential(layer(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), *stages,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def keep_statistics(model):
    """Makes it normalize by kept statistics."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean = torch.zeros(module.num_features)
            module.running_var = torch.ones(module.num_features)
            module.track_running_stats = True
    return model.eval()
