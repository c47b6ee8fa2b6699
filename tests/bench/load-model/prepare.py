"""Writes PREPARED/minilm.onnx: MiniLM with float32 weights."""
import os

import onnx

from models import minilm_onnx

onnx.save(minilm_onnx.with_float_weights(),
          os.path.join(os.environ["HEADRACE_BENCH_PREPARED"], "minilm.onnx"))
