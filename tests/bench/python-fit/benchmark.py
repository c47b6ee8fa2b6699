"""Training LeNet by hr_train in C, and by Session.fit in Python with a function for every step."""
from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="python-fit", about="LeNet trained by fit in Python, against hr_train in C",
    unit="images/s", higher_is_better=True, cases=["batch-64"], peers=["python"], repeats=7)
