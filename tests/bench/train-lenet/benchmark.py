from harness.catalog import Benchmark

# Multiply-adds of one image: conv1, conv2, fc1, fc2. Training is three such products (forward, by
# weights, by inputs) but two for the first layer, whose input needs no gradient; 2 operations each.
FLOPS = 2 * (2 * 24 * 24 * 20 * 25 + 3 * (8 * 8 * 50 * 500 + 800 * 500 + 500 * 10))

BENCHMARK = Benchmark(
    name="train-lenet", about="LeNet on Fashion-MNIST from memory, SGD with momentum",
    unit="images/s", higher_is_better=True, cases=["batch-64", "batch-256"],
    peers=["torch", "tensorflow"], more_peers=["torch-compile", "tensorflow-xla"],
    floor=lambda case, machine: machine.flops / FLOPS)
