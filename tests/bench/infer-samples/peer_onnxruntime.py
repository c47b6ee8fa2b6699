"""The models of the samples in ONNX Runtime."""
import pathlib

import onnx

from harness.peer import SCRATCH, Cells, place, serve
from models import onnx_models


def make(name, mode, batch):
    folder = pathlib.Path(SCRATCH)
    session = onnx_models.session(str(folder / f"{name}-{mode}.onnx"))
    feeds = {one.name: onnx.numpy_helper.to_array(
        onnx.load_tensor(folder / f"{name}-{batch}-{one.name}.pb")) for one in session.get_inputs()}
    first = session.get_outputs()[0].name

    def elements(count):
        values = session.run([first], feeds)[0].reshape(-1)
        return [float(values[place(len(values), i, count)]) for i in range(count)]

    outputs = [one.name for one in session.get_outputs()]
    return onnx_models.bound_run(session, feeds, outputs), elements


serve(Cells(make).answer)
