import numpy
import pytest

import headrace as hr

X = numpy.array([8, 3, 5], numpy.float32)


def result(x, *values):
    x.graph.signature("s", {"x": x}, {f"out{i}": one for i, one in enumerate(values)})
    call = x.graph.model().session().call("s")
    call["x"] = X
    call.run()
    return [call[f"out{i}"].tolist() for i in range(len(values))]


@pytest.fixture
def x():
    return hr.Graph().input("x", "float32", [3])


def test_branches(x):
    def double(y):
        return 2 * y

    chosen = [hr.cond(x.sum() > limit, double, lambda y: -y, x) for limit in (0, 100)]
    assert result(x, *chosen) == [[16, 6, 10], [-8, -3, -5]]


def test_loops(x):
    small = hr.loop(lambda i, go, y: (hr.max(y) > 2, y / 2), [x])
    total, collected = hr.loop(lambda i, go, s, y: (go, s + y.sum(), s), [x.sum()], x, trips=3)
    assert result(x, small, total, collected) == [[1, 0.375, 0.625], 64, [16, 32, 48]]


def test_scans_and_gradients(x):
    last, sums = hr.scan(lambda s, one: (s + one, s + one), [hr.sum(x) * 0], [x])
    gradient, = x.graph.gradients(sums.sum(), [x])
    assert result(x, last, sums, gradient) == [16, [8, 11, 16], [3, 2, 1]]


def test_calls(x):
    body = hr.Body(x.graph, lambda a, b: (a + b, a * b), [("float32", [3])] * 2)
    assert result(x, *body(x, body(x, x)[0])) == [[24, 9, 15], [128, 18, 50]]


def test_a_body_sees_its_arguments_alone(x):
    with pytest.raises(hr.InvalidArgument, match="another graph"):
        hr.cond(x.sum() > 0, lambda y: y + x, lambda y: y, x)
    with pytest.raises(ZeroDivisionError):
        hr.cond(x.sum() > 0, lambda y: 1 / 0, lambda y: y, x)
