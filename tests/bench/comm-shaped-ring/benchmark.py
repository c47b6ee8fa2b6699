from harness.catalog import Benchmark

ELEMENTS = 16 << 20       # floats, 64 MiB
LINE = 1e9 / 8            # bytes a second
PAYLOAD = 1500 - 40 - 12  # of a frame at the MTU: less IPv4, TCP and its time stamps
FRAME = 1500 + 14         # as the shaper counts it, with Ethernet's header


def floor(case, machine):
    """Each rank sends and receives 2 * X * (N - 1) / N bytes at what the line leaves for payload."""
    ranks = int(case.removeprefix("n"))
    return 1e3 * 2 * 4 * ELEMENTS * (ranks - 1) / ranks / (LINE * PAYLOAD / FRAME)


BENCHMARK = Benchmark(
    name="comm-shaped-ring",
    about="ring sum of 64 MiB of floats between network namespaces at 1 Gbit/s (needs root)",
    unit="ms", cases=["n2", "n4", "n8"], peers=[], repeats=5, floor=floor)
