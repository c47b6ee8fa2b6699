from harness.catalog import Benchmark

# One repeat is one seed, so the middle is the mean. The ratio is ours / theirs; the aim is a
# difference below 0.005.
BENCHMARK = Benchmark(
    name="accuracy", about="test accuracy of LeNet after 2 and 6 epochs at batch 64, mean of seeds",
    unit="accuracy", higher_is_better=True, cases=["2-epochs", "6-epochs"], peers=["torch"],
    warm_up=False, statistic="mean")
