"""A rank in Python: ../README.md says what it does.

usage: rank.py MODEL DATA STEPS
"""
import sys
import zlib

import numpy

import headrace as hr


def bind(session, compute, apply):
    """Returns the gradients of all variables, one after the other, and the loss behind them:
    "gradients" writes to these numbers, and "apply" reads them."""
    shapes = {name: value.shape for name, value in session.variables.items()}
    numbers = numpy.zeros(sum(map(numpy.prod, shapes.values())) + 1, numpy.float32)
    start = 0
    for name, shape in shapes.items():
        part = numbers[start:start + numpy.prod(shape)].reshape(shape)
        compute.bind_output(name, part)
        apply[name] = part
        start += part.size
    compute.bind_output("loss", numbers[start:].reshape(()))
    return numbers


def checksum(session):
    """The checksum of all variables."""
    crc = 0
    for value in session.variables.values():
        crc = zlib.crc32(numpy.ascontiguousarray(value.numpy()).view(numpy.uint8), crc)
    return crc


def train(path, data, steps):
    env = hr.Env(threads=1)
    group = hr.Group(env=env)
    session = hr.load(path, env).session()
    compute, apply = session.call("gradients"), session.call("apply")
    numbers = bind(session, compute, apply)
    shard = f"shard={group.rank}/{group.size}"
    uri = f"{data}?batch=16&shuffle=1&seed=5&repeat=forever&{shard}"
    compute.bind_dataset(hr.Dataset.open(uri, env))
    for _ in range(steps):
        compute.run()
        group.all_reduce(numbers, "average")
        apply.run()
        print(f"loss: {numbers[-1:].view(numpy.uint32)[0]:08x}", flush=True)
    print(f"weights: {checksum(session):08x}")
    group.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: rank.py MODEL DATA STEPS")
    try:
        train(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except hr.Error as error:
        print(f"failure: {error.code_name} {error.message}")
        sys.exit(1)
