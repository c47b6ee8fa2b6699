from harness.catalog import Benchmark


def floor(case, machine):
    """Two ranks that read an input and write a result, at the speed of a copy that fits no cache."""
    size = int(case.removeprefix("bytes-"))
    return 1e6 * 2 * 2 * size / machine.bytes if size > 16 << 20 else None


# Two ranks: busbw in GB/s is bytes / us / 1000.
BENCHMARK = Benchmark(
    name="comm-shm-allreduce", about="sum of floats on two processes through shared memory",
    unit="us", cases=["bytes-4", "bytes-1024", "bytes-65536", "bytes-1048576", "bytes-67108864"],
    peers=["openmpi"], repeats=7, floor=floor)
