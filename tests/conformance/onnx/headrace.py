"""The C calls that run one ONNX model, through ctypes."""
import ctypes
import dataclasses

import ml_dtypes
import numpy

# ONNX's codes, which are Headrace's.
DTYPES = {1: numpy.float32, 2: numpy.uint8, 3: numpy.int8, 4: numpy.uint16, 5: numpy.int16,
          6: numpy.int32, 7: numpy.int64, 9: numpy.bool_, 10: numpy.float16, 11: numpy.float64,
          12: numpy.uint32, 13: numpy.uint64, 16: ml_dtypes.bfloat16,
          17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2,
          20: ml_dtypes.float8_e5m2fnuz}
CODES = {numpy.dtype(kind): code for code, kind in DTYPES.items()}
NONE = 2**32 - 1


@dataclasses.dataclass
class Body:
    """A graph within a graph, as an attribute."""
    index: int


class Failure(Exception):
    def __init__(self, code, text, node=""):
        super().__init__(text)
        self.code, self.node = code, node


class ValueInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("symbols", ctypes.POINTER(ctypes.c_char_p)), ("producer", ctypes.c_uint32),
                ("is_constant", ctypes.c_int32)]


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in ("hr_status_message", "hr_status_node", "hr_code_name", "hr_text_data"):
            getattr(self.c, name).restype = ctypes.c_char_p
        for name in ("hr_tensor_data", "hr_tensor_dims"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.hr_tensor_rank.restype = ctypes.c_size_t

    def call(self, name, *arguments):
        """Raises what a fallible function reports."""
        function = getattr(self.c, name)
        function.restype = ctypes.c_void_p
        status = function(*arguments)
        if status:
            held = ctypes.c_void_p(status)
            code = self.c.hr_code_name(self.c.hr_status_code(held)).decode()
            text = self.c.hr_status_message(held).decode()
            node = self.c.hr_status_node(held).decode()
            self.c.hr_status_release(held)
            raise Failure(code, f"{code}: {text}", node)

    def make(self, name, *arguments):
        """The handle that a function returns through its last argument."""
        out = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(out))
        return out


def int64s(values):
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def strings(values):
    return (ctypes.c_char_p * max(1, len(values)))(*(value.encode() for value in values))


def pointers(values):
    return (ctypes.c_void_p * max(1, len(values)))(*(value.value for value in values))


class Tensor:
    """An array as a handle; both live as long as this."""

    def __init__(self, library, array):
        # Not ascontiguousarray, which makes scalars vectors.
        self.array = numpy.array(array, order="C")
        self.library = library
        self.handle = library.make(
            "hr_tensor_wrap", CODES[self.array.dtype], ctypes.c_size_t(self.array.ndim),
            int64s(self.array.shape), ctypes.c_void_p(self.array.ctypes.data),
            ctypes.c_size_t(self.array.nbytes), None, None)

    def __del__(self):
        if hasattr(self, "handle"):
            self.library.c.hr_tensor_release(self.handle)


def array_of(library, handle):
    rank = library.c.hr_tensor_rank(handle)
    dims = ctypes.cast(library.c.hr_tensor_dims(handle), ctypes.POINTER(ctypes.c_int64))
    kind = numpy.dtype(DTYPES[library.c.hr_tensor_dtype(handle)])
    shape = tuple(dims[i] for i in range(rank))
    data = ctypes.string_at(library.c.hr_tensor_data(handle),
                            int(numpy.prod(shape, dtype=numpy.int64)) * kind.itemsize)
    return numpy.frombuffer(data, kind).reshape(shape)


class Env:
    def __init__(self, library):
        self.library = library
        self.handle = library.make("hr_env_create", None)

    def describe(self):
        text = self.library.make("hr_env_describe", self.handle)
        out = self.library.c.hr_text_data(text).decode()
        self.library.c.hr_text_release(text)
        return out


class Graph:
    def __init__(self, env):
        self.library, self.env = env.library, env
        self.handle = env.library.make("hr_graph_create", env.handle)
        self.values, self.kept = {"": NONE}, []

    def __del__(self):
        self.library.c.hr_graph_release(self.handle)

    def input(self, name, code, dims):
        out = ctypes.c_uint32()
        self.library.call("hr_graph_input", self.handle, name.encode(), code,
                          ctypes.c_size_t(len(dims)), int64s(dims), None, ctypes.byref(out))
        self.values[name] = out.value

    def sequence(self, name, code):
        """An input of a body."""
        out = ctypes.c_uint32()
        self.library.call("hr_graph_input_sequence", self.handle, name.encode(), code,
                          ctypes.byref(out))
        self.values[name] = out.value

    def input_like(self, name, around):
        """The input of a body that takes a value of the graph around it."""
        value = ctypes.c_uint32(around.values[name])
        text = self.library.make("hr_graph_type_of", around.handle, value)
        is_sequence = self.library.c.hr_text_data(text).startswith(b"sequence")
        self.library.c.hr_text_release(text)
        info = ValueInfo(struct_size=ctypes.sizeof(ValueInfo))
        self.library.call("hr_graph_get_value", around.handle, value, ctypes.byref(info))
        if is_sequence:
            self.sequence(name, info.dtype)
        elif info.rank < 0:
            raise Failure("", f"'{name}' depends on data, which a body cannot declare")
        else:
            self.input(name, info.dtype, info.dims[:info.rank])

    def body(self, body, inputs, outputs):
        """Adds a copy of another graph as a body of this one."""
        out = ctypes.c_uint32()
        for port, names in ("input", inputs), ("output", outputs):
            for i, name in enumerate(names):
                self.library.call(f"hr_graph_signature_{port}", body.handle, b"body",
                                  f"{i}".encode(), ctypes.c_uint32(body.values[name]))
        self.library.call("hr_graph_body", self.handle, body.handle, b"body", ctypes.byref(out))
        self.kept.extend(body.kept)  # its constants stay where they are
        return out.value

    def constant(self, name, array):
        out = ctypes.c_uint32()
        self.kept.append(Tensor(self.library, array))
        self.library.call("hr_graph_constant", self.handle, name.encode(), self.kept[-1].handle,
                          ctypes.byref(out))
        self.values[name] = out.value

    def node(self, op, inputs, outputs, attributes):
        """Outputs with an empty name are made and dropped."""
        spec = self.library.make("hr_node_spec_create", op.encode())
        try:
            for name in inputs:
                self.library.c.hr_node_spec_input(spec, ctypes.c_uint32(self.values[name]))
            for name, value in attributes.items():
                self.attribute(spec, name.encode(), value)
            made = (ctypes.c_uint32 * max(1, len(outputs)))()
            self.library.call("hr_graph_add", self.handle, spec, ctypes.c_size_t(len(outputs)),
                              made, None)
        finally:
            self.library.c.hr_node_spec_release(spec)
        for name, value in zip(outputs, made):
            if name:
                self.values[name] = value
                self.library.call("hr_graph_name_value", self.handle, ctypes.c_uint32(value),
                                  name.encode())

    def attribute(self, spec, name, value):
        c = self.library.c
        if isinstance(value, Body):
            c.hr_node_spec_body(spec, name, ctypes.c_uint32(value.index))
        elif isinstance(value, int):
            c.hr_node_spec_int(spec, name, ctypes.c_int64(value))
        elif isinstance(value, float):
            c.hr_node_spec_float(spec, name, ctypes.c_double(value))
        elif isinstance(value, bytes):
            c.hr_node_spec_string(spec, name, value)
        elif isinstance(value, numpy.ndarray):
            self.kept.append(Tensor(self.library, value))
            c.hr_node_spec_tensor(spec, name, self.kept[-1].handle)
        elif all(isinstance(item, int) for item in value):
            c.hr_node_spec_ints(spec, name, ctypes.c_size_t(len(value)), int64s(value))
        elif all(isinstance(item, float) for item in value):
            floats = (ctypes.c_double * max(1, len(value)))(*value)
            c.hr_node_spec_floats(spec, name, ctypes.c_size_t(len(value)), floats)
        else:
            texts = (ctypes.c_char_p * len(value))(*value)
            c.hr_node_spec_strings(spec, name, ctypes.c_size_t(len(value)), texts)

    def run(self, feeds, fetches):
        """Arrays by name in, arrays in the order of `fetches` out."""
        return run_model(self.library, self.library.make("hr_model_from_graph", self.handle), feeds,
                         fetches)


class ConvertOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("constants", ctypes.c_int32),
                ("simplify", ctypes.c_int32)]


class ConvertedFile:
    """A model that hr_model_convert makes of an ONNX file; `options` are ConvertOptions."""

    def __init__(self, env, onnx_path, path, **options):
        self.library, self.env, self.path = env.library, env, path
        how = ConvertOptions(ctypes.sizeof(ConvertOptions), **options)
        report = env.library.make("hr_model_convert", env.handle, onnx_path.encode(), path.encode(),
                                  ctypes.byref(how), None)
        self.report = env.library.c.hr_text_data(report).decode()
        env.library.c.hr_text_release(report)

    def run(self, feeds, fetches):
        library = self.library
        model = library.make("hr_model_load", self.env.handle, self.path.encode(), None)
        session, call = None, None
        try:
            session = library.make("hr_session_create", model, None, None)
            call = library.make("hr_call_create", session, b"infer")
            tensors = [Tensor(library, array) for array in feeds.values()]
            for name, tensor in zip(feeds, tensors):
                library.call("hr_call_bind", call, name.encode(), tensor.handle)
            library.call("hr_call_run", call, None)
            results = []
            for name in fetches:
                output = library.make("hr_call_result", call, name.encode())
                results.append(array_of(library, output))
                library.c.hr_tensor_release(output)
            return results
        finally:
            library.c.hr_call_release(call)
            library.c.hr_session_release(session)
            library.c.hr_model_release(model)


def run_model(library, model, feeds, fetches):
    """Takes the model over."""
    session = None
    try:
        session = library.make("hr_session_create", model, None, None)
        tensors = [Tensor(library, array) for array in feeds.values()]
        outputs = (ctypes.c_void_p * len(fetches))()
        library.call("hr_session_run", session, ctypes.c_size_t(len(feeds)),
                     strings(list(feeds)), pointers([t.handle for t in tensors]),
                     ctypes.c_size_t(len(fetches)), strings(fetches), ctypes.c_size_t(0),
                     None, None, outputs)
    finally:
        library.c.hr_session_release(session)
        library.c.hr_model_release(model)
    results = []
    for output in outputs:
        held = ctypes.c_void_p(output)
        results.append(array_of(library, held))
        library.c.hr_tensor_release(held)
    return results
