"""Writes PREPARED/encoder-CASE.onnx, the quantized encoder of each case."""
import os
import pathlib
import sys

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from models import encoder_onnx  # noqa: E402

for case in ("8x128", "1x128", "1x16"):
    batch, length = (int(n) for n in case.split("x"))
    onnx.save(encoder_onnx.model(encoder_onnx.QuantizedBuilder(), batch, length),
              os.path.join(os.environ["HEADRACE_BENCH_PREPARED"], f"encoder-{case}.onnx"))
