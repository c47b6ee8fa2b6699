"""The network of mirrored-overlap, and what a step of it takes at least; ours.c has the same."""
from harness.shaped import PAYLOAD_RATE

INPUTS, CLASSES, HIDDEN, BATCH = 784, 10, 3, 2048
WIDTHS = {25: 1354, 100: 2832}  # by megabytes of weights
BUCKET = 4 << 20                # bytes: a layer of width x width fills one


def transfer(elements, ranks):
    """Seconds of an all-reduce of floats."""
    return 2 * 4 * elements * (ranks - 1) / ranks / PAYLOAD_RATE


def least(width, ranks, forward, backward):
    """Seconds of a step, by those of its passes. The first layer's gradients come last."""
    last = (INPUTS + 1) * width
    elements = last + HIDDEN * (width + 1) * width + (width + 1) * CLASSES
    return forward + max(backward, transfer(elements, ranks)) + transfer(last, ranks)
