"""Peak resident bytes of 300 steps of LeNet in TensorFlow."""
import tensorflow as tf

from harness.peer import peak_resident_bytes, serve
from models import lenet_tensorflow

BATCH, STEPS = 64, 300


def run(case, repeats):
    images, labels = lenet_tensorflow.data("train")
    step = lenet_tensorflow.train_step(lenet_tensorflow.LeNet())
    for at in range(0, STEPS * BATCH, BATCH):
        step(lenet_tensorflow.pixels(images[at:at + BATCH]), tf.constant(labels[at:at + BATCH]))
    return [peak_resident_bytes()] * repeats


serve(run)
