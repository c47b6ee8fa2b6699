from harness import verdict
from harness.catalog import Benchmark, Check, Sweep

PEERS = ["torch", "torch-channels", "torch-compile", "tensorflow"]
SWEEP = Sweep(rows=["resnet20"], modes=["train"], columns=[64], peers_of=lambda *cell: PEERS,
              check_of=lambda row, mode: Check(3, verdict.losses_differ),
              models="models/networks_torch.py", most_of_peak={"train": ("torch", 0.5)})
BENCHMARK = Benchmark(
    name="train-resnet20", unit="ms", cases=SWEEP.cases, peers=PEERS, sweep=SWEEP, sides="sweep",
    about="one training step of ResNet-20 at 32 x 32, SGD with momentum")
