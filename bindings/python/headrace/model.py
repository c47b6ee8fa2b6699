"""Models: loaded, verified, immutable graphs; and conversion from other formats."""
import json
import os
import tempfile

from . import _native as native
from ._objects import Closeable, handle_of, settings
from .dtypes import dtype_of
from .env import env_handle
from .graph import Graph


class Model(Closeable):
    """A loaded graph. Any number of sessions and threads share it.

    Parameters
    ----------
    source : path, bytes-like or binary file
        A .hrg file, which is mapped; its bytes, which are used in place and must not change; or a
        file object that can seek.
    env : Env, optional
    read_whole_file : bool
        Read the file instead of mapping it, which is safe if somebody truncates it.
    verify_checksums : bool
        Verify the bytes of the weights, too.
    inspect_only : bool
        Load it even if it has operators that the library does not know.
    """

    __slots__ = ("env", "_described", "_named")

    def __init__(self, source, env=None, *, read_whole_file=False, verify_checksums=False,
                 inspect_only=False):
        self.env = env
        self._described = self._named = None
        options = settings(read_whole_file=read_whole_file, verify_checksums=verify_checksums,
                           inspect_only=inspect_only)
        self._handle = _load(env_handle(env), source, options)

    @classmethod
    def _of(cls, handle, env):
        self = cls.__new__(cls)
        self._handle, self.env = handle, env
        self._described = self._named = None
        return self

    def describe(self):
        """Return signatures, variables, graphs, operators and metadata as a dict."""
        if self._described is None:
            self._described = json.loads(native.hr_model_describe(self._handle))
        return self._described

    def _places(self):
        """What the signatures' names stand for, if only one thing: {name: (value, dtype)}."""
        if self._named is None:
            self._named, unclear = {}, set()
            for signature in self.describe().get("signatures", []):
                for one in signature["inputs"] + signature["outputs"]:
                    place = (one["value"], dtype_of(one["dtype"]))
                    if self._named.setdefault(one["name"], place) != place:
                        unclear.add(one["name"])
            for name in unclear:
                del self._named[name]
        return self._named

    def view(self, format="json", signature=None, graph=0):
        """Return the nodes as text: "json", or "dot" for Graphviz.

        Parameters
        ----------
        format : {"json", "dot"}
        signature : str, optional
            Show what this signature needs of the main graph.
        graph : int
            The number of a graph, as `describe` has them.
        """
        if signature is None and graph == 0:
            return native.hr_model_graph_text(self._handle, format)
        return native.hr_model_view(self._handle, format, settings(signature=signature, graph=graph))

    def graph(self):
        """Return a Graph that goes on from the model, to read it or to build on it."""
        return Graph.of_model(self)

    def session(self, **options):
        """Return a Session of the model; the options are those of `Session`."""
        from .session import Session
        return Session(self, **options)

    def _repr_html_(self):
        from .pictures import table_of
        return table_of(self)

    def __repr__(self):
        if self.closed:
            return "<headrace.Model, closed>"
        described = self.describe()
        return (f"<headrace.Model: {len(described.get('variables', []))} variables, signatures "
                f"{', '.join(one['name'] for one in described.get('signatures', [])) or 'none'}>")


def _load(env, source, options):
    if isinstance(source, (str, os.PathLike)):
        return native.hr_model_load(env, os.fspath(source), options)
    if hasattr(source, "seek") and hasattr(source, "read"):
        total = source.seek(0, os.SEEK_END)

        def read(offset, count):
            source.seek(offset)
            return source.read(count)
        return native.hr_model_load_callback(env, read, total, options)
    return native.hr_model_load_memory(env, source, options)


def load(source, env=None, **options):
    """Load a model: a .hrg file, its bytes, a file object, or an .onnx file, which is converted.

    The options are those of `Model`.
    """
    is_path = isinstance(source, (str, os.PathLike))
    if not is_path or not os.fspath(source).endswith(".onnx"):
        return Model(source, env, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.hrg")
        convert(source, path, env=env)
        return Model(path, env, **{**options, "read_whole_file": True})


def convert(source, target, *, constants=False, simplify=False, env=None, timeout=None, cancel=None):
    """Convert a model of another format, such as "model.onnx", to a .hrg file.

    Parameters
    ----------
    source, target : path
    constants : bool
        Whether weights become constants; otherwise they are variables, which can be trained.
    simplify : bool
        Whether constants are computed, and copies and what no output needs go.
    env, timeout, cancel
        See `Session.run`.

    Returns
    -------
    dict
        What was converted: producer, operators, bytes, inputs and outputs.
    """
    report = native.hr_model_convert(env_handle(env), os.fspath(source), os.fspath(target),
                                     settings(constants=constants, simplify=simplify), timeout, handle_of(cancel))
    return json.loads(report)


def export(source, target, *, signature=None, external_data=False, env=None, timeout=None,
           cancel=None):
    """Write a signature of a .hrg file as a model of another format, "model.onnx".

    Parameters
    ----------
    source, target : path
    signature : str, optional
        "infer", or the only one, if it is not given.
    external_data : bool
        Whether tensors go to a file beside it.
    env, timeout, cancel
        See `Session.run`.

    Returns
    -------
    dict
        What was written.
    """
    report = native.hr_model_export(env_handle(env), os.fspath(source), os.fspath(target),
                                    settings(signature=signature, external_data=external_data),
                                    timeout, handle_of(cancel))
    return json.loads(report)


def load_tensor(path, env=None):
    """Return (tensor, name) of a file with one tensor: a TensorProto of ONNX, ".pb"."""
    from .tensor import Tensor
    handle, name = native.hr_tensor_load(env_handle(env), os.fspath(path))
    return Tensor._of(handle), name


def describe_file(path):
    """Return the parts of a .hrg file, its version, sizes and checksums, as a dict."""
    return json.loads(native.hr_model_file_describe(os.fspath(path)))


def describe_weights(path):
    """Return what a file of weights has as a dict."""
    return json.loads(native.hr_weights_describe(os.fspath(path)))


def describe_checkpoint(path):
    """Verify a checkpoint, or all of a folder, and return what they have as a dict."""
    return json.loads(native.hr_checkpoint_describe(os.fspath(path)))
