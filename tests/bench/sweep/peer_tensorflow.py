"""The networks of the sweep in TensorFlow, compiled by tf.function."""
from harness.peer import Cells, place, serve
from models import networks_tensorflow


def make(name, mode, batch):
    if mode == "train":
        step = networks_tensorflow.train_step(name, batch)
        return step, lambda count: [float(step()) for _ in range(count)]
    run = networks_tensorflow.inference(name, batch)

    def elements(count):
        scores = run().reshape(-1)
        return [float(scores[place(len(scores), i, count)]) for i in range(count)]

    return run, elements


serve(Cells(make).answer)
