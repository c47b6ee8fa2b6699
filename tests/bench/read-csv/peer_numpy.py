"""Seconds from a CSV file to shuffled batches with numpy.loadtxt."""
import time

import numpy

from harness.peer import SCRATCH, serve

from shuffled import batches, path_of


def read(path):
    table = numpy.loadtxt(path, "float32", delimiter=",", skiprows=1, quotechar='"')
    return table[:, :-1], table[:, -1].astype("int64")


def run(case, repeats):
    path = path_of(SCRATCH, case)
    values = []
    for _ in range(repeats):
        start = time.perf_counter()
        batches(*read(path))
        values.append(time.perf_counter() - start)
    return values


serve(run)
