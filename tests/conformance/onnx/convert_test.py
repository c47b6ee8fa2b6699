"""hr_model_convert: what it makes of good models, and what it says of bad ones.

usage: convert_test.py LIBRARY
"""
import json
import os
import pathlib
import random
import re
import struct
import sys
import tempfile
import unittest

try:
    import ml_dtypes
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from headrace import DTYPES, ConvertedFile, Env, Failure, Library
except ImportError as error:
    print(f"skipped: {error}; cmake/setup tests installs what is missing")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
NODE_TESTS = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
FLOAT = TensorProto.FLOAT
ENV = None


def model_of(nodes, inputs, outputs, weights=(), opset=17, **more):
    graph = helper.make_graph(nodes, "test", inputs, outputs,
                              [numpy_helper.from_array(array, name) for name, array in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)


def numbers(name, *dims):
    return helper.make_tensor_value_info(name, FLOAT, dims)


def dense(units=3):
    """y = relu(x w + b)"""
    rng = numpy.random.default_rng(5)
    w = rng.normal(size=(4, units)).astype(numpy.float32)
    b = rng.normal(size=units).astype(numpy.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"], "product"),
             helper.make_node("Add", ["xw", "b"], ["sum"]), helper.make_node("Relu", ["sum"], ["y"])]
    return model_of(nodes, [numbers("x", "batch", 4)], [numbers("y", "batch", units)],
                    [("w", w), ("b", b)]), w, b


class ConvertTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.target = self.folder / "model.hrg"

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, model):
        path = self.folder / "model.onnx"
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        return str(path)

    def convert(self, model):
        return ConvertedFile(ENV, self.write(model), str(self.target))

    def fails(self, model, *texts):
        with self.assertRaises(Failure) as raised:
            self.convert(model)
        for text in texts:
            self.assertIn(text, str(raised.exception))
        self.assertFalse(self.target.exists(), "something was written")
        return str(raised.exception)

    def description(self):
        library = ENV.library
        model = library.make("hr_model_load", ENV.handle, str(self.target).encode(), None)
        text = library.make("hr_model_describe", model)
        out = json.loads(library.c.hr_text_data(text))
        library.c.hr_text_release(text)
        library.c.hr_model_release(model)
        return out


class GoodModels(ConvertTest):
    def test_names_weights_and_sizes_stay(self):
        model, w, b = dense()
        converted = self.convert(model)
        described = self.description()
        self.assertEqual([v["name"] for v in described["variables"]], ["w", "b"])
        self.assertTrue(all(v["trainable"] for v in described["variables"]))
        self.assertEqual(json.loads(converted.report)["operators"],
                         {"Add": 1, "MatMul": 1, "Relu": 1})
        for batch in (1, 5):
            x = numpy.random.default_rng(batch).normal(size=(batch, 4)).astype(numpy.float32)
            y, = converted.run({"x": x}, ["y"])
            numpy.testing.assert_allclose(y, numpy.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)

    def test_statistics_are_frozen_and_numbers_are_constants(self):
        ones = numpy.ones(2, numpy.float32)
        nodes = [helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["n"]),
                 helper.make_node("Clip", ["n", "low", "high"], ["y"])]
        self.convert(model_of(nodes, [numbers("x", 1, 2, 3)], [numbers("y", 1, 2, 3)],
                              [("s", ones), ("b", ones), ("m", ones), ("v", ones),
                               ("low", numpy.float32(0)), ("high", numpy.float32(1))]))
        trainable = {v["name"]: v["trainable"] for v in self.description()["variables"]}
        self.assertEqual(trainable, {"s": True, "b": True, "m": False, "v": False})

    def test_layers_of_one_number_are_trained(self):
        one = numpy.ones(1, numpy.float32)
        nodes = [helper.make_node("PRelu", ["x", "slope"], ["p"]),
                 helper.make_node("MatMul", ["p", "w"], ["pw"]),
                 helper.make_node("Add", ["pw", "bias"], ["z"]),
                 helper.make_node("Gemm", ["z", "factor", "c"], ["g"]),
                 helper.make_node("Mul", ["g", "half"], ["y"])]
        weights = [("slope", one), ("w", numpy.ones((4, 1), numpy.float32)), ("bias", one),
                   ("factor", one.reshape(1, 1)), ("c", one), ("half", one / 2)]
        self.convert(model_of(nodes, [numbers("x", "batch", 4)], [numbers("y", "batch", 1)],
                              weights))
        trainable = {v["name"]: v["trainable"] for v in self.description()["variables"]}
        self.assertEqual(trainable, dict.fromkeys(["slope", "w", "bias", "factor", "c"], True))

    def test_scales_of_bytes_are_constants(self):
        """Weights of bytes that a Cast and a Mul widen: a table by rows, and a product by columns."""
        rng = numpy.random.default_rng(3)
        table, w = (rng.integers(-128, 128, size, dtype=numpy.int8) for size in ((20, 8), (8, 5)))
        of_rows, of_columns = (rng.uniform(0.01, 0.1, size).astype(numpy.float32)
                               for size in ((20, 1), (1, 5)))
        nodes = [helper.make_node("Cast", ["table"], ["wide_table"], to=FLOAT),
                 helper.make_node("Mul", ["of_rows", "wide_table"], ["words"]),
                 helper.make_node("Gather", ["words", "places"], ["x"]),
                 helper.make_node("Cast", ["w"], ["wide_w"], to=FLOAT),
                 helper.make_node("Mul", ["wide_w", "of_columns"], ["weights"]),
                 helper.make_node("MatMul", ["x", "weights"], ["product"]),
                 helper.make_node("Add", ["product", "b"], ["y"])]
        places = helper.make_tensor_value_info("places", TensorProto.INT64, ["count"])
        b = rng.normal(size=5).astype(numpy.float32)
        converted = self.convert(model_of(
            nodes, [places], [numbers("y", "count", 5)],
            [("table", table), ("of_rows", of_rows), ("w", w), ("of_columns", of_columns),
             ("b", b)]))
        self.assertEqual([v["name"] for v in self.description()["variables"]], ["b"])
        for count in (1, 7):
            taken = rng.integers(-20, 20, count)
            y, = converted.run({"places": taken}, ["y"])
            expected = (table * of_rows.astype(float))[taken] @ (w * of_columns.astype(float)) + b
            numpy.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)

    def constant(self, name, *values, dims=None):
        array = numpy.array(values, numpy.float32).reshape(dims or [len(values)])
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))

    def test_weights_may_be_nodes(self):
        """As PaddlePaddle exports them: they are what initializers would be."""
        nodes = [self.constant("w", 1, 2, 3, 4, 5, 6, 7, 8, dims=[4, 2]), self.constant("s", 1, 2),
                 self.constant("b", 3, 4), self.constant("m", 0, 1), self.constant("v", 1, 4),
                 self.constant("half", 0.5, dims=[]), self.constant("to", 2, 1),
                 helper.make_node("Constant", [], ["shape"], value_ints=[-1, 2]),
                 helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node("BatchNormalization", ["h", "s", "b", "m", "v"], ["n"]),
                 helper.make_node("Reshape", ["n", "shape"], ["r"]),
                 helper.make_node("Mul", ["r", "half"], ["t"]),
                 helper.make_node("Identity", ["to"], ["scales"]),
                 helper.make_node("Resize", ["t", "", "scales"], ["y"])]
        model = model_of(nodes, [numbers("x", 3, 4)], [numbers("y", 6, 2)])
        y, = self.convert(model).run({"x": numpy.eye(3, 4, dtype=numpy.float32)}, ["y"])
        w = numpy.array([[1, 2], [3, 4], [5, 6]])
        n = (w - [0, 1]) / numpy.sqrt(numpy.array([1, 4]) + 1e-5) * [1, 2] + [3, 4]
        numpy.testing.assert_allclose(y, numpy.repeat(n / 2, 2, axis=0), rtol=1e-5)
        trainable = {v["name"]: v["trainable"] for v in self.description()["variables"]}
        self.assertEqual(trainable, {"w": True, "s": True, "b": True, "m": False, "v": False})
        ConvertedFile(ENV, self.write(model), str(self.target), constants=1)
        self.assertEqual(self.description()["variables"], [])

    def test_constants_of_functions_and_bodies_are_constants(self):
        """A function's would be a variable for each call, and a body has none."""
        inner = helper.make_function("mine", "Twice", ["a", "size"], ["out"],
                                     [self.constant("two", 2, 2),
                                      helper.make_node("Mul", ["a", "two"], ["t"]),
                                      helper.make_node("Resize", ["t", "", "size"], ["out"])],
                                     [helper.make_opsetid("", 17)])
        branch = helper.make_graph([helper.make_node("Resize", ["h", "", "to"], ["a"])], "b", [],
                                   [numbers("a", 4)])
        other = helper.make_graph([self.constant("c", 1, 2, 3, 4)], "c", [], [numbers("c", 4)])
        nodes = [self.constant("to", 2), self.constant("same", 1), self.constant("w", 3, 5),
                 helper.make_node("Mul", ["x", "w"], ["f"]),
                 helper.make_node("Twice", ["f", "same"], ["g"], domain="mine"),
                 helper.make_node("Twice", ["g", "same"], ["h"], domain="mine"),
                 helper.make_node("If", ["which"], ["y"], then_branch=branch, else_branch=other)]
        which = helper.make_tensor_value_info("which", TensorProto.BOOL, [])
        model = model_of(nodes, [numbers("x", 2), which], [numbers("y", 4)], functions=[inner])
        model.opset_import.append(helper.make_opsetid("mine", 1))
        converted = self.convert(model)
        self.assertEqual([v["name"] for v in self.description()["variables"]], ["w"])
        x = numpy.array([1, -1], numpy.float32)
        y, = converted.run({"x": x, "which": numpy.array(True)}, ["y"])
        numpy.testing.assert_allclose(y, numpy.repeat(x * [12, 20], 2))

    def test_older_softmax_of_nothing(self):
        """Over several axes, of which one has no elements."""
        model = model_of([helper.make_node("Softmax", ["x"], ["y"], axis=1)],
                         [numbers("x", "a", "b", "c")], [numbers("y", "a", "b", "c")], opset=11)
        converted = self.convert(model)
        for shape in [(2, 4, 0), (0, 4, 1), (2, 3, 2)]:
            x = numpy.random.default_rng(3).normal(size=shape).astype(numpy.float32)
            y, = converted.run({"x": x}, ["y"])
            self.assertEqual(y.shape, shape)
            wanted = numpy.exp(x) / numpy.exp(x).sum((1, 2), keepdims=True)
            numpy.testing.assert_allclose(y, wanted, rtol=1e-5)

    def test_functions_are_put_in_place(self):
        inner = helper.make_function("mine", "Scale", ["a"], ["out"],
                                     [helper.make_node("Mul", ["a", "a"], ["t"]),
                                      helper.make_node("LeakyRelu", ["t"], ["out"])],
                                     [helper.make_opsetid("", 17)])
        inner.node[1].attribute.add(name="alpha", ref_attr_name="slope",
                                    type=onnx.AttributeProto.FLOAT)
        inner.attribute.append("slope")
        nodes = [helper.make_node("Scale", ["x"], ["h"], "first", domain="mine", slope=0.5),
                 helper.make_node("Scale", ["h"], ["y"], "second", domain="mine", slope=0.5)]
        model = model_of(nodes, [numbers("x", 2)], [numbers("y", 2)], functions=[inner])
        model.opset_import.append(helper.make_opsetid("mine", 1))
        x = numpy.array([1.5, -2], numpy.float32)
        y, = self.convert(model).run({"x": x}, ["y"])
        numpy.testing.assert_allclose(y, x ** 4, rtol=1e-6)

    def test_external_data_beside_the_model(self):
        model, w, b = dense()
        onnx.save_model(model, str(self.folder / "model.onnx"), save_as_external_data=True,
                        location="weights.bin", size_threshold=0)
        converted = ConvertedFile(ENV, str(self.folder / "model.onnx"), str(self.target))
        x = numpy.ones((2, 4), numpy.float32)
        y, = converted.run({"x": x}, ["y"])
        numpy.testing.assert_allclose(y, numpy.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)

    def test_compositions_wait_for_sizes(self):
        """What the file leaves open comes with the run: a kernel's size, an image's, a last axis."""
        rng = numpy.random.default_rng(3)
        w = rng.normal(size=(2, 3, 2, 4)).astype(numpy.float32)
        x = rng.normal(size=(1, 2, 5, 3)).astype(numpy.float32)
        for attributes in ({}, {"output_shape": [12, 6]}):
            node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 1], **attributes)
            known = model_of([node], [numbers("x", *x.shape), numbers("w", *w.shape)],
                             [numbers("y", 1, 3, None, None)])
            wanted, = self.convert(known).run({"x": x, "w": w}, ["y"])
            model = model_of([node], [numbers("x", 1, 2, "h", "v"), numbers("w", 2, 3, "a", "b")],
                             [numbers("y", 1, 3, None, None)])
            y, = self.convert(model).run({"x": x, "w": w}, ["y"])
            numpy.testing.assert_array_equal(y, wanted)
        model = model_of([helper.make_node("DFT", ["x"], ["y"], axis=1)], [numbers("x", 1, "n", "c")],
                         [numbers("y", 1, "n", 2)])
        for parts in (1, 2):
            x = rng.normal(size=(1, 6, parts)).astype(numpy.float32)
            y, = self.convert(model).run({"x": x}, ["y"])
            wanted = numpy.fft.fft(x[..., 0] + 1j * (x[..., 1] if parts == 2 else 0), axis=1)
            numpy.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], wanted, atol=1e-5)

    def test_images_without_channels(self):
        def run(op, channels, *more, **attributes):
            node = helper.make_node(op, ["x", "w", *(name for name, _ in more)], ["y"], **attributes)
            model = model_of([node], [numbers("x", "n", "c", 5, 5), numbers("w", "o", "i", 3, 3)],
                             [numbers("y", None, None, None, None)], more)
            x = numpy.zeros((1, channels, 5, 5), numpy.float32)
            w = numpy.zeros((2, 0, 3, 3), numpy.float32)
            return self.convert(model).run({"x": x, "w": w}, ["y"])[0]
        y = run("Conv", 0, ("b", numpy.array([2, -1], numpy.float32)))
        numpy.testing.assert_array_equal(y, numpy.broadcast_to([[[[2]], [[-1]]]], (1, 2, 3, 3)))
        self.assertEqual(run("ConvTranspose", 2, strides=[2, 2]).shape, (1, 0, 11, 11))

    def test_powers_of_mixed_types(self):
        """Integers may have roots, and exponents that their own type does not hold."""
        kinds = {"float": numpy.float32, "double": numpy.float64, "int32": numpy.int32,
                 "int64": numpy.int64, "int8": numpy.int8}
        for base, exponent in [(b, e) for b in kinds for e in kinds if b != "int8"]:
            model = onnx.parser.parse_model(
                f'<ir_version: 8, opset_import: ["": 15]> p ({base}[n] x, {exponent}[n] e) => '
                f'({base}[n] y) {{ y = Pow(x, e) }}')
            e = numpy.array([0.5, 1.5, 2, 3, 0.25], numpy.float64).astype(kinds[exponent])
            x = numpy.array([4, 9, 5, 3, 16], kinds[base])
            with self.subTest(base=base, exponent=exponent):
                y, = self.convert(model).run({"x": x, "e": e}, ["y"])
                wanted = numpy.power(x.astype(numpy.float64), e).astype(kinds[base])
                numpy.testing.assert_allclose(y, wanted, rtol=1e-6)

    def test_halves_drop_out(self):
        """As exporters leave it in networks of float16."""
        node = helper.make_node("Dropout", ["x", "ratio"], ["y"])
        half = TensorProto.FLOAT16
        model = model_of([node], [helper.make_tensor_value_info("x", half, [3])],
                         [helper.make_tensor_value_info("y", half, [3])],
                         [("ratio", numpy.float16(0.5))])
        x = numpy.array([1, 2.5, -3], numpy.float16)
        y, = self.convert(model).run({"x": x}, ["y"])
        numpy.testing.assert_array_equal(y, x)

    def test_typed_fields(self):
        kinds = {FLOAT: "float_data", TensorProto.DOUBLE: "double_data",
                 TensorProto.INT8: "int32_data", TensorProto.UINT16: "int32_data",
                 TensorProto.INT64: "int64_data", TensorProto.UINT64: "uint64_data",
                 TensorProto.BOOL: "int32_data", TensorProto.FLOAT16: "int32_data"}
        for kind in kinds:
            with self.subTest(kind=kind):
                values = [1, 0, 1] if kind == TensorProto.BOOL else [3, 1, 100]
                tensor = helper.make_tensor("c", kind, [3], values)
                self.assertFalse(tensor.raw_data)
                model = model_of([helper.make_node("Constant", [], ["c"], value=tensor),
                                  helper.make_node("Identity", ["c"], ["y"])], [],
                                 [helper.make_tensor_value_info("y", kind, [3])])
                y, = self.convert(model).run({}, ["y"])
                numpy.testing.assert_array_equal(y, numpy_helper.to_array(tensor))


    def test_typed_fields_in_pieces(self):
        """Numbers one by one, and packed ones in two pieces."""
        def parts(*pieces):
            head = onnx.TensorProto(data_type=FLOAT, dims=[3], name="c").SerializeToString()
            model = model_of([helper.make_node("Identity", ["c"], ["y"])], [], [numbers("y", 3)],
                             [("c", numpy.zeros(3, numpy.float32))])
            # Messages of one length, so that the lengths around it stay.
            model.graph.initializer[0].doc_string = 20 * " "
            whole = model.graph.initializer[0].SerializeToString()
            tensor = head + b"".join(pieces)
            rest = len(whole) - len(tensor) - 2
            doc_string = bytes([12 << 3 | 2, rest]) + rest * b" "
            return model.SerializeToString().replace(whole, tensor + doc_string)
        one, two = struct.pack("<f", 1), struct.pack("<2f", 2, 3)
        for pieces in [(b"\x22\x04" + one, b"\x22\x08" + two),
                       (b"\x25" + one, b"\x25" + two[:4], b"\x25" + two[4:]),
                       (b"\x25" + one, b"\x22\x08" + two), (b"\x22\x0c" + one + two,)]:
            y, = self.convert(parts(*pieces)).run({}, ["y"])
            self.assertEqual(list(y), [1, 2, 3])
        self.target.unlink()
        self.fails(parts(b"\x22\x08" + two), "12 bytes by its shape and 8 in the file")
        self.fails(parts(b"\x25" + one), "3 elements by its shape and 1 by its data")


class BadModels(ConvertTest):
    def test_all_that_is_missing_is_named_at_once(self):
        nodes = [helper.make_node("Fused", ["x"], ["a"], "f1", domain="com.microsoft"),
                 helper.make_node("Fused", ["x"], ["b"], "f2", domain="com.microsoft"),
                 helper.make_node("Neverland", ["x"], ["c"], "n"),
                 helper.make_node("Add", ["a", "b"], ["d"]),
                 helper.make_node("Relu", ["d"], ["y"])]
        model = model_of(nodes, [numbers("x", 2)], [numbers("y", 2)])
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        text = self.fails(model, "com.microsoft.Fused", "f1 and 1 more", "optimizer", "Neverland")
        self.assertEqual(text.count("\n- "), 2, text)

    def test_types_that_do_not_fit(self):
        model, _, _ = dense()
        model.graph.initializer[1].dims[0] = 2
        self.fails(model, "tensor 'b'", "8 bytes by its shape and 12 in the file")
        model, _, _ = dense()
        model.graph.initializer[0].dims[0] = 1 << 62
        self.fails(model, "tensor 'w'", "too large")
        model.graph.initializer[0].dims[0] = -4
        self.fails(model, "tensor 'w'", "negative dimension")
        nodes = [helper.make_node("MatMul", ["x", "x"], ["y"], "square")]
        self.fails(model_of(nodes, [numbers("x", 2, 3)], [numbers("y", 2, 3)]), "inner dimensions",
                   "square")

    def test_elements_that_tensors_cannot_have(self):
        text = helper.make_tensor("s", TensorProto.STRING, [1], [b"a"])
        other = helper.make_tensor("w", FLOAT, [1], [1.0])
        other.data_type = 99
        kinds = {"x": 77, "z": TensorProto.INT4, "l": FLOAT}
        model = model_of([helper.make_node("Relu", ["x"], ["y"])],
                         [helper.make_tensor_value_info(name, kind, [2])
                          for name, kind in kinds.items()], [numbers("y", 2)])
        model.graph.initializer.extend([text, other])
        model.graph.input.append(helper.make_tensor_sequence_value_info("q", FLOAT, None))
        self.fails(model, "tensor 's' has elements of string", "tensor 'w' has elements of type 99",
                   "input 'x' has elements of type 77", "input 'z' has elements of int4",
                   "input 'q' is of the kind sequence")

    def test_what_computes_with_floats_of_8_bits_is_named(self):
        for kind in range(TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2FNUZ + 1):
            name = TensorProto.DataType.Name(kind).lower()
            x = helper.make_tensor_value_info("x", kind, [2])
            y = helper.make_tensor_value_info("y", kind, [2])
            self.fails(model_of([helper.make_node("Add", ["x", "x"], ["y"], "sum")], [x], [y]),
                       "Add takes numbers as input 0", f"{name}[2]", "insert a Cast", "sum")

    def test_products_of_floats_of_8_bits(self):
        rng = numpy.random.default_rng(3)
        value = helper.make_tensor_value_info
        for kind in range(TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2FNUZ + 1):
            small = DTYPES[kind]
            a, b = rng.normal(size=(3, 40)).astype(small), rng.normal(size=(40, 5)).astype(small)
            scales = [("a_scale", numpy.float32(0.5)), ("b_scale", numpy.float32([1, 2, 3, 4, 50])),
                      ("y_scale", numpy.float32(0.01))]
            node = helper.make_node("QLinearMatMul", ["a", "a_scale", "zero", "b", "b_scale",
                                                      "zeros", "y_scale", "zero"], ["y"])
            model = model_of([node], [value("a", kind, [3, 40]), value("b", kind, [40, 5])],
                             [value("y", kind, [3, 5])], scales, 21)
            for name, count in ("zero", []), ("zeros", [5]):
                model.graph.initializer.append(onnx.TensorProto(
                    name=name, data_type=kind, dims=count, raw_data=bytes(5 if count else 1)))
            y, = self.convert(model).run({"a": a, "b": b}, ["y"])
            exact = a.astype(float) @ b.astype(float) * (0.5 * scales[1][1] / float(scales[2][1]))
            most = float(ml_dtypes.finfo(small).max)
            expected = numpy.clip(exact, -most, most).astype(small)
            self.assertEqual(y.dtype, expected.dtype)
            self.assertEqual(y.astype(float).tolist(), expected.astype(float).tolist())

    def test_flags_that_are_none(self):
        node = helper.make_node("ReduceMax", ["x"], ["y"], keepdims=2)
        self.fails(model_of([node], [numbers("x", 2)], [numbers("y", 1)]),
                   "ReduceMax's attribute 'keepdims' is 0 or 1, got 2")
        self.fails(model_of([helper.make_node("Resize", ["x", "", "s"], ["y"],
                                              coordinate_transformation_mode="tf_crop_and_resize")],
                            [numbers("x", 4), numbers("s", 1)], [numbers("y", None)]), "'roi'")

    def test_sizes_beyond_memory(self):
        """Of which nothing is made before they are refused."""
        sizes = helper.make_tensor_value_info("sizes", TensorProto.INT64, [2])
        for mode, size in [("nearest", 1 << 40), ("linear", 1 << 36), ("cubic", 1 << 26)]:
            node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode)
            converted = self.convert(model_of([node], [numbers("x", 1, 2), sizes],
                                              [numbers("y", None, None)]))
            with self.assertRaises(Failure) as raised:
                converted.run({"x": numpy.zeros((1, 2), numpy.float32),
                               "sizes": numpy.array([1, size])}, ["y"])
            self.assertEqual(raised.exception.code, "RESOURCE_EXHAUSTED")

    def test_shapes_that_fail_when_they_come(self):
        sizes = numpy_helper.from_array(numpy.array([2, 3]), "sizes")
        model = model_of([helper.make_node("Reshape", ["x", "sizes"], ["h"], "to rows"),
                          helper.make_node("Add", ["h", "x"], ["y"], "sum")],
                         [numbers("x", "n")], [numbers("y", 2, "n")])
        model.graph.initializer.append(sizes)
        converted = self.convert(model)
        for count, node, text in [(5, "to rows", "float32[5] with 5 elements into [2, 3] with 6"),
                                  (6, "sum", "float32[2, 3] with float32[6]: dimensions 3 and 6")]:
            with self.assertRaises(Failure) as raised:
                converted.run({"x": numpy.zeros(count, numpy.float32)}, ["y"])
            self.assertIn(text, str(raised.exception))
            self.assertEqual(raised.exception.node, node)

    def test_external_data_stays_inside_the_folder(self):
        outside = tempfile.NamedTemporaryFile()
        outside.write(bytes(1000))
        outside.flush()
        os.symlink(outside.name, self.folder / "link.bin")
        (self.folder / "short.bin").write_bytes(b"1234")
        for location, text in [(outside.name, "is not inside"), ("link.bin", "is not inside"),
                               ("../x.bin", "x.bin"), ("absent.bin", "belongs beside the model"),
                               ("short.bin", "needs 48 bytes at 0")]:
            model, _, _ = dense()
            tensor = model.graph.initializer[0]
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=location)
            self.fails(model, text)

    def test_graphs_that_are_none(self):
        x, y = numbers("x", 2), numbers("y", 2)
        self.fails(model_of([helper.make_node("Relu", ["h"], ["y"]),
                             helper.make_node("Relu", ["y"], ["h"])], [x], [y]), "not in order")
        self.fails(model_of([], [x], [y]), "no node makes the output 'y'")
        self.fails(model_of([helper.make_node("Relu", ["x"], ["y"])], [x], [y], opset=5),
                   "operator set 5")
        again = helper.make_function("mine", "Again", ["a"], ["b"],
                                     [helper.make_node("Again", ["a"], ["b"], domain="mine")],
                                     [helper.make_opsetid("mine", 1)])
        model = model_of([helper.make_node("Again", ["x"], ["y"], domain="mine")], [x], [y],
                         functions=[again])
        self.fails(model, "functions call each other")

    def calls(self, functions, times):
        """Functions of which each calls the next one some times; the last is Relu."""
        made = []
        for i in range(functions):
            names = ["a", *(f"t{j}" for j in range(1, times)), "b"]
            last = i == functions - 1
            nodes = [helper.make_node("Relu" if last else f"F{i + 1}", [x], [y],
                                      domain="" if last else "mine")
                     for x, y in zip(names, names[1:])]
            made.append(helper.make_function("mine", f"F{i}", ["a"], ["b"], nodes, [
                helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]))
        model = model_of([helper.make_node("F0", ["x"], ["y"], domain="mine")], [numbers("x", 2)],
                         [numbers("y", 2)], functions=made)
        model.opset_import.append(helper.make_opsetid("mine", 1))
        return model

    def test_functions_that_are_nodes_without_end(self):
        self.convert(self.calls(10, 2))
        self.target.unlink()
        self.fails(self.calls(40, 2), "more than 262144 nodes")
        self.fails(self.calls(50_000, 1), "deeper than 64")

    def test_cut_and_damaged_files(self):
        whole = dense()[0].SerializeToString()
        self.fails(b"", "no graph")
        for size in range(1, len(whole) - 1, 3):
            self.target.unlink(missing_ok=True)
            self.may_fail(whole[:size])
        rng = random.Random(17)
        names = ["test_lstm_defaults", "test_resize_upsample_scales_linear", "test_if",
                 "test_attention_4d_gqa", "test_sequence_map_add_1_sequence_1_tensor_expanded"]
        for name in names:
            good = (NODE_TESTS / name / "model.onnx").read_bytes()
            for _ in range(150):
                bad = bytearray(good)
                for _ in range(rng.randint(1, 4)):
                    bad[rng.randrange(len(bad))] = rng.randrange(256)
                self.may_fail(bytes(bad))

    def may_fail(self, model):
        try:
            self.convert(model)
        except Failure as error:
            self.assertRegex(str(error), r"^[A-Z_]+: .+")

    def test_nesting_without_end(self):
        def field(number, payload):
            size, head = len(payload), bytes([number << 3 | 2])
            while size >= 128:
                head += bytes([size & 127 | 128])
                size >>= 7
            return head + bytes([size]) + payload
        graph = b""
        for _ in range(2000):  # a graph in an attribute of a node of a graph …
            attribute = bytes([6 << 3 | 2]) if not graph else field(6, graph)
            graph = field(1, field(5, attribute if graph else b""))
        self.fails(field(7, graph), "nest deeper")


class Fields(unittest.TestCase):
    def test_numbers_are_those_of_the_schema(self):
        text = (ROOT / "converters/onnx/fields.h").read_text()
        rows = re.findall(r"(\w+?)_([a-z][a-z0-9_]*) = (\d+),", text)
        self.assertGreater(len(rows), 60)
        schema = onnx.onnx_ml_pb2.DESCRIPTOR.message_types_by_name
        types = schema["TypeProto"].nested_types_by_name
        nested = {"TypeProto_Tensor": types["Tensor"], "TypeProto_Sequence": types["Sequence"],
                  "TypeProto_Optional": types["Optional"],
                  "Dimension": schema["TensorShapeProto"].nested_types_by_name["Dimension"]}
        for message, field, number in rows:
            descriptor = nested.get(message) or schema[message]
            self.assertEqual(descriptor.fields_by_name[field].number, int(number), field)


if __name__ == "__main__":
    ENV = Env(Library(sys.argv.pop(1)))
    unittest.main()
