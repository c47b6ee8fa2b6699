"""Networks of models/networks_torch.py as benchmarks: how their sides agree, and single rows of the
sweep under names of their own."""
from . import verdict
from .catalog import Benchmark, Check, Sweep

MODELS = "models/networks_torch.py"
CHECKS = {"infer": Check(64, verdict.scores_differ),
          "train": Check(3, verdict.losses_differ, arbiter="torch",
                         as_near=verdict.losses_as_near)}
MOST_OF_PEAK = {"train": ("torch", 0.5), "infer": ("onnxruntime", 0.7)}
PEERS = {"infer": ["onnxruntime", "torch", "torch-channels"],
         "train": ["torch", "torch-channels", "torch-compile", "tensorflow"]}


def row_of_sweep(name, about, row, mode, batches):
    """The benchmark of an image network, measured by the sides of the sweep."""
    sweep = Sweep(rows=[row], modes=[mode], columns=batches, peers_of=lambda *cell: PEERS[mode],
                  check_of=lambda row, mode: CHECKS[mode], models=MODELS,
                  most_of_peak={mode: MOST_OF_PEAK[mode]})
    return Benchmark(name=name, about=about, unit="ms", cases=sweep.cases, peers=PEERS[mode],
                     sweep=sweep, sides="sweep")
