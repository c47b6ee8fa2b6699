"""The encoder of the benchmarks as exporters write it for ONNX Runtime (operator set 17)."""
import math

import numpy
from onnx import TensorProto, helper, numpy_helper

from models import onnx_models

LAYERS, SIZE, HEADS, INNER, WORDS, CLASSES = 6, 384, 12, 1536, 1024, 10


class Builder:
    def __init__(self):
        self.nodes, self.initializers = [], []
        self._random = numpy.random.default_rng(1)

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def uniform(self, *dims, bound=1.0):
        return self.constant(self._random.uniform(-bound, bound, dims).astype("float32"))

    def op(self, name, *inputs, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(inputs), [out], **attributes))
        return out

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    def ints(self, *values):
        return self.constant(numpy.array(values, "int64"))

    def linear(self, x, inputs, outputs):
        product = self.op("MatMul", x, self.uniform(inputs, outputs, bound=1 / math.sqrt(inputs)))
        return self.op("Add", product, self.constant(numpy.zeros(outputs, "float32")))

    def norm(self, x):
        scale = self.constant(numpy.ones(SIZE, "float32"))
        return self.op("LayerNormalization", x, scale,
                       self.constant(numpy.zeros(SIZE, "float32")), axis=-1)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.scalar(math.sqrt(2))))
        product = self.op("Mul", x, self.op("Add", erf, self.scalar(1)))
        return self.op("Mul", product, self.scalar(0.5))

    def heads(self, x, length, perm):
        split = self.op("Reshape", self.linear(x, SIZE, SIZE),
                        self.ints(-1, length, HEADS, SIZE // HEADS))
        return self.op("Transpose", split, perm=perm)

    def attention(self, x, length):
        q, v = (self.heads(x, length, [0, 2, 1, 3]) for _ in range(2))
        scores = self.op("MatMul", q, self.heads(x, length, [0, 2, 3, 1]))
        scores = self.op("Div", scores, self.scalar(math.sqrt(SIZE // HEADS)))
        out = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        joined = self.op("Reshape", self.op("Transpose", out, perm=[0, 2, 1, 3]),
                         self.ints(-1, length, SIZE))
        return self.linear(joined, SIZE, SIZE)

    def layer(self, x, length):
        x = self.norm(self.op("Add", x, self.attention(x, length)))
        inner = self.gelu(self.linear(x, SIZE, INNER))
        return self.norm(self.op("Add", x, self.linear(inner, INNER, SIZE)))


class QuantizedBuilder(Builder):
    """The same with products of 8-bit numbers, as dynamic quantization writes them: an input by the
    range that it has, weights by a scale for each column."""

    def __init__(self):
        super().__init__()
        self._quantized = {}

    def quantized(self, x):
        if x not in self._quantized:
            outputs = [f"v{len(self.nodes)}{part}" for part in ("", "scale", "zero")]
            self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], outputs))
            self._quantized[x] = outputs
        return self._quantized[x]

    def linear(self, x, inputs, outputs):
        numbers, scale, zero = self.quantized(x)
        bound = 1 / math.sqrt(inputs)
        weights = self._random.uniform(-bound, bound, (inputs, outputs)).astype("float32")
        scales = abs(weights).max(axis=0) / numpy.float32(127)
        small = self.constant(numpy.rint(weights / scales).astype("int8"))
        total = self.op("Cast", self.op("MatMulInteger", numbers, small, zero), to=TensorProto.FLOAT)
        product = self.op("Mul", total, self.op("Mul", scale, self.constant(scales)))
        return self.op("Add", product, self.constant(numpy.zeros(outputs, "float32")))


def model(b, batch, length):
    """The model that computes the output "scores"."""
    x = b.op("Gather", b.uniform(WORDS, SIZE), "tokens")
    x = b.norm(b.op("Add", x, b.uniform(length, SIZE)))
    for _ in range(LAYERS):
        x = b.layer(x, length)
    scores = b.linear(b.op("ReduceMean", x, axes=[1], keepdims=0), SIZE, CLASSES)
    b.nodes.append(helper.make_node("Identity", [scores], ["scores"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(b.nodes, "bench", [value("tokens", TensorProto.INT64, [batch, length])],
                              [value("scores", TensorProto.FLOAT, [batch, CLASSES])], b.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def inference(batch, length, what=None):
    """A function that computes the scores by a model, or the path of one; float32 by default."""
    tokens = (numpy.arange(batch * length, dtype="int64") * 37 % WORDS).reshape(batch, length)
    session = onnx_models.session(model(Builder(), batch, length) if what is None else what)
    run = onnx_models.bound_run(session, {"tokens": tokens}, ["scores"])
    return lambda: (run(), tokens)  # what is bound must live
