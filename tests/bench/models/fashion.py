"""Fashion-MNIST as NumPy arrays of bytes, from the IDX files of Debian's package."""
import gzip
import os

import numpy

FOLDER = os.environ.get("HEADRACE_FASHION_MNIST", "/usr/share/datasets/fashion-mnist")


def load(part):
    """part: train or t10k. Images [n, 28, 28] and labels [n], both uint8."""
    with gzip.open(f"{FOLDER}/{part}-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(f"{FOLDER}/{part}-labels-idx1-ubyte.gz") as file:
        return images, numpy.frombuffer(file.read(), numpy.uint8, offset=8)
