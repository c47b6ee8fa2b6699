"""Microseconds of one training step of 784-128-10 in TensorFlow; argument `xla`."""
import sys

import tensorflow as tf

from harness.peer import calls_for, seconds_each, serve
from models import lenet_tensorflow

images, labels = lenet_tensorflow.data("train")
steps = {}


class Mlp(tf.Module):
    def __init__(self):
        super().__init__()
        uniform = lenet_tensorflow.uniform
        self.layers = [(uniform([784, 128], 784), uniform([128], 784)),
                       (uniform([128, 10], 128), uniform([10], 128))]

    def __call__(self, x):
        (w1, b1), (w2, b2) = self.layers
        return tf.nn.relu(x @ w1 + b1) @ w2 + b2


def make(batch):
    tf.random.set_seed(1)
    train = lenet_tensorflow.train_step(Mlp(), xla="xla" in sys.argv)
    x = tf.reshape(lenet_tensorflow.pixels(images[:batch]), [batch, 784])
    y = tf.constant(labels[:batch])

    def step():
        train(x, y).numpy()

    return step, calls_for(step, 0.5)


def run(case, repeats):
    if case not in steps:
        steps[case] = make(int(case.removeprefix("batch-")))
    return [1e6 * seconds for seconds in seconds_each(*steps[case], repeats)]


serve(run)
