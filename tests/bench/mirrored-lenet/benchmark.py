from harness.catalog import Benchmark

# The floor of training together is training apart, beside each other, in the same run: its case.
BENCHMARK = Benchmark(
    name="mirrored-lenet",
    about="LeNet on two processes of one thread, batch 64 each: one model together, two apart",
    unit="images/s", higher_is_better=True, cases=["together", "apart"], peers=["torch"],
    floor=lambda case, machine: None)
