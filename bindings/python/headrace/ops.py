"""Operators as functions of values.

Those that a program meets often have a function of their own here. Every other operator of
docs/operators.md is `hr.op("Name", inputs…, attribute=…)`.
"""
from .dtypes import FLOATING, bytes_of, dtype_of
from .errors import InvalidArgument
from .expression import Expression

_LARGEST = 2**63 - 1


def graph_of(*values):
    """The graph of the first value among the arguments."""
    for one in values:
        if isinstance(one, Expression):
            return one.graph
    raise TypeError("expected a value of a graph among the arguments, such as what "
                    "graph.input(…) returns")


def op(operator, /, *inputs, outputs=1, **attributes):
    """Add a node of any operator to the graph of its inputs; see `Graph.op`."""
    return graph_of(*inputs).op(operator, *inputs, outputs=outputs, **attributes)


def _function(name, text):
    def function(x):
        return op(name, x)
    function.__name__ = function.__qualname__ = text.split("(")[0]
    function.__doc__ = text.partition(": ")[2]
    return function


relu = _function("Relu", "relu(x): Return max(x, 0), element by element.")
sigmoid = _function("Sigmoid", "sigmoid(x): Return 1 / (1 + exp(-x)), element by element.")
tanh = _function("Tanh", "tanh(x): Return the hyperbolic tangent of each element.")
exp = _function("Exp", "exp(x): Return e to the power of each element.")
log = _function("Log", "log(x): Return the natural logarithm of each element.")
sqrt = _function("Sqrt", "sqrt(x): Return the square root of each element.")
sin = _function("Sin", "sin(x): Return the sine of each element.")
cos = _function("Cos", "cos(x): Return the cosine of each element.")
erf = _function("Erf", "erf(x): Return the error function of each element.")
sign = _function("Sign", "sign(x): Return -1, 0 or 1 for each element.")
floor = _function("Floor", "floor(x): Return each element, rounded down.")
ceil = _function("Ceil", "ceil(x): Return each element, rounded up.")
round = _function("Round", "round(x): Return each element, rounded, halves to the even number.")
softplus = _function("Softplus", "softplus(x): Return log(1 + exp(x)), element by element.")
mish = _function("Mish", "mish(x): Return x tanh(softplus(x)), element by element.")
hard_swish = _function("HardSwish", "hard_swish(x): Return HardSwish of each element.")
isnan = _function("IsNaN", "isnan(x): Return which elements are no numbers.")
shape = _function("Shape", "shape(x): Return the shape as a value, int64.")
identity = _function("Identity", "identity(x): Return the value again.")


def gelu(x, approximate="none"):
    """Return the Gaussian error linear unit of each element; `approximate` is none or tanh."""
    return op("Gelu", x, approximate=approximate)


def silu(x):
    """Return x sigmoid(x), element by element."""
    return x * sigmoid(x)


def leaky_relu(x, alpha=0.01):
    """Return x where it is positive, alpha x elsewhere."""
    return op("LeakyRelu", x, alpha=alpha)


def elu(x, alpha=1.0):
    """Return x where it is positive, alpha (exp(x) - 1) elsewhere."""
    return op("Elu", x, alpha=alpha)


def softmax(x, axis=-1):
    """Return exp(x) divided by its sum along an axis."""
    return op("Softmax", x, axis=axis)


def log_softmax(x, axis=-1):
    """Return the logarithm of softmax."""
    return op("LogSoftmax", x, axis=axis)


def maximum(a, b):
    """Return the larger of two elements."""
    return op("Max", a, b)


def minimum(a, b):
    """Return the smaller of two elements."""
    return op("Min", a, b)


def clip(x, low=None, high=None):
    """Return the elements, bounded by numbers."""
    return op("Clip", x, low, high)


def modulo(a, b):
    """Return the remainder of a / b with the sign of b, as Python's %."""
    graph = graph_of(a, b)
    dtype = next(one.dtype for one in (a, b) if isinstance(one, Expression))
    a, b = graph.lift(a, dtype), graph.lift(b, dtype)
    return a - floor(a / b) * b if dtype in FLOATING else graph.op("Mod", a, b)


def where(condition, x, y):
    """Return x where the condition holds, y elsewhere."""
    graph = graph_of(condition, x, y)
    like = next((one.dtype for one in (x, y) if isinstance(one, Expression)), None)
    return graph.op("Where", condition, graph.lift(x, like), graph.lift(y, like))


def cast(x, dtype):
    """Return the elements as another type."""
    return op("Cast", x, to=int(dtype_of(dtype)))


# ---- Products ----

def matmul(a, b):
    """Return the matrix product, as numpy.matmul."""
    return op("MatMul", a, b)


def einsum(equation, *xs):
    """Return the sums of products that an equation names, as numpy.einsum."""
    return op("Einsum", *xs, equation=equation)


def attention(q, k, v, mask=None, *, heads=None, key_heads=None, causal=False, scale=None):
    """Return scaled dot-product attention.

    Parameters
    ----------
    q, k, v : Value
        [N, heads, positions, size], or [N, positions, heads * size] with `heads` given.
    mask : Value, optional
        Added to the scores, or bool: where to look.
    heads, key_heads : int, optional
        The numbers of heads of q, and of k and v (those of q).
    causal : bool
        Whether a position sees only those up to itself.
    scale : float, optional
        1 / sqrt(size) if it is not given.
    """
    attributes = {"is_causal": int(causal)}
    if heads is not None:
        attributes.update(q_num_heads=heads, kv_num_heads=key_heads or heads)
    if scale is not None:
        attributes["scale"] = scale
    return op("Attention", q, k, v, mask, **attributes)


def conv(x, weight, bias=None, **attributes):
    """Return a convolution of x [N, C, spatial…] with weight [M, C/group, kernel…]."""
    return op("Conv", x, weight, bias, **attributes)


def _window(x, kernel, stride, padding):
    axes = x.ndim - 2
    kernel = [kernel] * axes if isinstance(kernel, int) else list(kernel)
    stride = kernel if stride is None else [stride] * axes if isinstance(stride, int) else stride
    padding = [padding] * axes if isinstance(padding, int) else list(padding)
    return {"kernel_shape": kernel, "strides": list(stride), "pads": padding + padding}


def max_pool(x, kernel, stride=None, padding=0):
    """Return the largest element of each window; the stride is the kernel if it is not given."""
    return op("MaxPool", x, **_window(x, kernel, stride, padding))


def avg_pool(x, kernel, stride=None, padding=0):
    """Return the mean of each window; the stride is the kernel if it is not given."""
    return op("AveragePool", x, **_window(x, kernel, stride, padding))


def global_avg_pool(x):
    """Return the mean over all axes but the first two, [N, C]."""
    return flatten(op("GlobalAveragePool", x))


# ---- Reductions ----

def _axes(x, axis):
    if axis is None:
        return None
    axes = [axis] if isinstance(axis, int) else list(axis)
    return graph_of(x).constant(_int64(axes))


def _int64(numbers):
    import numpy
    return numpy.asarray(numbers, dtype=numpy.int64)


def _reduction(name, text):
    def function(x, axis=None, keepdims=False):
        return op(name, x, _axes(x, axis), keepdims=int(keepdims))
    function.__name__ = function.__qualname__ = text.split("(")[0]
    function.__doc__ = text.partition(": ")[2] + (
        "\n\n    `axis` is a number or several; None means all. `keepdims` keeps them as 1.\n    ")
    return function


sum = _reduction("ReduceSum", "sum(x, axis, keepdims): Return the sum over axes.")
mean = _reduction("ReduceMean", "mean(x, axis, keepdims): Return the mean over axes.")
max = _reduction("ReduceMax", "max(x, axis, keepdims): Return the largest element along axes.")
min = _reduction("ReduceMin", "min(x, axis, keepdims): Return the smallest element along axes.")
prod = _reduction("ReduceProd", "prod(x, axis, keepdims): Return the product over axes.")
norm = _reduction("ReduceL2", "norm(x, axis, keepdims): Return the Euclidean norm over axes.")
logsumexp = _reduction("ReduceLogSumExp",
                       "logsumexp(x, axis, keepdims): Return log(sum(exp(x))) over axes.")


def argmax(x, axis=-1, keepdims=False):
    """Return where the largest element along an axis is, int64."""
    return op("ArgMax", x, axis=axis, keepdims=int(keepdims))


def argmin(x, axis=-1, keepdims=False):
    """Return where the smallest element along an axis is, int64."""
    return op("ArgMin", x, axis=axis, keepdims=int(keepdims))


def cumsum(x, axis=0):
    """Return the sums of the elements so far along an axis."""
    return op("CumSum", x, graph_of(x).constant(_int64(axis)))


def top_k(x, k, axis=-1):
    """Return the k largest elements along an axis, and where they are."""
    return op("TopK", x, graph_of(x).constant(_int64([k])), outputs=2, axis=axis)


# ---- Shapes ----

def reshape(x, shape):
    """Return the elements in another shape: a list with at most one -1, or a value."""
    if not isinstance(shape, Expression):
        shape = graph_of(x).constant(_int64([shape] if isinstance(shape, int) else shape))
    return op("Reshape", x, shape)


def flatten(x, axis=1):
    """Return a matrix: the axes before `axis`, and those from it on."""
    return op("Flatten", x, axis=axis)


def transpose(x, axes=None):
    """Return the axes in another order; backwards if none is given."""
    return op("Transpose", x) if axes is None else op("Transpose", x, perm=list(axes))


def expand_dims(x, axis):
    """Return the elements with another axis, or several, of size 1."""
    return op("Unsqueeze", x, _axes(x, axis))


def squeeze(x, axis=None):
    """Return the elements without axes of size 1."""
    return op("Squeeze", x, _axes(x, axis))


def concat(xs, axis=0):
    """Return values joined along an axis."""
    return op("Concat", *xs, axis=axis)


def stack(xs, axis=0):
    """Return values joined along a new axis."""
    return concat([expand_dims(one, axis) for one in xs], axis)


def split(x, parts, axis=0):
    """Return the parts of a value along an axis: as many as a number says, or of these sizes."""
    if isinstance(parts, int):
        made = op("Split", x, outputs=parts, axis=axis, num_outputs=parts)
    else:
        made = op("Split", x, graph_of(x).constant(_int64(parts)), outputs=len(parts), axis=axis)
    return made if isinstance(made, list) else [made]


def pad(x, pads, mode="constant", value=None):
    """Return the value with (before, after) elements more on each axis."""
    flat = [one for one, _ in pads] + [one for _, one in pads]
    return op("Pad", x, graph_of(x).constant(_int64(flat)), value, mode=mode)


def tile(x, repeats):
    """Return the value repeated along each axis."""
    return op("Tile", x, graph_of(x).constant(_int64(repeats)))


def expand(x, shape):
    """Return the value broadcast to a shape."""
    return op("Expand", x, graph_of(x).constant(_int64(shape)))


def gather(x, indices, axis=0):
    """Return the slices of x along an axis that the indices name."""
    graph = graph_of(x, indices)
    if not isinstance(indices, Expression):
        indices = graph.constant(_int64(indices))
    return graph.op("Gather", x, indices, axis=axis)


def one_hot(indices, depth, dtype="float32"):
    """Return vectors of zeros with a one where the indices say."""
    graph = graph_of(indices)
    values = graph.constant([0, 1], dtype_of(dtype))
    return graph.op("OneHot", indices, graph.constant(_int64(depth)), values)


def stop_gradient(x):
    """Return the value as one through which no gradient flows."""
    integer = {2: "int16", 4: "int32", 8: "int64"}[bytes_of(x.dtype)]
    return op("BitCast", op("BitCast", x, to=int(dtype_of(integer))), to=int(x.dtype))


def dropout(x, ratio=0.5):
    """Return x with some elements set to 0, at random, and the others made larger to match.

    Only in a path that is built for training (`Graph.training`); x itself elsewhere.
    """
    graph = graph_of(x)
    if not graph.is_training:
        return x._value()
    return graph.op("Dropout", x, graph.constant(ratio, "float32"), graph.constant(True, "bool"))


# ---- Selecting ----

def select(x, key):
    """Return x[key]: integers, slices, None, ... and one list of indices or value of them."""
    parts = list(key) if isinstance(key, tuple) else [key]
    given = len([one for one in parts if one is not None and one is not Ellipsis])
    if Ellipsis in [one for one in parts if not isinstance(one, Expression)]:
        if x.ndim is None:
            raise InvalidArgument("... needs a value of known rank")
        at = next(i for i, one in enumerate(parts) if one is Ellipsis)
        parts[at:at + 1] = [slice(None)] * (x.ndim - given)
    return _Selection(x).apply(parts)


class _Selection:
    """The slices, axes to drop and axes to add of a key."""

    def __init__(self, x):
        self.x = x
        self.slices = []
        self.dropped, self.added = [], []
        self.gathered = None

    def apply(self, parts):
        axis = out_axis = 0
        for one in parts:
            if one is None:
                self.added.append(out_axis)
                out_axis += 1
                continue
            if isinstance(one, slice):
                self.slice(axis, one)
            elif isinstance(one, int):
                end = one + 1 if one != -1 else _LARGEST
                self.slices.append((axis, one, end, 1))
                self.dropped.append(axis)
                out_axis -= 1
            else:
                self.gather(axis, one)
            axis, out_axis = axis + 1, out_axis + 1
        return self.made()

    def slice(self, axis, one):
        step = 1 if one.step is None else one.step
        if one == slice(None):
            return
        start = one.start if one.start is not None else 0 if step > 0 else _LARGEST
        stop = one.stop if one.stop is not None else _LARGEST if step > 0 else -_LARGEST
        self.slices.append((axis, start, stop, step))

    def gather(self, axis, indices):
        if self.gathered is not None:
            raise InvalidArgument("only one list of indices may stand in the brackets")
        self.gathered = (axis, indices)

    def made(self):
        x = self.x
        if self.gathered is not None:
            x = gather(x, self.gathered[1], self.gathered[0])
            if self.slices or self.added:
                raise InvalidArgument("a list of indices cannot be mixed with slices: select twice")
        if self.slices:
            axes, starts, ends, steps = (x.graph.constant(_int64(list(one)))
                                         for one in zip(*self.slices))
            x = x.graph.op("Slice", x, starts, ends, axes, steps)
        if self.dropped:
            x = squeeze(x, self.dropped)
        return expand_dims(x, self.added) if self.added else x
