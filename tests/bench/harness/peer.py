"""For the peers' side (see side.py for the protocol). Standard library only."""
import ctypes
import gc
import json
import os
import statistics
import sys
import time

THREADS = int(os.environ.get("HEADRACE_BENCH_THREADS", "2"))
SCRATCH = os.environ.get("HEADRACE_BENCH_SCRATCH", "/tmp")
PREPARED = os.environ.get("HEADRACE_BENCH_PREPARED", "/tmp")  # what prepare.py has written


def serve(run):
    """Answers with run(case, repeats), a list of values or a whole answer, until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    for line in sys.stdin:
        case, repeats = line.split()
        try:
            values = run(case, int(repeats))
            answer = values if isinstance(values, dict) else {"values": values}
        except Exception as error:  # the harness shows it
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


def bind(rank, ranks):
    """As bench_bind of side.h."""
    cores = sorted(os.sched_getaffinity(0))
    if ranks <= len(cores):
        os.sched_setaffinity(0, cores[rank:rank + 1])


def place(elements, i, count):
    """As bench_place of cells.h."""
    begin, end = elements * i // count, elements * (i + 1) // count
    return begin + ((end - begin) * (i * 2654435769 % 2 ** 32) >> 32)


def seconds_each(step, count, repeats):
    """`repeats` times: how long one of `count` calls of step takes."""
    values = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            step()
        values.append((time.perf_counter() - start) / count)
    return values


def calls_for(step, seconds):
    """How many calls of step take about so long; warms it up on the way."""
    count, taken = 1, 0.0
    while taken < seconds / 10:
        count *= 2
        taken = seconds_each(step, count, 1)[0] * count
    return max(1, int(count * seconds / taken))


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_resident_bytes():
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def forget_peak():
    """As bench_forget_peak of side.h."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


class Cells:
    """Serves cases such as "resnet18/train/8/time" (the last: time in ms, peak in bytes, or check),
    of which only the last cell's network is in memory.

    make(network, mode, batch) gives two functions: one makes a run, and one gives so many numbers
    that all sides have to agree in; and perhaps a third, which gives these numbers exactly, for
    "resnet18/train/8/exact".
    """
    SECONDS = 0.4  # of a measurement

    def __init__(self, make):
        self._make, self._cell, self._run, self._count, self._numbers = make, None, None, None, {}

    def answer(self, case, repeats):
        cell, _, what = case.rpartition("/")
        if cell != self._cell:
            self._switch(cell)
        if what in self._numbers:
            return self._numbers[what](repeats)
        if what == "peak":
            return [peak_resident_bytes()] * repeats
        if self._count is None:
            self._count = min(1000, max(1, int(self.SECONDS / seconds_each(self._run, 1, 1)[0])))
        return [1e3 * statistics.median_high(seconds_each(self._run, 1, self._count))
                for _ in range(repeats)]

    def _switch(self, cell):
        self._cell = self._run = self._count = None
        self._numbers.clear()
        forget_peak()
        network, mode, batch = cell.split("/")
        self._run, *numbers = self._make(network, mode, int(batch))
        self._numbers.update(zip(("check", "exact"), numbers))
        self._cell = cell
