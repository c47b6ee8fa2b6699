"""The layers of sweep-layers in PyTorch, and in float64 for CASE/exact."""
import torch

from harness.peer import THREADS, Cells, place, serve
from models import layers_torch, resnet_torch

torch.set_num_threads(THREADS)


def elements(tensors, count):
    """As many of each tensor."""
    each = count // len(tensors)
    flat = [tensor.detach().reshape(-1) for tensor in tensors]
    return [one[place(one.numel(), i, each)].item() for one in flat for i in range(each)]


def functions(name, mode, batch, dtype):
    """One that computes the layer, and one that gives what it has computed."""
    module, shapes = layers_torch.made(name)
    x = [tensor.to(dtype) for tensor in layers_torch.inputs(shapes, batch)]
    if mode == "forward":
        module = resnet_torch.keep_statistics(module).to(dtype)

        def forward():
            with torch.inference_mode():
                return module(*x)

        return forward, lambda: [forward()]
    dy = layers_torch.output_gradient(module, shapes, batch).to(dtype)
    module = module.to(dtype).train()
    wanted = [tensor.requires_grad_() for tensor in x]
    wanted += [weight for _, weight in layers_torch.weights(module)]

    def backward():
        return torch.autograd.grad(module(*x), wanted, dy)

    return backward, backward


def make(name, mode, batch):
    run, results = functions(name, mode, batch, torch.float32)
    return run, lambda count: elements(results(), count), lambda count: elements(
        functions(name, mode, batch, torch.float64)[1](), count)


serve(Cells(make).answer)
