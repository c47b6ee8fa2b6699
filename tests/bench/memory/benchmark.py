from harness.catalog import Benchmark

# The images wait as the bytes that they are in the file; each batch becomes floats when it is used.
BENCHMARK = Benchmark(
    name="memory", about="peak resident memory of a process that trains LeNet at batch 64",
    unit="bytes", cases=["lenet"], peers=["torch", "tensorflow"], repeats=3, warm_up=False,
    fresh_process=True)
