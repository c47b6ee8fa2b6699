"""Graphs: values, variables and nodes, built by calling operators and read like lists."""
import contextlib
import json
import os
import re

from . import _native as native
from ._constants import NONE, AttributeKind
from ._objects import Closeable, handle_of, settings
from .dtypes import FLOATING, dtype_of, float32, name_of
from .env import default_env
from .errors import InvalidArgument, NotFound
from .expression import Expression
from .tensor import Tensor, as_tensor

_PLAIN_TEXT = re.compile(r"[A-Za-z_][\w./:+-]*\Z")


class Value(Expression):
    """A value of a graph: a tensor that a run will have.

    Python's operators work on values as NumPy's do on arrays: they broadcast, ``@`` is MatMul,
    ``==`` compares element by element, and brackets select. A number takes the type of the value
    that it meets.
    """

    __slots__ = ("graph", "index")

    def __init__(self, graph, index):
        self.graph = graph
        self.index = index

    def _value(self):
        return self

    def _info(self):
        return native.hr_graph_get_value(self.graph._handle, self.index)

    @property
    def name(self):
        """The value's name; "" if it has none."""
        return self._info()["name"]

    @name.setter
    def name(self, name):
        native.hr_graph_name_value(self.graph._handle, self.index, name)

    @property
    def dtype(self):
        """The element type, a `Dtype`."""
        return dtype_of(self._info()["dtype"])

    @property
    def shape(self):
        """The dimensions: numbers, names of unknown ones, None; None if the rank is unknown."""
        info = self._info()
        if info["dims"] is None:
            return None
        symbols = info["symbols"] or [None] * len(info["dims"])
        return tuple(symbol if size < 0 else size
                     for size, symbol in zip(info["dims"], symbols))

    @property
    def ndim(self):
        """The number of dimensions; None if it is unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def producer(self):
        """The node that computes the value; None for inputs and constants."""
        node = self._info()["producer"]
        return None if node == NONE else Node(self.graph, node)

    @property
    def is_constant(self):
        """Whether the value has contents in the graph: those of `constant`."""
        return self._info()["is_constant"] != 0

    @property
    def constant(self):
        """The contents of a constant as a Tensor; None if the value is none."""
        handle = native.hr_graph_value_tensor(self.graph._handle, self.index)
        return None if handle is None else Tensor._of(handle)

    def __repr__(self):
        return f"<Value {self.name or self.index}: {self.graph._type_text(self.index)}>"


class Variable(Expression):
    """A tensor that lasts from run to run, and that training changes.

    In an expression it stands for its value at that place of the program: after the assignments
    that have been added so far.
    """

    __slots__ = ("graph", "index")

    def __init__(self, graph, index):
        self.graph = graph
        self.index = index

    def _value(self):
        return self.read()

    def read(self):
        """Add a read, and return its Value."""
        return Value(self.graph, native.hr_graph_read(self.graph._handle, self.index))

    def assign(self, value):
        """Add an assignment; return its Node, which is a target of the signature that needs it."""
        value = self.graph.lift(value, self.dtype)
        return Node(self.graph, native.hr_graph_assign(self.graph._handle, self.index, value.index))

    def assign_add(self, value):
        """Add an addition to the variable; return its Node."""
        value = self.graph.lift(value, self.dtype)
        return Node(self.graph,
                    native.hr_graph_assign_add(self.graph._handle, self.index, value.index))

    def _info(self):
        return native.hr_graph_get_variable(self.graph._handle, self.index)

    @property
    def name(self):
        """The variable's name."""
        return self._info()["name"]

    @property
    def dtype(self):
        """The element type, a `Dtype`."""
        return dtype_of(self._info()["dtype"])

    @property
    def shape(self):
        """The sizes of the dimensions."""
        return tuple(self._info()["dims"])

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    @property
    def trainable(self):
        """Whether training changes it. Setting it counts for what is added afterwards."""
        return bool(self._info()["trainable"])

    @trainable.setter
    def trainable(self, trainable):
        native.hr_graph_set_trainable(self.graph._handle, self.index, bool(trainable))

    @property
    def initial(self):
        """The initial value as a Tensor; None if an operator makes it."""
        handle = native.hr_graph_variable_tensor(self.graph._handle, self.index)
        return None if handle is None else Tensor._of(handle)

    def __repr__(self):
        frozen = "" if self.trainable else ", frozen"
        return f"<Variable {self.name}: {name_of(self.dtype)}{list(self.shape)}{frozen}>"


class Node:
    """An operator in a graph."""

    __slots__ = ("graph", "index")

    def __init__(self, graph, index):
        self.graph = graph
        self.index = index

    def _info(self):
        return native.hr_graph_get_node(self.graph._handle, self.index)

    def _values(self, numbers):
        return [None if one == NONE else Value(self.graph, one) for one in numbers]

    @property
    def name(self):
        """The node's name; "" if it has none."""
        return self._info()["name"]

    @property
    def op(self):
        """The operator, such as "Conv" or "headrace.train.SGD"."""
        return self._info()["op"]

    @property
    def version(self):
        """The version of the operator."""
        return self._info()["version"]

    @property
    def device(self):
        """The device that was asked for; "" if the session chooses."""
        return self._info()["device"]

    @property
    def inputs(self):
        """The input values; None for one that is omitted."""
        return self._values(self._info()["inputs"])

    @property
    def outputs(self):
        """The output values; None for one that is not computed."""
        return self._values(self._info()["outputs"])

    @property
    def controls(self):
        """The nodes that this one runs after."""
        return [Node(self.graph, one) for one in self._info()["controls"]]

    @property
    def attributes(self):
        """The attributes as a dict; tensors are Tensors, graphs are None."""
        found = {}
        for index in range(self._info()["attribute_count"]):
            one = native.hr_graph_get_attribute(self.graph._handle, self.index, index)
            found[one["name"]] = self._attribute(one["name"], one["kind"])
        return found

    def _attribute(self, name, kind):
        place = (self.graph._handle, self.index, name)
        if kind == AttributeKind.INT:
            return native.hr_graph_node_int(*place, 0)
        if kind == AttributeKind.FLOAT:
            return native.hr_graph_node_float(*place, 0.0)
        if kind == AttributeKind.STRING:
            return native.hr_graph_node_string(*place, None)
        if kind == AttributeKind.INTS:
            return native.hr_graph_node_ints(*place)
        if kind == AttributeKind.FLOATS:
            return native.hr_graph_node_floats(*place)
        if kind == AttributeKind.STRINGS:
            return native.hr_graph_node_strings(*place)
        if kind == AttributeKind.TENSOR:
            return Tensor._of(native.hr_graph_node_tensor(*place))
        return None

    def __repr__(self):
        return f"<Node {self.name or self.index}: {self.op}>"


class Signature:
    """A named entry of a graph: `inputs` and `outputs` are dicts of values, `targets` are nodes."""

    __slots__ = ("name", "inputs", "outputs", "targets")

    def __init__(self, graph, info):
        def values(names, numbers):
            return {name: Value(graph, one) for name, one in zip(names, numbers)}
        self.name = info["name"]
        self.inputs = values(info["input_names"], info["inputs"])
        self.outputs = values(info["output_names"], info["outputs"])
        self.targets = [Node(graph, one) for one in info["targets"]]

    def __repr__(self):
        return f"<Signature {self.name}({', '.join(self.inputs)}) -> {', '.join(self.outputs)}>"


class Graph(Closeable):
    """A graph under construction.

    One thread at a time may use it. What fails leaves it as it was.

    Parameters
    ----------
    env : Env, optional
        The env of the models that are made of it.

    Examples
    --------
    >>> g = hr.Graph()
    >>> x = g.input("x", "float32", ["batch", 3])
    >>> y = hr.softmax(2 * x + 1)
    >>> g.signature("infer", {"x": x}, {"y": y})
    >>> g.model().session().run({"x": [[1, 2, 3]]}, "y")
    """

    __slots__ = ("env", "is_training", "updates", "_layers")

    def __init__(self, env=None):
        self._start(native.hr_graph_create((env or default_env())._handle), env)

    def _start(self, handle, env):
        self._handle = handle
        self.env = env
        self.is_training = False  # whether layers are built for training, see `training`
        self.updates = []         # nodes that layers want as targets of what trains
        self._layers = {}         # by name: the layers that have been used here

    @classmethod
    def of_model(cls, model):
        """Return a graph that goes on from a model, with all that it has."""
        self = cls.__new__(cls)
        self._start(native.hr_graph_from_model(model._handle), model.env)
        return self

    # ---- Building ----

    def input(self, name, dtype, shape):
        """Add an input.

        Parameters
        ----------
        name : str
        dtype : Dtype, str or type
        shape : sequence
            The dimensions: a number, or for one that is not known until a run a name or None.
            Dimensions of one name have one size.

        Returns
        -------
        Value
        """
        dims = [-1 if one is None or isinstance(one, str) else one for one in shape]
        symbols = [one if isinstance(one, str) else None for one in shape]
        return Value(self, native.hr_graph_input(self._handle, name, dtype_of(dtype), dims, symbols))

    def input_sequence(self, name, dtype):
        """Add an input that is a sequence of tensors, for bodies; a run cannot be fed one."""
        return Value(self, native.hr_graph_input_sequence(self._handle, name, dtype_of(dtype)))

    def bound(self, symbol, min=1, max=None, buckets=()):
        """Bound a dimension that an input has named; sizes up to the same bucket share a plan."""
        native.hr_graph_bound(self._handle, symbol, min, -1 if max is None else max, buckets)

    def constant(self, value, dtype=None, name=None):
        """Add a constant: a number, a list or an array, which must not be changed any more."""
        tensor = as_tensor(value, dtype)
        return Value(self, native.hr_graph_constant(self._handle, name, tensor._handle))

    def variable(self, name, initial=None, *, shape=None, dtype="float32", init=None,
                 trainable=True):
        """Add a variable.

        Parameters
        ----------
        name : str
        initial : array, optional
            The initial value, which must not be changed any more.
        shape, dtype
            What the variable has if an operator makes its initial value.
        init : str
            That operator with its attributes, such as ``"RandomUniform low=-0.1 high=0.1"``. The
            seed of a session decides random values.
        trainable : bool

        Returns
        -------
        Variable
        """
        if initial is not None:
            tensor = as_tensor(initial)
            return Variable(self, native.hr_graph_variable(self._handle, name, tensor._handle,
                                                           trainable))
        if init is None or shape is None:
            raise InvalidArgument(f"variable '{name}': expected an initial value, or both `init` "
                                  "and `shape`")
        op, _, attributes = init.partition(" ")
        return Variable(self, native.hr_graph_variable_init(
            self._handle, name, dtype_of(dtype), shape, trainable, op, attributes or None))

    def op(self, op, /, *inputs, outputs=1, name=None, device=None, after=(), **attributes):
        """Add a node of any operator.

        Parameters
        ----------
        op : str
            An ONNX operator ("Conv"), or an operator after its domain and a dot
            ("headrace.train.SGD"); perhaps with a version ("Softmax@13").
        *inputs : Value, Variable, number, array or None
            None omits an optional input. Numbers take the type of the first value.
        outputs : int
            The number of outputs to compute.
        name, device : str, optional
        after : sequence of Node
            Nodes that it runs after.
        **attributes
            Numbers, strings, lists of them, and tensors.

        Returns
        -------
        Value, list of Value or Node
            The output; a list if there are several; the node if there is none.
        """
        numbers = self._inputs(inputs)
        text = None if name or device or after else _as_text(attributes)
        if text is not None and outputs > 0:
            made = native.hr_graph_op(self._handle, op, text or None, numbers, outputs)
        else:
            made, node = self._add(op, numbers, outputs, name, device, after, attributes)
            if outputs == 0:
                return Node(self, node)
        values = [Value(self, one) for one in made]
        return values[0] if outputs == 1 else values

    def _inputs(self, inputs):
        like = next((one.dtype for one in inputs if isinstance(one, Expression)), None)
        return [NONE if one is None else self.lift(one, like).index for one in inputs]

    def _add(self, op, inputs, outputs, name, device, after, attributes):
        spec = native.hr_node_spec_create(op)
        if name:
            native.hr_node_spec_name(spec, name)
        if device:
            native.hr_node_spec_device(spec, device)
        for one in inputs:
            native.hr_node_spec_input(spec, one)
        for node in after:
            native.hr_node_spec_control(spec, node.index)
        for key, value in attributes.items():
            _set_attribute(spec, key, value)
        return native.hr_graph_add(self._handle, spec, outputs)

    def lift(self, one, dtype=None):
        """Return a Value of a value, a variable's read, or a constant of a number or array."""
        if isinstance(one, Expression):
            if one.graph is not self:
                raise InvalidArgument(f"{one!r} belongs to another graph")
            return one._value()
        if isinstance(one, float) and dtype is not None and dtype_of(dtype) not in FLOATING:
            raise InvalidArgument(f"{one} does not fit {name_of(dtype)}: cast the value, for "
                                  "example with hr.cast(x, 'float32')")
        if isinstance(one, (int, float)):
            return self.constant(one, dtype)
        return self.constant(one)

    @contextlib.contextmanager
    def device(self, name):
        """Put nodes that are added in this context on a device, such as ``"TOY:0"``."""
        native.hr_graph_device(self._handle, name)
        try:
            yield
        finally:
            native.hr_graph_device(self._handle, None)

    @contextlib.contextmanager
    def training(self):
        """Build layers for training in this context: dropout drops, statistics are updated."""
        before, self.is_training = self.is_training, True
        try:
            yield
        finally:
            self.is_training = before

    # ---- Gradients ----

    def gradients(self, y, xs):
        """Return the gradients of the sum of `y` with respect to the values `xs`.

        None stands for one that does not exist, because `y` does not depend on that x.
        """
        found = native.hr_graph_add_gradients(self._handle, self.lift(y).index,
                                              [self.lift(one).index for one in xs])
        return [None if one == NONE else Value(self, one) for one in found]

    def variable_gradients(self, loss, variables):
        """Return the gradients of a loss with respect to variables; None where there is none."""
        found = native.hr_graph_variable_gradients(self._handle, loss.index,
                                                   [one.index for one in variables])
        return [None if one == NONE else Value(self, one) for one in found]

    def apply_gradients(self, signature, optimizer, rate, variables, gradients):
        """Add updates of variables by their gradients, as targets of a signature.

        Parameters
        ----------
        signature : str
        optimizer : str
            A name with settings, such as ``"sgd momentum=0.9"``; hr.optim writes these.
        rate : Value or float
            The learning rate, a scalar.
        variables : list of Variable
        gradients : list of Value or None
        """
        rate = self.lift(rate, float32)
        native.hr_graph_apply_gradients(
            self._handle, signature, optimizer, rate.index, [one.index for one in variables],
            [NONE if one is None else one.index for one in gradients])

    def minimize(self, loss, optimizer, rate, signature="train"):
        """Add gradients and updates of all trainable variables on which the loss depends."""
        rate = self.lift(rate, float32)
        native.hr_graph_minimize(self._handle, signature, loss.index, optimizer, rate.index)

    def minimize_groups(self, loss, groups, signature="train"):
        """Minimize with groups of variables: a list of (patterns, optimizer, rate).

        Commas separate patterns of names; the first group that has one for a variable takes it.
        """
        described = [{"patterns": patterns, "optimizer": optimizer,
                      "learning_rate": self.lift(rate, float32).index}
                     for patterns, optimizer, rate in groups]
        native.hr_graph_minimize_groups(self._handle, signature, loss.index, described)

    def distribute(self, signature="train", group="workers", strategy="mirrored"):
        """Let all ranks of a group train one model: rewrite a signature that `minimize` has made.

        Gradients are averaged while the backward pass goes on. `group` is the name that
        `Session.bind_group` takes; the strategy may have settings, as in
        ``"mirrored bucket=4194304 bf16=1"``.
        """
        native.hr_graph_distribute(self._handle, signature, group, strategy)

    def schedule(self, signature, description):
        """Add a learning rate that follows a schedule, by the runs of a signature; return it."""
        return Value(self, native.hr_graph_schedule(self._handle, signature, description))

    def clip_gradients(self, gradients, *, value=None, norm=None, global_norm=None):
        """Return (gradients, global norm): bounded element by element, each, and all together."""
        bounds = _as_text(settings(value=value, norm=norm, global_norm=global_norm))
        clipped, total = native.hr_graph_clip_gradients(
            self._handle, bounds, [NONE if one is None else one.index for one in gradients])
        return ([None if one == NONE else Value(self, one) for one in clipped],
                Value(self, total))

    def set_trainable(self, patterns, trainable):
        """Freeze variables by patterns of names ("encoder.*,embedding"), or make them trainable.

        Returns how many there were.
        """
        return native.hr_graph_set_trainable_matching(self._handle, patterns, trainable)

    def metric(self, signature, name, description, *inputs):
        """Add a metric as an output of a signature, such as ``"top_k k=5"``; see training_graph.h."""
        native.hr_graph_metric(self._handle, signature, name, description,
                               [self.lift(one).index for one in inputs])

    def add_lora(self, patterns, settings=None, training=None):
        """Add low-rank adapters by patterns of names, freeze the rest; return how many nodes."""
        return native.hr_graph_add_lora(self._handle, patterns, settings, training)

    def load_adapters(self, path):
        """Add the adapters of a file, and freeze the rest; return how many nodes have one."""
        return native.hr_graph_load_adapters(self._handle, os.fspath(path))

    def quantize(self, signature, settings, *, patterns=None, data=None, timeout=None,
                 cancel=None):
        """Make the numbers of one signature smaller; return the report, a dict.

        The settings begin with "weights", "dynamic", "static", "float16" or "bfloat16". Only what
        the signature needs stays, so values have other numbers. A Dataset is for "static" alone.
        """
        return json.loads(native.hr_graph_quantize(
            self._handle, signature, settings, patterns,
            None if data is None else data._handle, timeout, handle_of(cancel)))

    # ---- Signatures ----

    def average_signature(self, source, name):
        """Add a signature that does what another does, with the variables' moving averages."""
        native.hr_graph_average_signature(self._handle, source, name)

    def swap_averages(self, name):
        """Add a signature whose run swaps variables and their moving averages."""
        native.hr_graph_swap_averages(self._handle, name)

    def copy_signature(self, source, name):
        """Add a signature with copies of the nodes of another."""
        native.hr_graph_copy_signature(self._handle, source, name)

    def replace(self, value, by):
        """Let all that uses a value use another one."""
        native.hr_graph_replace(self._handle, value.index, by.index)

    def signature(self, name, inputs=None, outputs=None, targets=()):
        """Add to a signature, which is created if there is none of the name.

        Parameters
        ----------
        name : str
        inputs, outputs : dict of str to Value, or list of Value
            Values in a list go by their own names.
        targets : list of Node
        """
        for key, value in _named(inputs).items():
            native.hr_graph_signature_input(self._handle, name, key, value.index)
        for key, value in _named(outputs).items():
            native.hr_graph_signature_output(self._handle, name, key, self.lift(value).index)
        for node in targets:
            native.hr_graph_signature_target(self._handle, name, node.index)

    def remove_signature(self, name):
        """Remove a signature; what only it needed goes with `prune`."""
        native.hr_graph_remove_signature(self._handle, name)

    def prune(self):
        """Remove all that no signature needs. Values, nodes and variables get new numbers."""
        native.hr_graph_prune(self._handle)

    def set_metadata(self, key, value):
        """Set a text of the model."""
        native.hr_graph_set_metadata(self._handle, key, value)

    # ---- Reading ----

    def _info(self):
        return native.hr_graph_get(self._handle)

    def _type_text(self, index):
        return native.hr_graph_type_of(self._handle, index)

    @property
    def inputs(self):
        """The inputs, in the order in which they were added."""
        return [Value(self, one) for one in self._info()["inputs"]]

    @property
    def values(self):
        """All values."""
        return [Value(self, one) for one in range(self._info()["value_count"])]

    @property
    def nodes(self):
        """All nodes."""
        return [Node(self, one) for one in range(self._info()["node_count"])]

    @property
    def variables(self):
        """All variables."""
        return [Variable(self, one) for one in range(self._info()["variable_count"])]

    @property
    def signatures(self):
        """The signatures by name."""
        found = (Signature(self, native.hr_graph_get_signature(self._handle, one))
                 for one in range(self._info()["signature_count"]))
        return {one.name: one for one in found}

    def find_value(self, name):
        """Return the value of a name; NotFound, with the nearest name, if there is none."""
        return Value(self, native.hr_graph_find_value(self._handle, name))

    def find_node(self, name):
        """Return the node of a name; NotFound if there is none."""
        return Node(self, native.hr_graph_find_node(self._handle, name))

    def find_variable(self, name):
        """Return the variable of a name; NotFound if there is none."""
        return Variable(self, native.hr_graph_find_variable(self._handle, name))

    def find_signature(self, name):
        """Return the signature of a name; NotFound if there is none."""
        index = native.hr_graph_find_signature(self._handle, name)
        return Signature(self, native.hr_graph_get_signature(self._handle, index))

    def has_variable(self, name):
        """Whether there is a variable of the name."""
        try:
            self.find_variable(name)
        except NotFound:
            return False
        return True

    # ---- Layers, which share variables by name ----

    def dense(self, name, x, units):
        """Add a dense layer, ``x @ weight + bias``, with variables below `name`; x is flattened."""
        return Value(self, native.hr_graph_dense(self._handle, name, x.index, units))

    def conv2d(self, name, x, channels, kernel, **attributes):
        """Add a convolution of images [N, C, H, W] with variables below `name`."""
        return Value(self, native.hr_graph_conv2d(self._handle, name, x.index, channels, kernel,
                                                  _as_text(attributes) or None))

    def batch_norm(self, name, x, training, **attributes):
        """Add a batch normalization; return its output, and its update, a Node or None."""
        out, update = native.hr_graph_batch_norm(self._handle, name, x.index, training,
                                                 _as_text(attributes) or None)
        return Value(self, out), None if update == NONE else Node(self, update)

    # ---- Models ----

    def save(self, path, *, strip_names=None, side_file=None, merge_adapters=None):
        """Write a .hrg file.

        Parameters
        ----------
        path : path
        strip_names : bool, optional
            Whether to omit the names of nodes and values; messages then use numbers.
        side_file : str, optional
            The file for the tensors, relative to `path`.
        merge_adapters : bool, optional
            Whether to add low-rank adapters to their weights, and leave them out.
        """
        native.hr_graph_save(self._handle, os.fspath(path),
                             settings(strip_names=strip_names, side_file=side_file,
                                      merge_adapters=merge_adapters))

    def model(self):
        """Return a Model of the graph as it is now; the graph may grow afterwards."""
        from .model import Model
        return Model._of(native.hr_model_from_graph(self._handle), self.env)

    def _repr_svg_(self):
        from .pictures import svg_of
        return svg_of(self)

    def __repr__(self):
        if self.closed:
            return "<headrace.Graph, closed>"
        info = self._info()
        return (f"<headrace.Graph: {info['node_count']} nodes, {info['variable_count']} variables, "
                f"signatures {', '.join(self.signatures) or 'none'}>")


def _named(values):
    if values is None:
        return {}
    if isinstance(values, dict):
        return values
    if isinstance(values, Expression):
        values = [values]
    return {one.name: one for one in values}


def _as_text(attributes):
    """Attributes as the text of hr_graph_op, which fits numbers to what the operator expects.

    None if they cannot be written so: tensors, empty lists, texts with special characters.
    """
    parts = []
    for name, value in attributes.items():
        elements = value if isinstance(value, (list, tuple)) else [value]
        texts = [_element_text(one) for one in elements]
        if not texts or None in texts:
            return None
        parts.append(f"{name}={','.join(texts)}")
    return " ".join(parts)


def _element_text(value):
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, str) and _PLAIN_TEXT.match(value):
        return value
    return None


def _set_attribute(spec, name, value):
    if isinstance(value, (bool, int)):
        return native.hr_node_spec_int(spec, name, int(value))
    if isinstance(value, float):
        return native.hr_node_spec_float(spec, name, value)
    if isinstance(value, str):
        return native.hr_node_spec_string(spec, name, value)
    if isinstance(value, (list, tuple)):
        if all(isinstance(one, str) for one in value) and value:
            return native.hr_node_spec_strings(spec, name, value)
        if any(isinstance(one, float) for one in value):
            return native.hr_node_spec_floats(spec, name, value)
        return native.hr_node_spec_ints(spec, name, value)
    if hasattr(value, "output_count"):  # a Body
        return native.hr_node_spec_body(spec, name, value.index)
    return native.hr_node_spec_tensor(spec, name, as_tensor(value)._handle)
