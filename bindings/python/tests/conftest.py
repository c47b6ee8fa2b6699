"""What tests share."""
import subprocess
import sys

import numpy
import pytest

import headrace as hr


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a process of its own, and returns what it printed."""
    def run(program, *arguments, timeout=60, environment=None, status=0):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True,
                              text=True, timeout=timeout, env=environment, cwd=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout
    return run


@pytest.fixture
def doubling():
    """A session whose signature "infer" doubles x [n, 2]."""
    g = hr.Graph()
    x = g.input("x", "float32", ["n", 2])
    g.signature("infer", {"x": x}, {"y": 2 * x})
    with g.model().session() as session:
        yield session


@pytest.fixture
def spy():
    """A call whose y is a copy of x [n, 2], and the addresses at which its operator has seen x."""
    seen = []

    class Spy(hr.Operator):
        name = "test.Spy"

        def compute(self, node, inputs, outputs):
            seen.append(inputs[0].ctypes.data)
            outputs[0][...] = inputs[0]

    env = hr.Env()
    Spy().add_to(env)
    g = hr.Graph(env)
    x = g.input("x", "float32", ["n", 2])
    g.signature("copy", {"x": x}, {"y": g.op("test.Spy", x)})
    yield g.model().session().call("copy"), seen


@pytest.fixture
def points():
    """Points of the plane in three classes, by angle."""
    rng = numpy.random.default_rng(1)
    x = rng.normal(size=(240, 2)).astype(numpy.float32)
    labels = (numpy.arctan2(x[:, 1], x[:, 0]) // (2 * numpy.pi / 3) + 1).astype(numpy.int64) % 3
    return x, labels


@pytest.fixture
def learner():
    """Makes a small network for the points."""
    def make(**options):
        net = hr.Sequential(hr.Dense(24), hr.tanh, hr.Dense(3))
        settings = {"optimizer": hr.Adam(0.02), "activation": hr.softmax, **options}
        return hr.Learner(net, {"x": ("float32", [2])}, loss=hr.cross_entropy, **settings)
    return make
