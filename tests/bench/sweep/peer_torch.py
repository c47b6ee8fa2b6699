"""The networks of the sweep in PyTorch: eagerly, `channels` last, or with torch.`compile`; and, for
CASE/exact of a training, eagerly in float64."""
import sys

import torch

from harness.peer import THREADS, Cells, place, serve
from models import networks_torch, resnet_torch

torch.set_num_threads(THREADS)
VARIANT = sys.argv[1] if len(sys.argv) > 1 else ""


def laid_out(tensor_or_model):
    images = not isinstance(tensor_or_model, torch.Tensor) or tensor_or_model.dim() == 4
    if VARIANT == "channels" and images:
        return tensor_or_model.to(memory_format=torch.channels_last)
    return tensor_or_model


def compiled(model):
    return torch.compile(model) if VARIANT == "compile" else model


def elements(tensor, count):
    flat = tensor.detach().reshape(-1)
    return [flat[place(flat.numel(), i, count)].item() for i in range(count)]


def steps(name, batch, dtype=torch.float32):
    model = laid_out(networks_torch.made(name).train().to(dtype))
    optimizer = networks_torch.optimizer(name, model)
    x, labels = laid_out(networks_torch.inputs(name, batch)), networks_torch.labels(name, batch)
    if x.is_floating_point():
        x = x.to(dtype)
    network, loss_of = compiled(model), torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(network(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training(name, batch):
    def losses(step):
        return lambda count: [step().item() for _ in range(count)]

    step = steps(name, batch)
    return step, losses(step), lambda count: losses(steps(name, batch, torch.float64))(count)


def inference(name, batch):
    model = laid_out(resnet_torch.keep_statistics(networks_torch.made(name)))
    network, x = compiled(model), laid_out(networks_torch.inputs(name, batch))

    def run():
        with torch.inference_mode():
            return network(x)

    return run, lambda count: elements(run(), count)


def make(name, mode, batch):
    return (training if mode == "train" else inference)(name, batch)


serve(Cells(make).answer)
