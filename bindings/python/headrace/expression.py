"""Python's operators on values and variables of graphs."""


class Expression:
    """What can stand in an expression: it has a graph, an element type and a shape."""

    __slots__ = ()

    def _binary(self, op, other, swapped=False):
        a = self._value()
        b = a.graph.lift(other, a.dtype)
        return a.graph.op(op, b, a) if swapped else a.graph.op(op, a, b)

    def _unary(self, op, **attributes):
        a = self._value()
        return a.graph.op(op, a, **attributes)

    def __add__(self, other):
        return self._binary("Add", other)

    def __radd__(self, other):
        return self._binary("Add", other, True)

    def __sub__(self, other):
        return self._binary("Sub", other)

    def __rsub__(self, other):
        return self._binary("Sub", other, True)

    def __mul__(self, other):
        return self._binary("Mul", other)

    def __rmul__(self, other):
        return self._binary("Mul", other, True)

    def __truediv__(self, other):
        return self._binary("Div", other)

    def __rtruediv__(self, other):
        return self._binary("Div", other, True)

    def __mod__(self, other):
        return self._modulo(self, other)

    def __rmod__(self, other):
        return self._modulo(other, self)

    def _modulo(self, a, b):
        """Python's remainder has the sign of the divisor, as ONNX's has for integers."""
        from .ops import modulo
        return modulo(a, b)

    def __pow__(self, other):
        return self._binary("Pow", other)

    def __rpow__(self, other):
        return self._binary("Pow", other, True)

    def __matmul__(self, other):
        return self._binary("MatMul", other)

    def __rmatmul__(self, other):
        return self._binary("MatMul", other, True)

    def __neg__(self):
        return self._unary("Neg")

    def __pos__(self):
        return self._value()

    def __abs__(self):
        return self._unary("Abs")

    def __eq__(self, other):
        return self._binary("Equal", other)

    def __ne__(self, other):
        return (self == other)._unary("Not")

    def __lt__(self, other):
        return self._binary("Less", other)

    def __le__(self, other):
        return self._binary("LessOrEqual", other)

    def __gt__(self, other):
        return self._binary("Greater", other)

    def __ge__(self, other):
        return self._binary("GreaterOrEqual", other)

    def _logical(self, op, other, swapped=False):
        is_bool = self.dtype.name == "BOOL"
        return self._binary(op if is_bool else f"Bitwise{op}", other, swapped)

    def __and__(self, other):
        return self._logical("And", other)

    def __rand__(self, other):
        return self._logical("And", other, True)

    def __or__(self, other):
        return self._logical("Or", other)

    def __ror__(self, other):
        return self._logical("Or", other, True)

    def __xor__(self, other):
        return self._logical("Xor", other)

    def __rxor__(self, other):
        return self._logical("Xor", other, True)

    def __invert__(self):
        return self._unary("Not" if self.dtype.name == "BOOL" else "BitwiseNot")

    def __hash__(self):
        return hash((id(self.graph), self.index))

    def __bool__(self):
        raise TypeError("a value has no truth before a run: use hr.where(condition, x, y) for "
                        "`x if condition else y`, and `&`, `|`, `~` for `and`, `or`, `not`")

    def __iter__(self):
        raise TypeError("a value cannot be iterated over before a run: use hr.split(x, count, axis)")

    def __array__(self, *_, **__):
        raise TypeError("a value is no array before a run: use the functions of headrace, such as "
                        "hr.exp, instead of NumPy's")

    __array_ufunc__ = None  # so that NumPy leaves `array * value` to the value

    def __getitem__(self, key):
        from .ops import select
        return select(self._value(), key)

    # ---- What NumPy's arrays have as methods ----

    def reshape(self, *shape):
        """Return the elements in another shape; -1 stands for what is left."""
        from .ops import reshape
        return reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int)
                       else shape)

    def transpose(self, *axes):
        """Return the axes in another order; without arguments backwards."""
        from .ops import transpose
        return transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int)
                         else axes or None)

    @property
    def T(self):
        """The axes backwards."""
        return self.transpose()

    def astype(self, dtype):
        """Return the elements as another type."""
        from .ops import cast
        return cast(self, dtype)

    def sum(self, axis=None, keepdims=False):
        """Return the sum over axes, or of all elements."""
        from .ops import sum
        return sum(self, axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        """Return the mean over axes, or of all elements."""
        from .ops import mean
        return mean(self, axis, keepdims)

    def max(self, axis=None, keepdims=False):
        """Return the largest element along axes, or of all."""
        from .ops import max
        return max(self, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        """Return the smallest element along axes, or of all."""
        from .ops import min
        return min(self, axis, keepdims)
