"""Layers: functions of a value that have variables of their own.

A layer is made once and called as often as wanted. In one graph all calls share the variables, so a
path for training (`with graph.training()`) and one for serving have the same weights.
"""
import math

from . import ops
from .errors import AlreadyExists, InvalidArgument


class Layer:
    """A function of values with variables below its name.

    Parameters
    ----------
    name : str, optional
        The beginning of its variables' names. Without one the graph gives it a name ("dense",
        "dense_2") when it is first called, which it keeps.
    """

    kind = "layer"

    def __init__(self, name=None):
        self.name = name
        self._is_named = name is not None

    def __call__(self, x):
        """Add the layer to the graph of `x`, and return its output."""
        graph = ops.graph_of(x)
        self._claim(graph)
        return self.build(graph, x)

    def build(self, graph, x):
        """Add the layer's nodes. Layers of a program's own override this."""
        raise NotImplementedError

    def _claim(self, graph):
        used = graph._layers
        if self.name is None:
            number = 1
            while self._name(number) in used or self._in(graph, self._name(number)):
                number += 1
            self.name = self._name(number)
        owner = used.setdefault(self.name, self)
        if owner is not self and not (self._is_named and owner._is_named):
            raise AlreadyExists(f"two layers of this graph are named '{self.name}', which would "
                                "share their weights: give them names, or call one layer twice")

    def _name(self, number):
        return self.kind if number == 1 else f"{self.kind}_{number}"

    @staticmethod
    def _in(graph, name):
        return any(one.name.startswith(f"{name}/") for one in graph.variables)

    def variable(self, graph, suffix, **description):
        """Return the variable of this layer in the graph; it is added at the first call."""
        name = f"{self.name}/{suffix}"
        if graph.has_variable(name):
            return graph.find_variable(name)
        return graph.variable(name, **description)

    def _size(self, x, axis):
        size = None if x.shape is None else x.shape[axis]
        if not isinstance(size, int):
            raise InvalidArgument(f"layer '{self.name}': dimension {axis} of its input must be "
                                  f"known, got {x!r}")
        return size

    def __repr__(self):
        return f"{type(self).__name__}({self.name or ''})"


def _uniform(fan_in):
    bound = 1 / math.sqrt(fan_in)
    return f"RandomUniform low={-bound!r} high={bound!r}"


class Dense(Layer):
    """A fully connected layer, ``x @ weight + bias``, of what is flattened to [N, features].

    Parameters
    ----------
    units : int
        The number of outputs.
    """

    kind = "dense"

    def __init__(self, units, name=None):
        super().__init__(name)
        self.units = units

    def build(self, graph, x):
        return graph.dense(self.name, x, self.units)


class Linear(Layer):
    """``x @ weight + bias`` on the last axis of an input of any rank."""

    kind = "linear"

    def __init__(self, units, bias=True, name=None):
        super().__init__(name)
        self.units = units
        self.bias = bias

    def build(self, graph, x):
        size = self._size(x, -1)
        weight = self.variable(graph, "weight", shape=[size, self.units], dtype=x.dtype,
                               init=_uniform(size))
        y = x @ weight
        if not self.bias:
            return y
        return y + self.variable(graph, "bias", shape=[self.units], dtype=x.dtype,
                                 init=_uniform(size))


class Conv2d(Layer):
    """A convolution of images [N, C, H, W].

    Parameters
    ----------
    channels, kernel : int
        The number of output channels, and the size of the square kernel.
    stride, padding, dilation, groups : int
        Padding may also be "same".
    """

    kind = "conv"

    def __init__(self, channels, kernel, *, stride=1, padding=0, dilation=1, groups=1, name=None):
        super().__init__(name)
        self.channels = channels
        self.kernel = kernel
        self.attributes = {"strides": [stride] * 2, "dilations": [dilation] * 2, "group": groups}
        self.attributes.update({"auto_pad": "SAME_UPPER"} if padding == "same"
                               else {"pads": [padding] * 4})

    def build(self, graph, x):
        return graph.conv2d(self.name, x, self.channels, self.kernel, **self.attributes)


class Conv1d(Layer):
    """A convolution of sequences [N, C, L]; its settings are those of Conv2d."""

    kind = "conv"

    def __init__(self, channels, kernel, *, stride=1, padding=0, dilation=1, groups=1, name=None):
        super().__init__(name)
        self.channels, self.kernel, self.groups = channels, kernel, groups
        self.attributes = {"strides": [stride], "dilations": [dilation], "group": groups}
        self.attributes.update({"auto_pad": "SAME_UPPER"} if padding == "same"
                               else {"pads": [padding] * 2})

    def build(self, graph, x):
        inputs = self._size(x, 1) // self.groups
        init = _uniform(inputs * self.kernel)
        weight = self.variable(graph, "weight", shape=[self.channels, inputs, self.kernel],
                               dtype=x.dtype, init=init)
        bias = self.variable(graph, "bias", shape=[self.channels], dtype=x.dtype, init=init)
        return ops.conv(x, weight, bias, **self.attributes)


class BatchNorm(Layer):
    """Normalizes each channel of [N, C, …] by the batch, and in serving by running statistics.

    Parameters
    ----------
    momentum : float
        The share of a new batch in the running statistics.
    epsilon : float
    """

    kind = "batch_norm"

    def __init__(self, momentum=0.1, epsilon=1e-5, name=None):
        super().__init__(name)
        self.attributes = {"momentum": momentum, "epsilon": epsilon}

    def build(self, graph, x):
        y, update = graph.batch_norm(self.name, x, graph.is_training, **self.attributes)
        if update is not None:
            graph.updates.append(update)
        return y


class _Scaled(Layer):
    """A normalization with a scale, and perhaps a bias, of the input's size on an axis."""

    axis = -1

    def _parameter(self, graph, x, suffix, number):
        import numpy
        from .dtypes import numpy_dtype
        values = numpy.full(self._size(x, self.axis), number, numpy_dtype(x.dtype))
        return self.variable(graph, suffix, initial=values)


class LayerNorm(_Scaled):
    """Normalizes each vector of the last axis."""

    kind = "layer_norm"

    def __init__(self, epsilon=1e-5, name=None):
        super().__init__(name)
        self.epsilon = epsilon

    def build(self, graph, x):
        return graph.op("LayerNormalization", x, self._parameter(graph, x, "scale", 1),
                        self._parameter(graph, x, "bias", 0), axis=-1, epsilon=self.epsilon)


class RMSNorm(_Scaled):
    """Divides each vector of the last axis by its root mean square."""

    kind = "rms_norm"

    def __init__(self, epsilon=1e-5, name=None):
        super().__init__(name)
        self.epsilon = epsilon

    def build(self, graph, x):
        return graph.op("RMSNormalization", x, self._parameter(graph, x, "scale", 1), axis=-1,
                        epsilon=self.epsilon)


class GroupNorm(_Scaled):
    """Normalizes groups of channels of [N, C, …]."""

    kind = "group_norm"
    axis = 1

    def __init__(self, groups, epsilon=1e-5, name=None):
        super().__init__(name)
        self.groups = groups
        self.epsilon = epsilon

    def build(self, graph, x):
        return graph.op("GroupNormalization", x, self._parameter(graph, x, "scale", 1),
                        self._parameter(graph, x, "bias", 0), num_groups=self.groups,
                        epsilon=self.epsilon)


class Embedding(Layer):
    """A vector for each of `count` indices.

    Parameters
    ----------
    count, size : int
        How many vectors there are, and how long they are.
    """

    kind = "embedding"

    def __init__(self, count, size, name=None):
        super().__init__(name)
        self.count, self.size = count, size

    def table(self, graph):
        """The variable [count, size]."""
        return self.variable(graph, "table", shape=[self.count, self.size], init="RandomNormal")

    def build(self, graph, x):
        return graph.op("Gather", self.table(graph), x)


class Attention(Layer):
    """Multi-head self-attention of sequences [N, positions, size].

    Parameters
    ----------
    heads : int
    causal : bool
        Whether a position sees only those up to itself.
    """

    kind = "attention"

    def __init__(self, heads, *, causal=False, name=None):
        super().__init__(name)
        self.heads, self.causal = heads, causal
        self._joined = None

    def build(self, graph, x):
        size = self._size(x, -1)
        if size % self.heads != 0:
            raise InvalidArgument(f"layer '{self.name}': its input has {size} features, which "
                                  f"{self.heads} heads cannot share; expected a multiple")
        if self._joined is None:
            self._joined = (Linear(3 * size, name=f"{self.name}/qkv"),
                            Linear(size, name=f"{self.name}/out"))
        qkv, out = self._joined
        q, k, v = ops.split(qkv(x), 3, axis=-1)
        return out(ops.attention(q, k, v, heads=self.heads, causal=self.causal))


class Dropout(Layer):
    """Sets some elements to 0, in paths that are built for training alone."""

    kind = "dropout"

    def __init__(self, ratio=0.5, name=None):
        super().__init__(name)
        self.ratio = ratio

    def build(self, graph, x):
        return ops.dropout(x, self.ratio)


class Flatten(Layer):
    """Makes a matrix [N, features]."""

    kind = "flatten"

    def build(self, graph, x):
        return ops.flatten(x)


class MaxPool(Layer):
    """The largest element of each window; the stride is the kernel if it is not given."""

    kind = "max_pool"

    def __init__(self, kernel, stride=None, padding=0, name=None):
        super().__init__(name)
        self.window = (kernel, stride, padding)

    def build(self, graph, x):
        return ops.max_pool(x, *self.window)


class AvgPool(MaxPool):
    """The mean of each window."""

    kind = "avg_pool"

    def build(self, graph, x):
        return ops.avg_pool(x, *self.window)


class Sequential:
    """Functions one after the other: layers, operators such as ``hr.relu``, anything callable."""

    def __init__(self, *functions):
        self.functions = functions

    def __call__(self, x):
        for function in self.functions:
            x = function(x)
        return x

    def __repr__(self):
        names = (getattr(one, "__name__", None) or repr(one) for one in self.functions)
        return f"Sequential({', '.join(names)})"


class Residual(Sequential):
    """``x + functions(x)``."""

    def __call__(self, x):
        return x + super().__call__(x)
