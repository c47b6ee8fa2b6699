"""The networks of the sweep in ONNX Runtime."""
import pathlib

import numpy
import onnx

from harness.peer import SCRATCH, Cells, place, serve
from models import onnx_models

MOST = 64


def first(name, batch):
    tensor = onnx.load_tensor(pathlib.Path(SCRATCH) / f"{name}-x.pb")
    array = onnx.numpy_helper.to_array(tensor)
    return numpy.ascontiguousarray(array[:len(array) // MOST * batch])


def make(name, mode, batch):
    if mode != "infer":
        raise ValueError("ONNX Runtime trains no more")
    session = onnx_models.session(str(pathlib.Path(SCRATCH) / f"{name}-infer.onnx"))
    x = first(name, batch)

    def elements(count):
        scores = session.run(["scores"], {"x": x})[0].reshape(-1)
        return [float(scores[place(len(scores), i, count)]) for i in range(count)]

    return onnx_models.bound_run(session, {"x": x}, ["scores"]), elements


serve(Cells(make).answer)
