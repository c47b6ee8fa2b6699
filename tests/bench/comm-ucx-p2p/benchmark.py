from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="comm-ucx-p2p",
    about="a message between two processes through UCX's shared memory, one way",
    unit="us", cases=["bytes-8", "bytes-65536", "bytes-1048576"], peers=["ucx"], repeats=7)
