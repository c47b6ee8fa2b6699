"""The LeNet of the benchmarks in TensorFlow, with PyTorch's initial distributions."""
import tensorflow as tf

from harness.peer import THREADS
from models import fashion

tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(THREADS)


def uniform(shape, fan_in):
    return tf.Variable(tf.random.uniform(shape, -fan_in ** -0.5, fan_in ** -0.5))


class LeNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [(uniform([5, 5, 1, 20], 25), uniform([20], 25)),
                       (uniform([5, 5, 20, 50], 500), uniform([50], 500)),
                       (uniform([800, 500], 800), uniform([500], 800)),
                       (uniform([500, 10], 500), uniform([10], 500))]

    def __call__(self, images):
        x = images
        for weights, bias in self.layers[:2]:
            x = tf.nn.relu(tf.nn.conv2d(x, weights, 1, "VALID") + bias)
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        (w1, b1), (w2, b2) = self.layers[2:]
        x = tf.nn.relu(tf.reshape(x, [-1, 800]) @ w1 + b1)
        return x @ w2 + b2


def momentum_sgd(variables, rate=0.05, momentum=0.9):
    """A function (gradients) that makes one step of PyTorch's SGD."""
    moments = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

    def update(gradients):
        for variable, moment, gradient in zip(variables, moments, gradients):
            moment.assign(momentum * moment + gradient)
            variable.assign_sub(rate * moment)

    return update


def train_step(model, xla=False):
    """A function (images, labels) → loss that makes one step, compiled by tf.function."""
    update = momentum_sgd(model.trainable_variables)

    @tf.function(jit_compile=xla)
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=model(images)))
        update(tape.gradient(loss, model.trainable_variables))
        return loss

    return step


def data(part):
    images, labels = fashion.load(part)
    return images, labels.astype("int32")


def pixels(images):
    """[n, 28, 28] bytes to [n, 28, 28, 1] floats in 0..1."""
    return tf.cast(images, tf.float32)[..., None] / 255
