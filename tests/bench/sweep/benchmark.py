from harness import verdict
from harness.catalog import Benchmark, Sweep

ROWS = ["lenet", "resnet18", "resnet50", "mobilenet", "vgg", "unet", "encoder", "decoder", "lstm",
        "embedding"]
OF_IMAGES = ROWS[:6]


def peers_of(row, mode, batch):
    return ["torch", *(["torch-channels"] if row in OF_IMAGES else []),
            *(["onnxruntime"] if mode == "infer" else [])]


SWEEP = Sweep(rows=ROWS, modes=["infer", "train"], columns=[1, 2, 4, 7, 8, 9, 16, 32, 64],
              peers_of=peers_of,
              checks={"infer": (64, verdict.scores_differ), "train": (3, verdict.losses_differ)},
              extra_sides={"portable": {"HEADRACE_ONEDNN": "off"}},
              models="models/networks_torch.py")
BENCHMARK = Benchmark(
    name="sweep", about="ten networks, by batch: inference and training", unit="ms",
    cases=SWEEP.cases, peers=["torch", "torch-channels", "onnxruntime"], repeats=3, sweep=SWEEP)
