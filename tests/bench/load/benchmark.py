from harness.catalog import Benchmark

# 64 matrices of 2048 x 2048 floats, multiplied one after the other; the file is in the page cache.
# Loading ends when a run could begin.
BENCHMARK = Benchmark(
    name="load", about="a file with 1 GiB of weights: time, and growth of resident memory",
    unit="s", units={"memory": "bytes"}, cases=["time", "memory"], peers=["onnxruntime"],
    more_peers=["onnxruntime-lean"], fresh_process=True)
