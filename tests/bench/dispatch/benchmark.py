from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="dispatch", about="one node of a chain of 1,000 Add on 4 floats, fusion off on both sides",
    unit="ns/node", cases=["chain-1000"], peers=["onnxruntime"], repeats=9, counted=True,
    floor=lambda case, machine: 1e9 * 4 / machine.flops)
