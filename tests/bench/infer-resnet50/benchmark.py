from harness import verdict
from harness.catalog import Benchmark, Check, Sweep

PEERS = ["onnxruntime", "torch", "torch-channels"]
SWEEP = Sweep(rows=["resnet50-224"], modes=["infer"], columns=[1, 8], peers_of=lambda *cell: PEERS,
              check_of=lambda row, mode: Check(64, verdict.scores_differ),
              models="models/networks_torch.py", most_of_peak={"infer": ("onnxruntime", 0.7)})
BENCHMARK = Benchmark(
    name="infer-resnet50", about="inference of ResNet-50 at 224 x 224", unit="ms", cases=SWEEP.cases,
    peers=PEERS, sweep=SWEEP, sides="sweep")
