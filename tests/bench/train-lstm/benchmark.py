from harness.catalog import Benchmark

STEPS, INPUTS, UNITS = 64, 128, 256


def floor(case, machine):
    """Milliseconds of the products: one forward, two backward."""
    batch = int(case.removeprefix("batch-"))
    weights = 4 * UNITS * (INPUTS + UNITS + 2 * UNITS)
    return 3e3 * 2 * STEPS * batch * weights / machine.flops


BENCHMARK = Benchmark(
    name="train-lstm", about="one training step of an LSTM network (2 x 256, 64 steps), Adam",
    unit="ms", cases=["batch-32", "batch-1", "batch-128"], peers=["torch"], floor=floor)
