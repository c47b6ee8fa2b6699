from harness.catalog import Benchmark

# Two ranks: busbw in GB/s is bytes / us / 1000. The floor is a bare exchange of the same bytes over
# one socket, full duplex (of 4 bytes: one way).

BENCHMARK = Benchmark(
    name="comm-tcp-allreduce", about="sum of floats on two processes over TCP on loopback",
    unit="us", cases=["bytes-4", "bytes-1048576", "bytes-67108864"], peers=["openmpi", "gloo"], repeats=7, floor_program="bench_comm_exchange")
