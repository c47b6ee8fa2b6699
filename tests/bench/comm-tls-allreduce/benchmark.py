from harness.catalog import Benchmark

# Two ranks: busbw in GB/s is bytes / us / 1000. The floor is our own all-reduce in plain text, and
# what AES-128-GCM takes for the bytes of one direction twice: each rank encrypts and decrypts them.
BENCHMARK = Benchmark(
    name="comm-tls-allreduce", about="sum of floats on two processes over TLS 1.3 on loopback",
    unit="us", cases=["bytes-1048576", "bytes-67108864"], peers=[], repeats=7,
    floor_program="bench_comm_tls_floor")
