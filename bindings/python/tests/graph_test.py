import numpy
import pytest

import headrace as hr


def result(value, **feeds):
    """What a run gives for a value."""
    g = value.graph
    g.signature("s", {name: g.find_value(name) for name in feeds}, {"out": value})
    return g.model().session().run(feeds, "out").numpy()


@pytest.fixture
def x():
    return hr.Graph().input("x", "float32", [2, 3])


DATA = numpy.array([[1, -2, 3], [4, 5, -6]], numpy.float32)

EXPRESSIONS = {
    "arithmetic": lambda x: 2 * x + 1 - x / 4 + (3 - x) * (1 / (x * x)),
    "power": lambda x: x ** 2 + 2.0 ** x,
    "negation": lambda x: -x + abs(x),
    "modulo": lambda x: x % 4,
    "product": lambda x: x @ x.T,
    "comparison": lambda x: (x > 1) & (x <= 4) | (x == -6),
    "not_equal": lambda x: ~(x != 3),
    "row": lambda x: x[1],
    "last": lambda x: x[-1, -2],
    "columns": lambda x: x[:, 1:],
    "backward": lambda x: x[::-1, ::2],
    "ellipsis": lambda x: x[..., 0],
    "new_axis": lambda x: x[:, None],
    "both_ends": lambda x: x[None, 0, :-1],
    "indices": lambda x: x[[1, 0, 1]],
    "reshape": lambda x: x.reshape(3, -1),
    "transpose": lambda x: x.transpose(1, 0),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=0),
    "max": lambda x: x.max(axis=1, keepdims=True),
    "min": lambda x: x.min(axis=(0, 1)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_behave_as_arrays(name, x):
    expression = EXPRESSIONS[name]
    expected = expression(DATA)
    got = result(expression(x), x=DATA)
    assert got.shape == expected.shape
    numpy.testing.assert_allclose(got, expected, rtol=1e-5)


def test_numpy_on_the_left(x):
    numpy.testing.assert_allclose(result(DATA * x, x=DATA), DATA * DATA)


def test_a_value_has_no_truth(x):
    for use in (lambda: bool(x > 0), lambda: list(x), lambda: numpy.exp(x)):
        with pytest.raises(TypeError):
            use()


def test_numbers_do_not_lose_their_fraction():
    x = hr.Graph().input("x", "int64", [2])
    assert result(x * 2 + 1, x=[1, 2]).tolist() == [3, 5]
    with pytest.raises(hr.InvalidArgument, match="cast"):
        x * 0.5


def test_values_of_two_graphs_do_not_mix(x):
    with pytest.raises(hr.InvalidArgument, match="another graph"):
        x + hr.Graph().input("x", "float32", [2, 3])


def test_types_and_shapes(x):
    assert (x.name, x.dtype, x.shape, x.ndim) == ("x", hr.float32, (2, 3), 2)
    y = x.graph.input("y", "int64", ["batch", None, 4])
    assert y.shape == ("batch", None, 4)
    assert hr.cast(x, bool).dtype == hr.bool_


def test_failures_leave_the_graph_as_it_was(x):
    before = len(x.graph.nodes)
    with pytest.raises(hr.InvalidArgument):
        x @ x
    with pytest.raises(hr.Unimplemented, match="NoSuchOperator"):
        x.graph.op("NoSuchOperator", x)
    assert len(x.graph.nodes) == before


def test_nodes_are_read_back(x):
    g = x.graph
    node = hr.op("LeakyRelu", x, alpha=0.25, name="leak").producer
    assert (node.name, node.op, node.attributes["alpha"]) == ("leak", "LeakyRelu", 0.25)
    assert node.inputs[0].index == x.index
    late = g.op("Relu", x, name="late", after=[node]).producer
    assert [one.name for one in late.controls] == ["leak"]
    assert g.find_node("leak").index == node.index
    tensors = g.op("Constant", value=numpy.eye(2, dtype=numpy.float32)).producer.attributes
    assert tensors["value"].tolist() == [[1, 0], [0, 1]]


def test_variables(x):
    g = x.graph
    w = g.variable("w", numpy.ones(3, numpy.float32))
    r = g.variable("r", shape=[3], init="RandomUniform low=0 high=1", trainable=False)
    assert (w.name, w.shape, w.trainable, r.trainable) == ("w", (3,), True, False)
    assert w.initial.tolist() == [1, 1, 1] and r.initial is None
    w.trainable = False
    assert not g.find_variable("w").trainable
    total = w + 1
    g.signature("count", outputs={"before": total}, targets=[w.assign_add([1.0, 1, 1])])
    session = g.model().session()
    call = session.call("count")
    for expected in (2, 3):
        call.run()
        assert call["before"].tolist() == [expected] * 3
    assert session.variables["w"].tolist() == [3, 3, 3]


def test_gradients():
    g = hr.Graph()
    x = g.input("x", "float64", [3])
    unused = g.input("u", "float64", [3])
    found = g.gradients((x ** 3).sum(), [x, unused])
    assert found[1] is None
    assert result(found[0], x=numpy.array([1.0, 2, 3])).tolist() == [3, 12, 27]


def test_stop_gradient(x):
    assert x.graph.gradients((hr.stop_gradient(x) * 2).sum(), [x]) == [None]


def test_layers_of_one_name_share_their_weights():
    g = hr.Graph()
    x = g.input("x", "float32", ["n", 4])
    layer = hr.Dense(3)
    layer(x), layer(x + 1)
    assert [one.name for one in g.variables] == ["dense/weight", "dense/bias"]
    hr.Dense(3)(x)
    assert g.has_variable("dense_2/weight")
    other = hr.Graph()
    stranger = hr.Dense(2)
    stranger(other.input("x", "float32", [1, 2]))
    with pytest.raises(hr.AlreadyExists, match="share their weights"):
        stranger(x)


LAYERS = {
    "Linear": (lambda: hr.Linear(5), [2, 4, 8], (2, 4, 5)),
    "Conv2d": (lambda: hr.Conv2d(3, 3, padding=1, stride=2), [2, 4, 8, 8], (2, 3, 4, 4)),
    "Conv2d_same": (lambda: hr.Conv2d(3, 3, padding="same"), [2, 4, 8, 8], (2, 3, 8, 8)),
    "Conv1d": (lambda: hr.Conv1d(3, 3), [2, 4, 8], (2, 3, 6)),
    "BatchNorm": (hr.BatchNorm, [2, 4, 8], (2, 4, 8)),
    "LayerNorm": (hr.LayerNorm, [2, 4, 8], (2, 4, 8)),
    "RMSNorm": (hr.RMSNorm, [2, 4, 8], (2, 4, 8)),
    "GroupNorm": (lambda: hr.GroupNorm(2), [2, 4, 8], (2, 4, 8)),
    "Attention": (lambda: hr.Attention(2, causal=True), [2, 4, 8], (2, 4, 8)),
    "Dropout": (hr.Dropout, [2, 4], (2, 4)),
    "Flatten": (hr.Flatten, [2, 4, 8], (2, 32)),
    "MaxPool": (lambda: hr.MaxPool(2), [2, 4, 8, 8], (2, 4, 4, 4)),
    "AvgPool": (lambda: hr.AvgPool(2, 1, 1), [2, 4, 8, 8], (2, 4, 9, 9)),
    "Residual": (lambda: hr.Residual(hr.Linear(8), hr.gelu), [2, 4, 8], (2, 4, 8)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_run_and_have_gradients(name):
    make, shape, expected = LAYERS[name]
    g = hr.Graph()
    x = g.input("x", "float32", shape)
    layer = make()
    with g.training():
        trained = layer(x)
    served = layer(x)
    gradient, = g.gradients((trained * trained).sum(), [x])
    g.signature("s", {"x": x}, {"y": served, "gradient": gradient}, g.updates)
    call = g.model().session(seed=3).call("s")
    call["x"] = numpy.random.default_rng(0).normal(size=shape).astype(numpy.float32)
    call.run()
    assert call["y"].shape == expected
    assert numpy.isfinite(call["y"].numpy()).all() and numpy.abs(call["gradient"].numpy()).max() > 0


def test_embedding():
    g = hr.Graph()
    ids = g.input("ids", "int64", ["n"])
    layer = hr.Embedding(10, 4)
    out = layer(ids)
    g.signature("s", {"ids": ids}, {"y": out})
    session = g.model().session(seed=1)
    rows = session.run({"ids": [3, 3, 7]}, "y").numpy()
    assert numpy.array_equal(rows, session.variables["embedding/table"].numpy()[[3, 3, 7]])


LOSSES = {
    "mse": (hr.mse, lambda p, t: ((p - t) ** 2).mean()),
    "mae": (hr.mae, lambda p, t: abs(p - t).mean()),
    "hinge": (hr.hinge, lambda p, t: numpy.maximum(0, 1 - t * p).mean()),
    "huber": (hr.huber, lambda p, t: numpy.where(abs(p - t) < 1, (p - t) ** 2 / 2,
                                                 abs(p - t) - 0.5).mean()),
    "binary_cross_entropy": (hr.binary_cross_entropy, lambda p, t: (
        -t * numpy.log(1 / (1 + numpy.exp(-p))) - (1 - t) * numpy.log(1 / (1 + numpy.exp(p))))
        .mean()),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    loss, expected = LOSSES[name]
    g = hr.Graph()
    p, t = g.input("p", "float64", [5]), g.input("t", "float64", [5])
    feeds = {"p": numpy.array([2.0, -1, 0.5, 3, -4]), "t": numpy.array([1.0, 0, 1, 0, 1])}
    assert result(loss(p, t), **feeds) == pytest.approx(expected(feeds["p"], feeds["t"]))


def test_a_graph_is_a_picture(learner):
    svg = learner().graph()._repr_svg_()
    assert svg.startswith("<svg") and "Gemm" in svg and "dense/weight" in svg
    import xml.dom.minidom
    xml.dom.minidom.parseString(svg)


def test_names_with_special_characters():
    g = hr.Graph()
    x = g.input("größe 😀 <&>", "float32", [1])
    assert g.find_value("größe 😀 <&>").index == x.index
    g.signature("s", {"größe 😀 <&>": x}, {"y": x + 1})
    assert "😀" in g._repr_svg_()
    assert "&lt;&amp;&gt;" in g.model()._repr_html_()
    for bad in ("a\0b",):
        with pytest.raises(hr.InvalidArgument, match="NUL"):
            g.input(bad, "float32", [1])
    with pytest.raises(UnicodeEncodeError):
        g.input("\ud800", "float32", [1])


def test_use_after_close(x):
    x.graph.close()
    x.graph.close()
    for use in (lambda: x + 1, lambda: x.graph.nodes, lambda: x.graph.model(), lambda: x.shape):
        with pytest.raises(hr.FailedPrecondition, match="closed"):
            use()
