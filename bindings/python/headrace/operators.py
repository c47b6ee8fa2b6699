"""Custom operators: operators of the program, which graphs, gradients and files treat as any."""
from . import _native as native
from ._constants import NONE, AttributeKind
from .dtypes import OF_ML_DTYPES, dtype_of, numpy_dtype
from .env import default_env
from .errors import InvalidArgument

_KINDS = {int: AttributeKind.INT, float: AttributeKind.FLOAT, str: AttributeKind.STRING,
          list[int]: AttributeKind.INTS, list[float]: AttributeKind.FLOATS,
          list[str]: AttributeKind.STRINGS}


class Operator:
    """A custom operator. A program derives from it and adds an instance to an env.

    Attributes
    ----------
    name : str
        Domain, dot and operator: "com.example.Swish".
    version : int
    inputs, outputs : int or (int, int)
        How many there are: a number, or the fewest and the most (-1: any number).
    attributes : dict of str to type
        ``int``, ``float``, ``str`` or lists of these. One whose name ends in "?" may be omitted.

    Notes
    -----
    The functions may be called by any thread, several at a time. What they raise fails the call
    during which they were called, with their exception as its cause. An operator must be added
    before the env's first model, and before a file that uses it is loaded.

    Examples
    --------
    >>> class Swish(hr.Operator):
    ...     name = "com.example.Swish"
    ...     attributes = {"beta": float}
    ...     def compute(self, node, inputs, outputs):
    ...         x, = inputs
    ...         outputs[0][...] = x / (1 + numpy.exp(-node.attribute("beta", 1.0) * x))
    >>> Swish().add_to(env)
    >>> y = hr.op("com.example.Swish", x, beta=2.0)
    """

    name = ""
    version = 1
    inputs = 1
    outputs = 1
    attributes: dict[str, type] = {}
    gradient = None

    def infer(self, node):
        """Check the types of the inputs and set those of the outputs: `node.set_output`.

        Without a definition of its own, every output is of the type of the first input.
        """
        for index in range(node.output_count):
            node.set_output_like(index, 0)

    def compute(self, node, inputs, outputs):
        """Compute the outputs from the inputs: lists of NumPy arrays, None for one omitted.

        The arrays are views of memory that is used for something else after the call: keep copies.
        The outputs must depend on the inputs and attributes alone.
        """
        raise NotImplementedError

    # def gradient(self, node): adds nodes and calls node.set_gradient. Without it gradients stop.

    def add_to(self, env=None):
        """Add the operator to an env (the default one); return the operator."""
        least_in, most_in = _range(self.inputs)
        least_out, most_out = _range(self.outputs)
        options = {"name": self.name, "version": self.version, "min_inputs": least_in,
                   "max_inputs": most_in, "min_outputs": least_out, "max_outputs": most_out}
        kinds = [(name.removesuffix("?"), _kind(kind), not name.endswith("?"))
                 for name, kind in self.attributes.items()]
        native.hr_env_add_operator(
            (env or default_env())._handle, options, kinds,
            lambda op: self.infer(InferNode(op)), self._compute,
            None if self.gradient is None else lambda op: self.gradient(GradientNode(op)))
        return self

    def _compute(self, op):
        node = ComputeNode(op)
        inputs = [_view(native.hr_op_input_tensor(op, one)) for one in range(node.input_count)]
        outputs = [_view(native.hr_op_output_tensor(op, one)) for one in range(node.output_count)]
        self.compute(node, inputs, outputs)


def _range(count):
    return (count, count) if isinstance(count, int) else count


def _kind(of):
    if of not in _KINDS:
        raise InvalidArgument(f"{of} is no type of an attribute; the types are int, float, str and "
                              "lists of these")
    return _KINDS[of]


def _view(block):
    import numpy
    if block is None:
        return None
    array = numpy.asarray(block)
    return array.view(numpy_dtype(block.dtype)) if block.dtype in OF_ML_DTYPES else array


class _OpNode:
    """A node of a custom operator, while a function of that works on it."""

    def __init__(self, op):
        self._op = op

    @property
    def input_count(self):
        """The number of inputs."""
        return native.hr_op_input_count(self._op)

    @property
    def output_count(self):
        """The number of outputs."""
        return native.hr_op_output_count(self._op)

    def attribute(self, name, default):
        """Return an attribute; the default, which says its type, if the node does not have it."""
        if isinstance(default, list):
            return self.floats(name) or self.ints(name) or default
        if isinstance(default, str) or default is None:
            return native.hr_op_string(self._op, name, default)
        if isinstance(default, float):
            return native.hr_op_float(self._op, name, default)
        return native.hr_op_int(self._op, name, default)

    def ints(self, name):
        """Return an attribute that is a list of integers; [] if the node does not have it."""
        return native.hr_op_ints(self._op, name)

    def floats(self, name):
        """Return an attribute that is a list of numbers; [] if the node does not have it."""
        return native.hr_op_floats(self._op, name)


class InferNode(_OpNode):
    """The node in `Operator.infer`."""

    def input_type(self, index):
        """Return (dtype, shape) of an input; dtype None: omitted, shape None: unknown, -1 in it."""
        dtype, dims = native.hr_op_input_type(self._op, index)
        return (dtype_of(dtype) if dtype else None), (None if dims is None else tuple(dims))

    def set_output(self, index, dtype, shape):
        """Set the type of an output; a shape of None, or a size of None or -1, is unknown."""
        dims = None if shape is None else [-1 if one is None else one for one in shape]
        native.hr_op_set_output(self._op, index, dtype_of(dtype), dims)

    def set_output_like(self, index, input):
        """Set the type of an output to that of an input."""
        native.hr_op_set_output_like(self._op, index, input)


class ComputeNode(_OpNode):
    """The node in `Operator.compute`."""

    def parallel_for(self, tasks, function):
        """Call ``function(task)`` for each task from 0 on the threads of the run.

        It helps where the function leaves Python's lock, as NumPy does in large operations.
        """
        native.hr_op_parallel_for(self._op, tasks, function)


class GradientNode(_OpNode):
    """The node in `Operator.gradient`. Values are numbers here; None is one that does not exist."""

    def input(self, index):
        """Return an input."""
        return _or_none(native.hr_op_input(self._op, index))

    def output(self, index):
        """Return an output."""
        return _or_none(native.hr_op_output(self._op, index))

    def output_gradient(self, index):
        """Return the gradient of an output; None if nothing depends on it."""
        return _or_none(native.hr_op_output_gradient(self._op, index))

    def wants_gradient(self, index):
        """Whether the gradient of an input is needed."""
        return native.hr_op_wants_gradient(self._op, index) != 0

    def op(self, name, *inputs, outputs=1, attributes=None):
        """Add a node; `attributes` is a text such as "axis=1". Returns its output or outputs."""
        made = native.hr_op_add(self._op, name, attributes,
                                [NONE if one is None else one for one in inputs], outputs)
        return made[0] if outputs == 1 else made

    def scalar(self, value, like):
        """Add a constant of the type of a value."""
        return native.hr_op_scalar(self._op, value, like)

    def set_gradient(self, index, value):
        """Set the gradient of an input, of the input's shape."""
        native.hr_op_set_gradient(self._op, index, value)


def _or_none(value):
    return None if value == NONE else value
