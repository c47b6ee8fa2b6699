"""Headrace: a dataflow runtime that trains and serves.

>>> import headrace as hr
>>> g = hr.Graph()
>>> x = g.input("x", "float32", ["batch", 2])
>>> g.signature("infer", {"x": x}, {"y": hr.softmax(3 * x)})
>>> g.model().session().run({"x": [[1, 2]]}, "y")

docs/python.md is the tutorial.
"""
import atexit as _atexit
import importlib as _importlib

try:
    from . import _native as native
except ImportError as _error:
    raise ImportError(f"the native part of headrace cannot be loaded: {_error}. Install the package "
                      "for this version of Python (pip install headrace).") from _error
from . import _library  # opens libheadrace
from ._constants import AttributeKind, Code, Dtype, LogLevel, OperationKind, ReduceOp
from .errors import (Aborted, AlreadyExists, ArbiterLost, Cancelled, DataLoss, DeadlineExceeded,
                     DeviceLost, Error, FailedPrecondition, Internal, InvalidArgument, NotFound,
                     OutOfRange, PermissionDenied, ResourceExhausted, Tainted, Unauthenticated,
                     Unavailable, Unimplemented, Unknown)

# Nothing of Python is called, and nothing is released, once the interpreter is about to end.
_atexit.register(native.set_exiting)

# Everything else is imported when it is first used, by the module that has it.
_MODULES = {
    "dtypes": ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64",
               "uint8", "uint16", "uint32", "uint64", "bool_", "float8e4m3fn", "float8e4m3fnuz",
               "float8e5m2", "float8e5m2fnuz", "dtype_of"),
    "env": ("Cancel", "Env", "default_env"),
    "tensor": ("Tensor", "as_tensor"),
    "graph": ("Graph", "Node", "Signature", "Value", "Variable"),
    "ops": ("argmax", "argmin", "attention", "avg_pool", "cast", "ceil", "clip", "concat", "conv",
            "cos", "cumsum", "dropout", "einsum", "elu", "erf", "exp", "expand", "expand_dims",
            "flatten", "floor", "gather", "gelu", "global_avg_pool", "hard_swish", "identity",
            "isnan", "leaky_relu", "log", "log_softmax", "logsumexp", "matmul", "max", "max_pool",
            "maximum", "mean", "min", "minimum", "mish", "norm", "one_hot", "op", "pad", "prod",
            "relu", "reshape", "round", "shape", "sigmoid", "sign", "silu", "sin", "softmax",
            "softplus", "split", "sqrt", "squeeze", "stack", "stop_gradient", "sum", "tanh", "tile",
            "top_k", "transpose", "where"),
    "control": ("Body", "cond", "loop", "scan"),
    "layers": ("Attention", "AvgPool", "BatchNorm", "Conv1d", "Conv2d", "Dense", "Dropout",
               "Embedding", "Flatten", "GroupNorm", "Layer", "LayerNorm", "Linear", "MaxPool",
               "RMSNorm", "Residual", "Sequential"),
    "losses": ("binary_cross_entropy", "correct", "cross_entropy", "hinge", "huber",
               "kl_divergence", "mae", "mse", "nll"),
    "optim": ("AdaGrad", "Adam", "AdamW", "Adamax", "ByName", "Lion", "Optimizer", "RMSProp",
              "SGD", "Schedule"),
    "model": ("Model", "convert", "describe_checkpoint", "describe_file",
              "describe_weights", "export", "load",
              "load_tensor"),
    "session": ("Call", "Run", "Session"),
    "completion": ("Queue",),
    "data": ("Dataset",),
    "events": ("Progress", "Summary"),
    "comm": ("Group", "Launch", "Store", "Work", "read_dump"),
    "operators": ("Operator",),
    "training": ("Callback", "EarlyStopping", "Learner", "Report"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES = {*_MODULES, "pictures"}

__all__ = sorted({*_PLACES, *_SUBMODULES, "AttributeKind", "Code", "Dtype", "Error", "LogLevel",
                  "OperationKind", "ReduceOp", "api_version", "version"})


def __getattr__(name):
    if name in _PLACES:
        value = getattr(_importlib.import_module(f".{_PLACES[name]}", __name__), name)
    elif name in _SUBMODULES:
        value = _importlib.import_module(f".{name}", __name__)
    elif name == "__version__":
        value = version().split()[0]
    else:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return [*__all__, "__version__"]


def version():
    """Return the library's version and what the build has, such as "0.1.0 +onednn"."""
    return native.hr_version_text()


def api_version():
    """Return the version of the library's interface: 10000 major + 100 minor."""
    return native.hr_api_version()
