"""Support vector machines as scikit-learn's exporters write them, against ONNX Runtime.

usage: svm_test.py LIBRARY
"""
import itertools
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy
    import onnxruntime
    from onnx import TensorProto, helper

    from headrace import ConvertedFile, Env, Failure, Library
except ImportError as error:
    print(f"skipped: {error}; cmake/setup tests installs what is missing")
    sys.exit(77)

FEATURES = 3
KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]
ENV = None


def model_of(op, outputs, attributes):
    node = helper.make_node(op, ["x"], [name for name, _ in outputs], domain="ai.onnx.ml",
                            **attributes)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node], "svm", [value("x", TensorProto.FLOAT, [None, FEATURES])],
                              [value(name, kind, None) for name, kind in outputs])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def classifier(rng, per_class, kernel, transform, probabilities):
    classes, vectors = len(per_class), sum(per_class)
    pairs = classes * (classes - 1) // 2
    attributes = {
        "coefficients": rng.normal(size=(classes - 1) * vectors).tolist(),
        "support_vectors": rng.normal(size=vectors * FEATURES).tolist(),
        "vectors_per_class": per_class, "rho": rng.normal(size=pairs).tolist(),
        "classlabels_ints": [10 + 3 * i for i in range(classes)],
        "kernel_type": kernel, "kernel_params": [0.3, 0.5, 2.0], "post_transform": transform}
    if probabilities:
        attributes["prob_a"] = (-numpy.abs(rng.normal(size=pairs))).tolist()
        attributes["prob_b"] = rng.normal(size=pairs).tolist()
    return model_of("SVMClassifier", [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)],
                    attributes)


def regressor(rng, supports, kernel, one_class):
    return model_of("SVMRegressor", [("y", TensorProto.FLOAT)], {
        "coefficients": rng.normal(size=supports).tolist(),
        "support_vectors": rng.normal(size=supports * FEATURES).tolist(),
        "n_supports": supports, "rho": [0.25], "kernel_type": kernel, "one_class": one_class,
        "kernel_params": [0.3, 0.5, 2.0]})


class SupportVectorMachines(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.rng = numpy.random.default_rng(11)

    def tearDown(self):
        self.scratch.cleanup()

    def convert(self, model):
        path = self.folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return ConvertedFile(ENV, str(path), str(self.folder / "model.hrg"))

    def check(self, model):
        x = self.rng.normal(size=(50, FEATURES)).astype(numpy.float32)
        session = onnxruntime.InferenceSession(model.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        results = self.convert(model).run({"x": x}, names)
        for name, got, expected in zip(names, results, session.run(None, {"x": x})):
            self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
            numpy.testing.assert_allclose(got, expected, 1e-4, 1e-5, err_msg=name)

    def test_classifiers(self):
        every = itertools.product([[3, 4], [2, 3, 2], [1, 2, 3, 1]], KERNELS,
                                  ["NONE", "LOGISTIC", "SOFTMAX"], [False, True])
        for per_class, kernel, transform, probabilities in every:
            with self.subTest(per_class=per_class, kernel=kernel, transform=transform,
                              probabilities=probabilities):
                self.check(classifier(self.rng, per_class, kernel, transform, probabilities))

    def test_regressors(self):
        for kernel, one_class in itertools.product(KERNELS, [0, 1]):
            with self.subTest(kernel=kernel, one_class=one_class):
                self.check(regressor(self.rng, 4, kernel, one_class))

    def test_models_that_do_not_fit(self):
        def fails(text, **changes):
            model = classifier(self.rng, [2, 3, 2], "RBF", "NONE", True)
            node = model.graph.node[0]
            for name, value in changes.items():
                kept = [a for a in node.attribute if a.name != name]
                del node.attribute[:]
                node.attribute.extend(kept)
                if value is not None:
                    node.attribute.append(helper.make_attribute(name, value))
            with self.assertRaises(Failure) as raised:
                self.convert(model)
            self.assertIn(text, str(raised.exception))

        fails("export it as LinearClassifier", vectors_per_class=None)
        fails("which do not run here", classlabels_strings=["a", "b", "c"])
        fails("got 2 labels and 3 numbers", classlabels_ints=[1, 2])
        fails("got 3, 1 and 3", prob_a=[0.5])
        fails("got 2, 3 and 3", rho=[0.5, 1.0])
        fails("has -1", vectors_per_class=[2, -1, 6])
        fails("7 support vectors of 3 classes", coefficients=[1.0] * 13)
        fails("LINEAR, POLY, RBF or SIGMOID", kernel_type="COSINE")
        fails("three 'kernel_params', got 2", kernel_params=[1.0, 2.0])

    def test_zip_map_says_how_to_export_without_it(self):
        model = classifier(self.rng, [2, 3], "RBF", "NONE", True)
        model.graph.node.append(helper.make_node("ZipMap", ["scores"], ["map"],
                                                 domain="ai.onnx.ml", classlabels_int64s=[10, 13]))
        model.graph.output[1].CopyFrom(helper.make_value_info("map", helper.make_map_type_proto(
            TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))))
        with self.assertRaises(Failure) as raised:
            self.convert(model)
        self.assertIn("options={'zipmap': False}", str(raised.exception))


if __name__ == "__main__":
    ENV = Env(Library(sys.argv.pop(1)))
    unittest.main()
