"""What the peers share: the file that our side has written, and how arrays become batches."""
import os

import numpy

BATCH = 256


def path_of(scratch, case):
    path = os.path.join(scratch, f"{case}.csv")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is written by our side, which has to run first")
    return path


def batches(features, labels):
    order = numpy.random.default_rng(1).permutation(len(labels))
    total = 0.0
    for begin in range(0, len(labels), BATCH):
        rows = order[begin:begin + BATCH]
        batch, wanted = features[rows], labels[rows]
        total += batch[0, 0] + wanted[0]
    if total <= 0:
        raise ValueError("there are no numbers")
