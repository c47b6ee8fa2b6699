"""ONNX's tests of sequences and optionals as tests of tensors, which is what a run is fed and gives.

A sequence comes as its tensors, of which the graph makes the sequence, and goes as its length and its
tensors. An optional goes as whether there is something, and what.
"""
import numpy
import onnx
from onnx import helper, numpy_helper


def kind_of(type_proto):
    """"tensor_type", "sequence_type", "optional_type", …"""
    return type_proto.WhichOneof("value")


def element_of(type_proto):
    """The type of what a sequence or an optional holds."""
    return getattr(type_proto, kind_of(type_proto)).elem_type


def load(path, type_proto):
    """An array, a list of arrays for a sequence; None for an empty optional."""
    data, kind = path.read_bytes(), kind_of(type_proto)
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


class Unpacker:
    """A copy of a model that takes and gives tensors: `feeds` are its inputs' values by name, and
    `expected` what its outputs have to be."""

    def __init__(self, model, inputs, outputs):
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.feeds, self.expected = {}, {}
        self.before, self.after = [], []
        graph = self.model.graph
        declared, given = list(graph.input), list(graph.output)
        del graph.input[:], graph.output[:]
        for value, data in zip(declared, inputs):
            self.take(value, data)
        for value, data in zip(given, outputs):
            self.give(value.name, value.type, data)
            if kind_of(value.type) == "tensor_type":
                graph.output[-1].CopyFrom(value)
        nodes = [*self.before, *graph.node, *self.after]
        del graph.node[:]
        graph.node.extend(nodes)

    def take(self, value, data):
        """Makes the value `value` of inputs that are tensors."""
        kind, name = kind_of(value.type), value.name
        if kind == "sequence_type":
            self.take_sequence(name, element_of(value.type).tensor_type.elem_type, data)
        elif kind == "optional_type":
            held = helper.make_value_info(f"{name}/held", element_of(value.type))
            if data is not None:
                self.take(held, data)
            inputs, attributes = ([held.name], {}) if data is not None else ([], {"type": held.type})
            self.before.append(helper.make_node("Optional", inputs, [name], **attributes))
        else:
            self.model.graph.input.append(value)
            self.feeds[name] = data

    def take_sequence(self, name, dtype, arrays):
        elements = [f"{name}/{i}" for i in range(len(arrays))]
        for element, array in zip(elements, arrays):
            self.take(helper.make_tensor_value_info(element, dtype, array.shape), array)
        self.before.append(
            helper.make_node("SequenceConstruct", elements, [name]) if elements else
            helper.make_node("SequenceEmpty", [], [name], dtype=dtype))

    def give(self, name, type_proto, data):
        """Makes outputs that are tensors of the value called `name`."""
        kind = kind_of(type_proto)
        if kind == "sequence_type":
            self.give_sequence(name, element_of(type_proto).tensor_type.elem_type, data)
        elif kind == "optional_type":
            self.output(f"{name}/is", onnx.TensorProto.BOOL, numpy.array(data is not None))
            self.after.append(helper.make_node("OptionalHasElement", [name], [f"{name}/is"]))
            if data is not None:
                self.after.append(helper.make_node("OptionalGetElement", [name], [f"{name}/held"]))
                self.give(f"{name}/held", element_of(type_proto), data)
        else:
            self.output(name, type_proto.tensor_type.elem_type, data)

    def give_sequence(self, name, dtype, arrays):
        self.output(f"{name}/length", onnx.TensorProto.INT64, numpy.array(len(arrays)))
        self.after.append(helper.make_node("SequenceLength", [name], [f"{name}/length"]))
        for i, array in enumerate(arrays):
            at = f"{name}/{i}/at"
            self.after.append(helper.make_node("Constant", [], [at], value=numpy_helper.from_array(
                numpy.array(i))))
            self.after.append(helper.make_node("SequenceAt", [name, at], [f"{name}/{i}"]))
            self.output(f"{name}/{i}", dtype, array)

    def output(self, name, dtype, data):
        self.model.graph.output.append(helper.make_tensor_value_info(name, dtype, None))
        self.expected[name] = data
