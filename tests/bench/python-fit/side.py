"""The Python side of the benchmark: the LeNet, data and steps of ours.c, by Session.fit."""
import numpy

import headrace as hr
from harness.peer import THREADS, seconds_each, serve

EXAMPLES, BATCH, STEPS = 4096, 64, 192
trainings = {}


def make():
    network = hr.Sequential(hr.Conv2d(20, 5, name="conv1"), hr.relu, hr.MaxPool(2),
                            hr.Conv2d(50, 5, name="conv2"), hr.relu, hr.MaxPool(2),
                            hr.Dense(500, name="fc1"), hr.relu, hr.Dense(10, name="fc2"))
    env = hr.Env(threads=THREADS)
    g = hr.Graph(env)
    images = g.input("images", "float32", ["batch", 1, 28, 28])
    labels, rate = g.input("labels", "int64", ["batch"]), g.input("learning_rate", "float32", [])
    loss = hr.cross_entropy(network(images), labels)
    g.signature("train", [images, labels, rate], {"loss": loss})
    g.minimize(loss, "sgd momentum=0.9", rate)
    session = g.model().session(seed=1)
    data = hr.Dataset({"images": numpy.random.default_rng(1).random((EXAMPLES, 1, 28, 28), "float32"),
                       "labels": numpy.arange(EXAMPLES) % 10}, batch=BATCH, repeat=-1, env=env)

    def fit():
        session.fit(data, steps=session.step + STEPS, scalars={"learning_rate": 0.05},
                    callbacks=[lambda report: False], progress=False)
    fit()
    return fit


def run(case, repeats):
    if case not in trainings:
        trainings[case] = make()
    return [STEPS * BATCH / seconds for seconds in seconds_each(trainings[case], 1, repeats)]


serve(run)
