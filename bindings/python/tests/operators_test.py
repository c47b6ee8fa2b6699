import threading

import numpy
import pytest

import headrace as hr


class Scale(hr.Operator):
    name = "test.Scale"
    attributes = {"by": float, "names?": list[str], "sizes?": list[int]}

    def compute(self, node, inputs, outputs):
        outputs[0][...] = inputs[0] * node.attribute("by", 1.0)

    def gradient(self, node):
        assert node.wants_gradient(0) and node.input(0) is not None
        by = node.scalar(node.attribute("by", 1.0), node.input(0))
        node.set_gradient(0, node.op("Mul", node.output_gradient(0), by))


class Hook(hr.Operator):
    """Calls a function of the test."""

    name = "test.Hook"

    def __init__(self, compute=None, infer=None):
        self._functions = (compute, infer)

    def infer(self, node):
        if self._functions[1]:
            return self._functions[1](node)
        super().infer(node)

    def compute(self, node, inputs, outputs):
        self._functions[0](node, inputs, outputs)


def hooked(**functions):
    """A call of a graph with the operator."""
    env = hr.Env()
    Hook(**functions).add_to(env)
    g = hr.Graph(env)
    x = g.input("x", "float32", [4])
    g.signature("s", {"x": x}, {"y": g.op("test.Hook", x)})
    call = g.model().session().call("s")
    call["x"] = numpy.ones(4, numpy.float32)
    return call


def test_an_operator_runs_and_has_a_gradient():
    env = hr.Env()
    Scale().add_to(env)
    g = hr.Graph(env)
    x = g.input("x", "float32", ["n"])
    y = hr.op("test.Scale", x, by=3.0)
    gradient, = g.gradients(y.sum(), [x])
    g.signature("s", {"x": x}, {"y": y, "gradient": gradient})
    call = g.model().session().call("s")
    call["x"] = numpy.arange(3, dtype=numpy.float32)
    call.run()
    assert call["y"].tolist() == [0, 3, 6] and call["gradient"].tolist() == [3, 3, 3]


def test_types_are_inferred():
    class Count(hr.Operator):
        name = "test.Count"

        def infer(self, node):
            dtype, shape = node.input_type(0)
            assert dtype == hr.float32 and len(shape) == 2
            node.set_output(0, "int64", shape[:1])

        def compute(self, node, inputs, outputs):
            outputs[0][...] = (inputs[0] > 0).sum(axis=1)

    env = hr.Env()
    Count().add_to(env)
    g = hr.Graph(env)
    x = g.input("x", "float32", ["n", 3])
    y = hr.op("test.Count", x)
    assert (y.dtype, y.ndim) == (hr.int64, 1)
    g.signature("s", {"x": x}, {"y": y})
    assert g.model().session().run({"x": [[1, -1, 2], [0, 0, 1]]}, "y").tolist() == [2, 1]


def test_what_raises_is_the_cause():
    def fail(*_):
        raise ZeroDivisionError("mine")

    call = hooked(compute=fail)
    for _ in range(2):
        with pytest.raises(hr.Unknown, match="mine") as caught:
            call.run()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert caught.value.node
    with pytest.raises(hr.Error, match="mine"):
        hooked(compute=lambda *_: None, infer=fail)


def test_errors_keep_their_code():
    def fail(*_):
        raise hr.OutOfRange("too far")

    with pytest.raises(hr.OutOfRange, match="too far"):
        hooked(compute=fail).run()


def test_what_is_no_failure_ends_the_program():
    def fail(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hooked(compute=fail).run()


def test_views_may_not_be_kept():
    kept = []
    call = hooked(compute=lambda node, inputs, outputs: kept.append(inputs[0]))
    with pytest.raises(hr.FailedPrecondition, match="copy"):
        call.run()


def test_a_node_may_not_be_kept():
    kept = []

    def keep(node, inputs, outputs):
        kept.append(node)
        outputs[0][...] = 1

    hooked(compute=keep).run()
    with pytest.raises(hr.FailedPrecondition, match="closed"):
        kept[0].input_count


def test_inputs_are_read_only():
    def write(node, inputs, outputs):
        inputs[0][0] = 5

    with pytest.raises(hr.Error, match="read-only"):
        hooked(compute=write).run()


def test_a_call_may_not_be_used_by_its_own_run():
    holder = {}

    def again(*_):
        holder["call"].run()

    holder["call"] = hooked(compute=again)
    with pytest.raises(hr.FailedPrecondition):
        holder["call"].run()


def test_another_session_may_be_used(doubling):
    def nested(node, inputs, outputs):
        outputs[0][...] = doubling.run({"x": inputs[0].reshape(2, 2).copy()}, "y").numpy().ravel()

    call = hooked(compute=nested)
    call.run()
    assert call["y"].tolist() == [2] * 4


def test_tasks_run_on_the_threads_of_the_run():
    def compute(node, inputs, outputs):
        done = []
        node.parallel_for(8, lambda task: done.append(task))
        outputs[0][...] = sum(done)

    call = hooked(compute=compute)
    call.run()
    assert call["y"][0] == 28

    def fail(node, inputs, outputs):
        node.parallel_for(8, lambda task: 1 / (task - 3))

    with pytest.raises(hr.Error, match="ZeroDivisionError"):
        hooked(compute=fail).run()


def test_runs_in_the_background_call_python():
    def compute(node, inputs, outputs):
        outputs[0][...] = threading.get_ident() != threading.main_thread().ident

    call = hooked(compute=compute)
    call.start().wait(timeout=10)
    assert call["y"][0] == 1


def test_operators_come_before_models():
    env = hr.Env()
    hr.Graph(env)
    g = hr.Graph(env)
    x = g.input("x", "float32", [1])
    g.signature("s", {"x": x}, {"y": x + 1})
    g.model()
    with pytest.raises(hr.FailedPrecondition):
        Scale().add_to(env)
    bad = Scale()
    bad.name = "NoDomain"
    with pytest.raises(hr.InvalidArgument):
        bad.add_to(hr.Env())
