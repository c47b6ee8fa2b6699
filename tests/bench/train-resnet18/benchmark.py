from harness import verdict
from harness.catalog import Benchmark, Check, Sweep

PEERS = ["torch", "torch-channels", "torch-compile", "tensorflow"]
SWEEP = Sweep(rows=["resnet18"], modes=["train"], columns=[8, 32], peers_of=lambda *cell: PEERS,
              check_of=lambda row, mode: Check(3, verdict.losses_differ),
              models="models/networks_torch.py", most_of_peak={"train": ("torch", 0.5)})
BENCHMARK = Benchmark(
    name="train-resnet18", unit="ms", cases=SWEEP.cases, peers=PEERS, sweep=SWEEP, sides="sweep",
    about="one training step of ResNet-18 at 64 x 64, SGD with momentum")
