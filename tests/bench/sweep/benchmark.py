from harness.catalog import Benchmark, Sweep
from harness.networks import CHECKS, MODELS, MOST_OF_PEAK

ROWS = ["lenet", "resnet18", "resnet50", "mobilenet", "vgg", "unet", "encoder", "decoder", "lstm",
        "embedding"]
OF_IMAGES = ROWS[:6]


def peers_of(row, mode, batch):
    return ["torch", *(["torch-channels"] if row in OF_IMAGES else []),
            *(["onnxruntime"] if mode == "infer" else []),
            *(["torch-compile", "tensorflow"] if batch in (8, 32) else [])]


SWEEP = Sweep(rows=ROWS, modes=["infer", "train"], columns=[1, 2, 4, 7, 8, 9, 16, 32, 64],
              peers_of=peers_of,
              check_of=lambda row, mode: CHECKS[mode],
              extra_sides={"portable": {"HEADRACE_ONEDNN": "off"}},
              models=MODELS,
              most_of_peak=MOST_OF_PEAK)
BENCHMARK = Benchmark(
    name="sweep", about="ten networks, by batch: inference and training", unit="ms",
    cases=SWEEP.cases, peers=["torch", "torch-channels", "onnxruntime", "torch-compile", "tensorflow"],
    repeats=3, sweep=SWEEP)
