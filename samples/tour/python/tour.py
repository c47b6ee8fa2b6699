"""The tour in Python: ../README.md says what it does.

usage: tour.py MODEL OUT                       MODEL is a file of make_model, OUT a folder
"""
import sys

import numpy

import headrace as hr

# The data: all numbers are exact in float32.
EXAMPLES, FEATURES, CLASSES = 12, 8, 3
i, j = numpy.ogrid[:EXAMPLES, :FEATURES]
x = (((i * 7 + j * 5) % 17 - 8) / 16 + (j % CLASSES == i % CLASSES)).astype(numpy.float32)
labels = numpy.arange(EXAMPLES) % CLASSES


def show(name, values):
    """Prints a line: a name, and the bits of each element."""
    bits = values.numpy().view(numpy.uint32).ravel()
    print(f"{name}:", *(f"{one:08x}" for one in bits))


def infer(session, name):
    """Runs the signature "infer" on two examples and prints "p"."""
    call = session.call("infer")
    call["x"] = x[:2]
    call.run()
    show(name, call["p"])


def load(env, path, name):
    """1. Load a file and run it."""
    model = hr.load(path, env)
    infer(model.session(), name)
    return model


def extend(base):
    """2. Go on building: a new head on the frozen features of the model."""
    graph = base.graph()
    for variable in graph.variables:
        variable.trainable = False
    graph.remove_signature("infer")
    features = graph.find_value("features")
    inputs = {"x": graph.find_value("x")}
    target = {"labels": graph.input("labels", "int64", ["batch"]),
              "rate": graph.input("rate", "float32", [])}
    scores = hr.Dense(CLASSES, name="head")(features)
    loss = hr.cross_entropy(scores, target["labels"])
    graph.signature("infer", inputs, {"p": hr.softmax(scores, axis=1)})
    graph.signature("train", {**inputs, **target}, {"loss": loss})
    graph.minimize(loss, "sgd momentum=0.9", target["rate"])
    graph.prune()
    print("variables:", len(graph.variables))
    return graph.model()


def tune(session):
    """3. Fine-tune: the head learns from the data."""
    data = hr.Dataset({"x": x, "labels": labels}, batch=4, repeat=5, shuffle=True, seed=3)
    step = session.call("train")
    step.bind_dataset(data)
    step["rate"] = 0.125
    while not data.done():
        step.run()
        show("loss", step["loss"])


def main(path, out):
    env = hr.Env(threads=1)
    model = extend(load(env, path, "loaded"))
    session = model.session(seed=7)
    infer(session, "untrained")
    tune(session)
    infer(session, "trained")

    # 4. Save a checkpoint to go on from, and a file to serve.
    session.save(f"{out}/checkpoints")
    session.export(f"{out}/tuned.hrg")

    # 5. Reload both.
    again = model.session()
    again.restore(f"{out}/checkpoints")
    print("step:", again.step)
    infer(again, "restored")
    load(env, f"{out}/tuned.hrg", "served")

    # 6. What goes wrong says so.
    try:
        model.session().call("infer").run()  # "x" is not bound
    except hr.Error as error:
        print("failure:", error.code_name)


if __name__ == "__main__":
    main(*sys.argv[1:])
