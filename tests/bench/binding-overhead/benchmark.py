"""What a run costs in another language above C. A peer NAME is a side of the harness that the
script side_NAME PREFIX builds, against the Headrace in PREFIX, and becomes. It runs what ours.c
runs, through a prepared call with everything bound, in nanoseconds."""
from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="binding-overhead", about="a run of one Add on 4 floats in another language, above C",
    unit="ns", cases=["one-add"], peers=["go", "java", "rust", "python"], repeats=40, statistic="min",
    overhead=True, floor_program="bench_binding_overhead")
