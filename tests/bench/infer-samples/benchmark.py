from harness.catalog import Benchmark, Sweep
from harness.networks import CHECKS, MOST_OF_PEAK

# models/samples_onnx.py says what the samples' models are asked: a file, a window of sound, a page, a
# line, a text; or eight.
SWEEP = Sweep(rows=["filetype", "voice", "ocr-finds", "ocr-reads", "search", "search-int8"],
              modes=["infer"], columns=[1, 8], peers_of=lambda *cell: ["onnxruntime"],
              check_of=lambda row, mode: CHECKS[mode],
              models="models/samples_onnx.py", most_of_peak={"infer": MOST_OF_PEAK["infer"]})
BENCHMARK = Benchmark(
    name="infer-samples", about="the models of the samples: inference, alone and by eights",
    unit="ms", cases=SWEEP.cases, peers=["onnxruntime"], sweep=SWEEP)
