from harness.catalog import Benchmark

# Four dense layers of 256 with ReLU, for 1, 2, … 256 rows bounded by 256: the pass over all sizes
# that meets them first, the same without bounds, a pass that has met them, and the growth of
# resident memory by the first pass.
BENCHMARK = Benchmark(
    name="growing", about="inference over sizes growing from 1 to 256: time of a pass, and memory",
    unit="ms", units={"memory": "bytes", "memory-unbounded": "bytes"},
    cases=["first", "first-unbounded", "again", "memory", "memory-unbounded"], peers=[],
    fresh_process=True)
