"""Optimizers, learning-rate schedules, and groups of parameters.

An optimizer adds updates to a graph. A learning rate that is a number becomes a variable,
"learning_rate", so that it can be changed while a session trains; one that is a schedule is computed
from the step, in the graph. Both are saved with the session.
"""
import fnmatch

from .errors import InvalidArgument

_ZERO_UNLESS_SET = ("momentum", "dampening", "weight_decay", "nesterov")


def _text(name, settings):
    """A name with settings, as the library takes them."""
    def one(value):
        if isinstance(value, (list, tuple)):
            return ",".join(map(one, value))
        return repr(float(value)) if isinstance(value, float) else str(int(value))
    return " ".join([name, *(f"{key}={one(value)}" for key, value in settings.items())])


class Schedule:
    """A learning rate that changes from step to step.

    Parameters
    ----------
    kind : str
        One of those that docs/training.md lists: "cosine", "linear", "piecewise", …
    **settings
        Its settings; all take `warmup`, the steps in which the rate rises from `start`.

    Examples
    --------
    >>> hr.Schedule("cosine", base=0.1, steps=10000, warmup=500)
    >>> hr.Schedule("piecewise", at=[1000, 5000], rates=[0.1, 0.01, 0.001])
    """

    def __init__(self, kind, **settings):
        self.kind, self.settings = kind, settings

    def add(self, graph, signature):
        """Add the rate to a graph, whose signature counts the steps; return its Value."""
        return graph.schedule(signature, _text(self.kind, self.settings))

    def __repr__(self):
        return f"Schedule({_text(self.kind, self.settings)!r})"


class Optimizer:
    """How variables follow their gradients.

    Parameters
    ----------
    rate : float or Schedule
        The learning rate.
    clip_value, clip_norm, clip_global_norm : float, optional
        Bounds of each element, of each gradient's norm, and of the norm of all together.
    accumulate : int, optional
        Update in each N-th step only, by the mean of the gradients.
    average : float, optional
        Keep moving averages of the variables; see `Graph.average_signature`.
    **settings
        Those of the operator; see docs/operators.md. The numbers have PyTorch's meaning.
    """

    operator = ""

    def __init__(self, rate, **settings):
        self.rate = rate
        self.settings = {name: value for name, value in settings.items()
                         if value or name not in _ZERO_UNLESS_SET}

    def text(self):
        """Return the optimizer as the library names it, such as "sgd momentum=0.9"."""
        return _text(self.operator, self.settings)

    def groups(self, variables):
        """Return [(optimizer, its variables)]."""
        return [(self, variables)]

    def gradients(self, graph, loss):
        """Return (variables, gradients) of all trainable variables on which the loss depends."""
        variables = [one for one in graph.variables if one.trainable]
        pairs = [(variable, gradient) for variable, gradient
                 in zip(variables, graph.variable_gradients(loss, variables))
                 if gradient is not None]
        if not pairs:
            raise InvalidArgument("the loss depends on no trainable variable")
        return [one for one, _ in pairs], [one for _, one in pairs]

    def minimize(self, graph, loss, signature="train"):
        """Add gradients of a loss and the updates to a signature."""
        self.apply(graph, *self.gradients(graph, loss), signature)

    def apply(self, graph, variables, gradients, signature="train"):
        """Add updates of variables by their gradients to a signature."""
        by_name = {one.name: gradient for one, gradient in zip(variables, gradients)}
        for optimizer, members in self.groups(variables):
            rate = _rate(graph, optimizer.rate, signature)
            graph.apply_gradients(signature, optimizer.text(), rate, members,
                                  [by_name[one.name] for one in members])

    def __repr__(self):
        return f"{type(self).__name__}({self.rate}, {self.settings})"


def _rate(graph, rate, signature):
    if isinstance(rate, Schedule):
        return rate.add(graph, signature)
    name, number = "learning_rate", 2
    while graph.has_variable(name):
        name, number = f"learning_rate_{number}", number + 1
    import numpy
    return graph.variable(name, numpy.asarray(rate, numpy.float32), trainable=False).read()


class SGD(Optimizer):
    """Stochastic gradient descent, perhaps with momentum."""

    operator = "sgd"

    def __init__(self, rate, momentum=0.0, *, dampening=0.0, weight_decay=0.0, nesterov=False,
                 **more):
        super().__init__(rate, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                         nesterov=int(nesterov), **more)


class Adam(Optimizer):
    """Adam: steps by the mean and variance of past gradients."""

    operator = "adam"

    def __init__(self, rate=1e-3, beta1=0.9, beta2=0.999, *, epsilon=1e-8, weight_decay=0.0,
                 **more):
        super().__init__(rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
                         weight_decay=weight_decay, **more)


class AdamW(Adam):
    """Adam with weight decay that is no part of the gradient."""

    def __init__(self, rate=1e-3, beta1=0.9, beta2=0.999, *, weight_decay=0.01, **more):
        super().__init__(rate, beta1, beta2, weight_decay=weight_decay, **more)
        self.settings["decoupled"] = 1


class Adamax(Optimizer):
    """Adamax: Adam with the largest of past gradients in the place of their variance."""

    operator = "adamax"

    def __init__(self, rate=2e-3, beta1=0.9, beta2=0.999, *, epsilon=1e-8, weight_decay=0.0,
                 **more):
        super().__init__(rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
                         weight_decay=weight_decay, **more)


class AdaGrad(Optimizer):
    """AdaGrad: steps by the sum of squared gradients."""

    operator = "adagrad"

    def __init__(self, rate=0.01, *, epsilon=1e-10, weight_decay=0.0, **more):
        super().__init__(rate, epsilon=epsilon, weight_decay=weight_decay, **more)


class RMSProp(Optimizer):
    """RMSProp: steps by a running mean of squared gradients."""

    operator = "rmsprop"

    def __init__(self, rate=0.01, alpha=0.99, *, momentum=0.0, epsilon=1e-8, weight_decay=0.0,
                 **more):
        super().__init__(rate, alpha=alpha, momentum=momentum, epsilon=epsilon,
                         weight_decay=weight_decay, **more)


class Lion(Optimizer):
    """Lion: steps by the sign of a running mean."""

    operator = "lion"

    def __init__(self, rate=1e-4, beta1=0.9, beta2=0.99, *, weight_decay=0.0, **more):
        super().__init__(rate, beta1=beta1, beta2=beta2, weight_decay=weight_decay, **more)


class ByName(Optimizer):
    """Groups of parameters, each with an optimizer of its own.

    Parameters
    ----------
    groups : dict of str to Optimizer or None
        Patterns of variables' names, of which the first that fits counts; None leaves them alone.

    Examples
    --------
    >>> hr.ByName({"*/bias": hr.SGD(0.1), "head/*": hr.Adam(1e-3), "*": None})
    """

    def __init__(self, groups):
        super().__init__(0.0)
        self._groups = groups

    def groups(self, variables):
        found = {pattern: [] for pattern in self._groups}
        for variable in variables:
            pattern = next((one for one in found if fnmatch.fnmatchcase(variable.name, one)), None)
            if pattern is None:
                raise InvalidArgument(f"no group takes variable '{variable.name}'; the groups are "
                                      f"{', '.join(found)}; add '*': None to leave the rest alone")
            found[pattern].append(variable)
        return [(self._groups[one], members) for one, members in found.items()
                if members and self._groups[one] is not None]
