"""Images a second of training LeNet in TensorFlow; argument `xla`: compiled by XLA."""
import sys

import tensorflow as tf

from harness.peer import calls_for, seconds_each, serve
from models import lenet_tensorflow

SECONDS = 1.5
images, labels = lenet_tensorflow.data("train")
images = lenet_tensorflow.pixels(images[:16384])
steps = {}


def make(batch):
    tf.random.set_seed(1)
    train = lenet_tensorflow.train_step(lenet_tensorflow.LeNet(), xla="xla" in sys.argv)
    batches = [(images[at:at + batch], tf.constant(labels[at:at + batch]))
               for at in range(0, len(images), batch)]
    position = 0

    def step():
        nonlocal position
        loss = train(*batches[position])
        position = (position + 1) % len(batches)
        loss.numpy()  # the step has ended

    return step, calls_for(step, SECONDS)


def run(case, repeats):
    batch = int(case.removeprefix("batch-"))
    if case not in steps:
        steps[case] = make(batch)
    step, count = steps[case]
    return [batch / seconds for seconds in seconds_each(step, count, repeats)]


serve(run)
