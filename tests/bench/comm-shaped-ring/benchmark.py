from harness.catalog import Benchmark
from harness.shaped import PAYLOAD_RATE

ELEMENTS = 16 << 20       # floats, 64 MiB


def floor(case, machine):
    """Each rank sends and receives 2 * X * (N - 1) / N bytes at what the line leaves for payload."""
    ranks = int(case.removeprefix("n"))
    return 1e3 * 2 * 4 * ELEMENTS * (ranks - 1) / ranks / PAYLOAD_RATE


BENCHMARK = Benchmark(
    name="comm-shaped-ring",
    about="ring sum of 64 MiB of floats between network namespaces at 1 Gbit/s (needs root)",
    unit="ms", cases=["n2", "n4", "n8"], peers=[], repeats=5, floor=floor)
