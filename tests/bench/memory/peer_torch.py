"""Peak resident bytes of 300 steps of LeNet in PyTorch."""
from harness.peer import peak_resident_bytes, serve
from models import lenet_torch

BATCH, STEPS = 64, 300


def run(case, repeats):
    images, labels = lenet_torch.data("train")
    model = lenet_torch.network()
    step = lenet_torch.train_step(model, lenet_torch.optimizer(model))
    for at in range(0, STEPS * BATCH, BATCH):
        step(lenet_torch.pixels(images[at:at + BATCH]), labels[at:at + BATCH])
    return [peak_resident_bytes()] * repeats


serve(run)
