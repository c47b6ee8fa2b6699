from harness.catalog import Benchmark

WEIGHTS = 784 * 128 + 128 * 10
PARAMETERS = WEIGHTS + 128 + 10


def floor(case, machine):
    """Microseconds of the arithmetic alone: the products (no gradient by the images) and the
    update, 4 operations a parameter."""
    batch = int(case.removeprefix("batch-"))
    products = 2 * (2 * 784 * 128 + 3 * 128 * 10) * batch
    return 1e6 * (products + 4 * PARAMETERS) / machine.flops


BENCHMARK = Benchmark(
    name="train-mlp", about="overhead (step less arithmetic) of training 784-128-10, SGD, momentum",
    unit="us over the floor", cases=["batch-1", "batch-32"], peers=["torch", "tensorflow"],
    more_peers=["torch-compile", "tensorflow-xla"], floor=floor, overhead=True)
