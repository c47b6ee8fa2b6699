"""Models for ONNX Runtime, and sessions that run them without needless work."""
import onnx
import onnxruntime
from onnx import TensorProto, helper

from harness.peer import THREADS


def model(nodes, inputs, outputs, initializers=()):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "bench", [value(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [value(name, TensorProto.FLOAT, shape) for name, shape in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def options(optimize=True):
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = THREADS
    chosen.log_severity_level = 3
    if not optimize:
        chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return chosen


def session(what, optimize=True):
    """`what` is a model or a path."""
    source = what.SerializeToString() if isinstance(what, onnx.ModelProto) else what
    return onnxruntime.InferenceSession(source, options(optimize),
                                        providers=["CPUExecutionProvider"])


def bound_run(session, feeds, fetches):
    """A function that runs with inputs and outputs bound beforehand: the quickest way in."""
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for name in fetches:
        binding.bind_output(name)
    inner, bound = session._sess, binding._iobinding  # past the Python wrapper
    return lambda: inner.run_with_iobinding(bound, None)
