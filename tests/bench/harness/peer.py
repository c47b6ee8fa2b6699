"""For the peers' side (see side.py for the protocol). Standard library only."""
import json
import os
import sys
import time

THREADS = int(os.environ.get("HEADRACE_BENCH_THREADS", "2"))
SCRATCH = os.environ.get("HEADRACE_BENCH_SCRATCH", "/tmp")


def serve(run):
    """Answers with run(case, repeats) until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    for line in sys.stdin:
        case, repeats = line.split()
        try:
            answer = {"values": run(case, int(repeats))}
        except Exception as error:  # the harness shows it
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


def bind(rank, ranks):
    """As bench_bind of side.h."""
    cores = sorted(os.sched_getaffinity(0))
    if ranks <= len(cores):
        os.sched_setaffinity(0, cores[rank:rank + 1])


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
