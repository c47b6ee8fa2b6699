from harness.catalog import Benchmark

BENCHMARK = Benchmark(
    name="train-resnet18", about="one training step of ResNet-18 at 64 x 64, SGD with momentum",
    unit="ms", cases=[f"batch-{n}" for n in (1, 2, 4, 7, 8, 9, 12, 15, 16, 32)], peers=["torch"])
