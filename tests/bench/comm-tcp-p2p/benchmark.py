from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="comm-tcp-p2p", about="a message between two processes over TCP on loopback, one way",
    unit="us", cases=["bytes-8", "bytes-65536", "bytes-1048576"], peers=["openmpi", "gloo"], repeats=7, floor_program="bench_comm_exchange")
