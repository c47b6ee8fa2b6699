"""hr_model_export: node tests go to .hrg files and back, and are what they were.

usage: export_test.py LIBRARY
"""
import ctypes
import json
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from headrace import ConvertedFile, Env, Failure, Library
except ImportError as error:
    print(f"skipped: {error}; cmake/setup tests installs what is missing")
    sys.exit(77)

NODE_TESTS = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
FLOAT = TensorProto.FLOAT
ENV = None


class ExportOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("external_data", ctypes.c_int32),
                ("signature", ctypes.c_char_p)]


def export(source, target, **options):
    given = ExportOptions(ctypes.sizeof(ExportOptions), **options)
    library = ENV.library
    text = library.make("hr_model_export", ENV.handle, str(source).encode(),
                        str(target).encode(), ctypes.byref(given), None)
    report = json.loads(library.c.hr_text_data(text))
    library.c.hr_text_release(text)
    return report


def values_of(attribute, known):
    """What an attribute says, whatever spelling of a tensor it has."""
    if attribute.type == onnx.AttributeProto.TENSOR:
        return weight_of(attribute.t)
    if attribute.type == onnx.AttributeProto.TYPE_PROTO:
        return held_type(attribute.tp)
    if attribute.type == onnx.AttributeProto.GRAPH:
        nodes, inputs, outputs = outline(attribute.g, known)
        return nodes, [name for name, *_ in inputs], outputs  # types may be left out
    value = helper.get_attribute_value(attribute)
    return value if isinstance(value, (int, float, bytes)) else list(value)


def held_type(kind):
    """What an empty optional could hold, but for its shape."""
    name = kind.WhichOneof("value")
    held = getattr(kind, name).elem_type
    return name, held if isinstance(held, int) else held_type(held)


def weight_of(tensor):
    array = numpy_helper.to_array(tensor)
    return array.dtype, array.shape, array.tobytes()


def trimmed(names):
    names = list(names)
    while names and not names[-1]:
        names.pop()
    return names


def types_of(values):
    return [(v.name, v.type.tensor_type.elem_type,
             [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim])
            for v in values]


def outline(graph, around=None):
    """All that a graph says: nodes, inputs and outputs. Constants and weights stand for their names,
    since a body may have constants of its own for those around it."""
    nodes, weights = [], dict(around or {})
    weights.update((tensor.name, weight_of(tensor)) for tensor in graph.initializer)
    for node in graph.node:
        attributes = {a.name: values_of(a, weights) for a in node.attribute if not a.ref_attr_name}
        if node.op_type == "Constant":
            weights[node.output[0]] = constant_of(attributes)
        elif node.op_type == "Identity" and node.input[0] in weights:
            weights[node.output[0]] = weights[node.input[0]]
        else:
            inputs = [weights.get(name, name) for name in trimmed(node.input)]
            nodes.append((node.domain, node.op_type, inputs, list(node.output), attributes))
    inputs = [v for v in graph.input if v.name not in weights]
    outputs = [v.name for v in graph.output]
    nodes = needed_nodes(nodes, outputs)
    return nodes, types_of(inputs), [weights.get(name, name) for name in outputs]


def names_in(graph):
    """Those that the nodes of an outlined body take."""
    for _, _, inputs, _, attributes in graph[0]:
        yield from inputs
        for value in attributes.values():
            if is_graph(value):
                yield from names_in(value)


def is_graph(value):
    return isinstance(value, tuple) and isinstance(value[0], list)


def needed_nodes(nodes, outputs):
    """The nodes that the outputs need, with those of their outputs that somebody takes."""
    needed, kept = set(outputs), []
    for domain, op, inputs, made, attributes in reversed(nodes):
        if not needed.intersection(made):
            continue
        made = trimmed([name if name in needed else "" for name in made])
        needed.update(inputs)
        for value in attributes.values():
            if is_graph(value):
                needed.update(names_in(value))
        kept.append((domain, op, inputs, made, attributes))
    return kept[::-1]


def constant_of(attributes):
    (name, value), = attributes.items()
    if name == "value":
        return value
    array = numpy.array(value, numpy.float32 if "float" in name else numpy.int64)
    return array.dtype, array.shape, array.tobytes()


class ExportTest(unittest.TestCase):
    def setUp(self):
        # Thousands of files are written and synced: in memory, if that can be had.
        memory = pathlib.Path("/dev/shm")
        self.scratch = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.folder = pathlib.Path(self.scratch.name)
        self.hrg, self.back = self.folder / "model.hrg", self.folder / "back.onnx"

    def tearDown(self):
        self.scratch.cleanup()

    def convert(self, model):
        path = self.folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return ConvertedFile(ENV, str(path), str(self.hrg))

    def there_and_back(self, model, **options):
        self.convert(model)
        export(self.hrg, self.back, **options)
        return onnx.load(str(self.back))


class NodeTests(ExportTest):
    def test_node_tests_are_what_they_were(self):
        counts = {"same": 0, "not converted": 0}
        for folder in sorted(NODE_TESTS.iterdir()):
            model = onnx.load(str(folder / "model.onnx"))
            with self.subTest(test=folder.name):
                try:
                    back = self.there_and_back(model)
                except Failure as error:
                    if "cannot be converted:" not in str(error):
                        raise
                    counts["not converted"] += 1
                    continue
                self.same(model, back)
                counts["same"] += 1
        print(counts)
        self.assertGreater(counts["same"], 1300)

    def same(self, model, back):
        onnx.checker.check_model(back)
        stated = {o.domain: o.version for o in model.opset_import}
        for opset in back.opset_import:
            if opset.domain in stated or opset.domain != "":  # ours always states ONNX's
                self.assertEqual(opset.version, stated[opset.domain])
        if not model.functions:  # whose calls are replaced by their bodies
            self.assertEqual(outline(back.graph), outline(model.graph))
        again = self.folder / "again.onnx"
        ConvertedFile(ENV, str(self.back), str(self.hrg))
        export(self.hrg, again)
        self.assertEqual(again.read_bytes(), self.back.read_bytes())


class Models(ExportTest):
    def dense(self, rows=4):
        rng = numpy.random.default_rng(3)
        w = rng.normal(size=(rows, 512)).astype(numpy.float32)
        b = rng.normal(size=512).astype(numpy.float32)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["xw"], "product"),
             helper.make_node("Add", ["xw", "b"], ["y"], "sum")], "test",
            [value("x", FLOAT, ["batch", rows])], [value("y", FLOAT, ["batch", 512])],
            [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.metadata_props.add(key="author", value="Åsa")
        return model

    def test_names_sizes_and_metadata_stay(self):
        model = self.dense()
        back = self.there_and_back(model)
        onnx.checker.check_model(back, full_check=True)
        self.assertEqual(outline(back.graph), outline(model.graph))
        self.assertEqual([n.name for n in back.graph.node], ["product", "sum"])
        self.assertEqual(back.metadata_props[0].value, "Åsa")
        self.assertEqual(types_of(back.graph.output), types_of(model.graph.output))

    def beside_newer(self, *nodes, y="y", newest="LayerNormalization", opset=20):
        """A model of operator set 11 with a function of a newer one, whose node goes in its place."""
        newer = helper.make_function("mine", "Newer", ["a", "s"], ["b"], [
            helper.make_node(newest, ["a", "s"] if newest == "LayerNormalization" else ["a"], ["b"],
                             "newest")], [helper.make_opsetid("", opset)])
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("Newer", ["x", "s"], ["n"], "call", domain="mine"), *nodes], "test",
            [value("x", FLOAT, [2, 1, 3])], [value(y, FLOAT, None)],
            [numpy_helper.from_array(numpy.array([1, 2, 3], numpy.float32), "s")])
        return helper.make_model(graph, functions=[newer], ir_version=8, opset_imports=[
            helper.make_opsetid("", 11), helper.make_opsetid("mine", 1)])

    def test_older_nodes_are_written_as_newer_ones(self):
        model = self.beside_newer(
            helper.make_node("Squeeze", ["n"], ["q"], axes=[1]),
            helper.make_node("Softmax", ["q"], ["p"], axis=0),  # over all, as it was then
            helper.make_node("Split", ["p"], ["l", "r"], axis=1, split=[1, 2]),
            helper.make_node("Concat", ["r", "l"], ["c"], axis=1),
            helper.make_node("Unsqueeze", ["c"], ["y"], axes=[0]))
        x = numpy.random.default_rng(3).normal(size=(2, 1, 3)).astype(numpy.float32)
        before, = self.convert(model).run({"x": x}, ["y"])
        report = export(self.hrg, self.back)
        self.assertEqual(report["opsets"]["ai.onnx"], 18)
        back = onnx.load(str(self.back))
        onnx.checker.check_model(back, full_check=True)
        after, = ConvertedFile(ENV, str(self.back), str(self.hrg)).run({"x": x}, ["y"])
        numpy.testing.assert_array_equal(after, before)
        n = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)
        p = numpy.exp(n * [1, 2, 3])[:, 0]
        p /= p.sum()
        numpy.testing.assert_allclose(before, p[None][..., [1, 2, 0]], rtol=1e-5)

    def test_what_has_no_newer_form_is_named_with_its_node(self):
        self.convert(self.beside_newer(
            helper.make_node("ReduceMean", ["n"], ["y"], "mean", axes=[1]), newest="Gelu"))
        with self.assertRaises(Failure) as raised:
            export(self.hrg, self.back)
        self.assertIn("Gelu of 20 or newer (node call/newest) beside ReduceMean of 17 or older "
                      "(node mean)", str(raised.exception))

    def test_floats_of_8_bits_stay(self):
        """Of all bits, NaN as well, wherever the file has them."""
        every = bytes(range(256))
        scale = numpy_helper.from_array(numpy.float32(0.5), "scale")
        for kind in range(TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2FNUZ + 1):
            typed = onnx.TensorProto(name="typed", data_type=kind, dims=[256],
                                     int32_data=list(every))
            raw = onnx.TensorProto(name="raw", data_type=kind, dims=[4, 64], raw_data=every)
            value = helper.make_tensor_value_info
            nodes = [helper.make_node("DequantizeLinear", ["raw", "scale"], ["y"]),
                     helper.make_node("Cast", ["typed"], ["z"], to=FLOAT),
                     helper.make_node("Constant", [], ["k"], value=onnx.TensorProto(
                         data_type=kind, dims=[3], raw_data=b"\x00\x80\x7f"))]
            graph = helper.make_graph(nodes, "test", [],
                                      [value("y", FLOAT, [4, 64]), value("z", FLOAT, [256]),
                                       value("k", kind, [3])], [typed, raw, scale])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
            for external in 0, 1:
                back = self.there_and_back(model, external_data=external)
                onnx.checker.check_model(back, full_check=True)
                held = {t.name: (t.data_type, list(t.dims), t.raw_data)
                        for t in back.graph.initializer}
                self.assertEqual(held["raw"], (kind, [4, 64], every))
                self.assertEqual(held["typed"], (kind, [256], every))
                self.assertEqual(types_of(back.graph.output), types_of(model.graph.output))
            numbers = numpy_helper.to_array(raw).astype(numpy.float32)
            y, z, k = ConvertedFile(ENV, str(self.back), str(self.hrg)).run({}, ["y", "z", "k"])
            numpy.testing.assert_array_equal(y, numbers / 2)
            numpy.testing.assert_array_equal(z, numbers.ravel())
            self.assertEqual(k.tobytes(), b"\x00\x80\x7f")

    def test_external_data(self):
        model = self.dense()
        self.there_and_back(model, external_data=1)
        data = self.folder / "back.onnx.data"
        self.assertEqual(data.stat().st_size, 4 * 4 * 512)  # b is small and stays
        self.assertLess(self.back.stat().st_size, 4 * 4 * 512)
        back = onnx.load(str(self.back))  # with its data
        self.assertEqual(outline(back.graph), outline(model.graph))
        ConvertedFile(ENV, str(self.back), str(self.folder / "again.hrg"))

    def test_what_onnx_has_no_words_for_is_named_at_once(self):
        with self.assertRaises(Failure) as raised:
            export(self.training_file(), self.back, signature=b"train")
        text = str(raised.exception)
        for part in ["headrace.grad.SumTo", "headrace.train.SGD", "a signature that only infers"]:
            self.assertIn(part, text)
        self.assertFalse(self.back.exists())

    def training_file(self):
        files = pathlib.Path(__file__).resolve().parents[2] / "files"
        return files / "version_1_0_training.hrg"

    def test_signatures_are_chosen(self):
        with self.assertRaises(Failure) as raised:
            export(self.training_file(), self.back, signature=b"absent")
        self.assertIn("no signature 'absent'", str(raised.exception))

    def test_files_that_cannot_be_written(self):
        self.convert(self.dense())
        for target, text in [(self.folder / "absent/x.onnx", "absent"),
                             (self.folder / "x.onnx", None)]:
            if text is None:
                export(self.hrg, target)
                continue
            with self.assertRaises(Failure) as raised:
                export(self.hrg, target)
            self.assertIn(text, str(raised.exception))
        (self.folder / "cut.hrg").write_bytes(self.hrg.read_bytes()[:300])
        with self.assertRaises(Failure) as raised:
            export(self.folder / "cut.hrg", self.back)
        self.assertIn("cut.hrg", str(raised.exception))


if __name__ == "__main__":
    ENV = Env(Library(sys.argv.pop(1)))
    unittest.main()
