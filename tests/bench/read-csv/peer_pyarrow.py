"""Seconds from a CSV file to shuffled batches with pyarrow.csv, whose columns become one array."""
import time

import numpy
import pyarrow
from pyarrow import csv

from harness.peer import SCRATCH, THREADS, serve

from shuffled import batches, path_of

pyarrow.set_cpu_count(THREADS)


def read(path):
    names = [f"x{i}" for i in range(20)]
    types = {**{name: pyarrow.float32() for name in names}, "label": pyarrow.int64()}
    table = csv.read_csv(path, read_options=csv.ReadOptions(use_threads=THREADS > 1),
                         convert_options=csv.ConvertOptions(column_types=types))
    features = numpy.empty((table.num_rows, len(names)), "float32")
    for i, name in enumerate(names):
        features[:, i] = table[name].to_numpy()
    return features, table["label"].to_numpy()


def run(case, repeats):
    path = path_of(SCRATCH, case)
    values = []
    for _ in range(repeats):
        start = time.perf_counter()
        batches(*read(path))
        values.append(time.perf_counter() - start)
    return values


serve(run)
