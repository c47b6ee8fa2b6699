from harness.catalog import Benchmark

# MiniLM as PyTorch exported it, with float32 weights: 90 MB of ONNX, and of a converted .hrg, both in
# the page cache. From opening the file to the end of the first run, in a process that has done
# nothing before.
BENCHMARK = Benchmark(
    name="load-model", about="a converted 90 MB model to its first result, batch 1, 16 tokens",
    unit="ms", cases=["first-result"], peers=["onnxruntime"], fresh_process=True, prepared=True,
    floor=lambda case, machine: 0.042e9 / machine.bytes * 1e3)  # reads all weights but the words'
