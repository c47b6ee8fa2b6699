from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="run-overhead", about="one run of one Add on 4 floats", unit="us", cases=["one-add"],
    peers=["onnxruntime"], repeats=9, counted=True, floor=lambda case, machine: 1e6 * 4 / machine.flops)
