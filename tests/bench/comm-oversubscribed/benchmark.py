from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="comm-oversubscribed", about="sum of 1 KiB of floats on four processes (for machines with two cores)",
    unit="us", cases=["shm-1024", "tcp-1024"], peers=["gloo"], repeats=7, more_peers=["openmpi"])
