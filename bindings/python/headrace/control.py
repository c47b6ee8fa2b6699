"""Control flow: branches and loops of a graph, whose bodies are functions of values.

A body is called once, when the graph is built, with values of a graph of its own: it sees nothing
but its arguments, and has no variables. What it needs of the graph around it is given to it.
"""
from . import _native as native
from ._constants import NONE
from .graph import Graph, Value
from .ops import graph_of


class Body:
    """A graph within a graph: what a branch, an iteration or a call computes.

    Parameters
    ----------
    graph : Graph
        Where it is used, any number of times.
    function : callable
        Takes values, and returns one or a tuple of them.
    types : list of (dtype, shape)
        Of its arguments.
    """

    __slots__ = ("graph", "index", "output_count")

    def __init__(self, graph, function, types):
        with Graph(graph.env) as inner:
            inputs = [inner.input(f"input{number}", dtype, shape)
                      for number, (dtype, shape) in enumerate(types)]
            outputs = function(*inputs)
            outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            inner.signature("body", {one.name: one for one in inputs},
                            {f"output{number}": inner.op("Identity", inner.lift(one))
                             for number, one in enumerate(outputs)})
            self.index = native.hr_graph_body(graph._handle, inner._handle, "body")
        self.graph, self.output_count = graph, len(outputs)

    def __call__(self, *inputs):
        """Add what the body computes of values; return its output, or a list of several."""
        return _values(self.graph, native.hr_graph_call(
            self.graph._handle, self.index, _numbers(self.graph, inputs), self.output_count))


def _types(values):
    return [(one.dtype, one.shape) for one in values]


def _numbers(graph, values):
    return [graph.lift(one).index for one in values]


def _values(graph, numbers):
    values = [Value(graph, one) for one in numbers]
    return values[0] if len(values) == 1 else values


def _lifted(graph, values):
    return [graph.lift(one) for one in values]


def cond(condition, then, otherwise, *values):
    """Return what `then(*values)` gives if a condition is true in a run, else `otherwise(*values)`.

    Only one of them is computed. Both return values of the same types.
    """
    graph = graph_of(condition, *values)
    values = _lifted(graph, values)
    bodies = [Body(graph, one, _types(values)) for one in (then, otherwise)]
    return _values(graph, native.hr_graph_if(
        graph._handle, graph.lift(condition).index, bodies[0].index, bodies[1].index,
        _numbers(graph, values), bodies[0].output_count))


def loop(body, states, *captured, trips=None, condition=None):
    """Run a body again and again.

    Parameters
    ----------
    body : callable
        ``body(iteration, condition, *states, *captured)`` returns the condition of the next
        iteration, the new states, and what is collected.
    states : list of Value
        What goes from iteration to iteration.
    *captured : Value
        What every iteration gets.
    trips : Value or int, optional
        The most iterations.
    condition : Value, optional
        Whether there is a first one.

    Returns
    -------
    Value or list of Value
        The states after the last iteration, and what was collected, along a new first axis.

    Examples
    --------
    >>> small = hr.loop(lambda i, go, x: (hr.max(x) > 2, x / 2), [x])
    """
    graph = graph_of(*states, *captured, trips, condition)
    states, captured = _lifted(graph, states), _lifted(graph, captured)
    made = Body(graph, body, [("int64", []), ("bool", []), *_types(states), *_types(captured)])
    return _values(graph, native.hr_graph_loop(
        graph._handle, NONE if trips is None else graph.lift(trips, "int64").index,
        NONE if condition is None else graph.lift(condition).index, made.index,
        _numbers(graph, states), _numbers(graph, captured), made.output_count - 1))


def scan(body, states, scanned, *captured, axis=0):
    """Run a body for each slice of values along an axis.

    Parameters
    ----------
    body : callable
        ``body(*states, *slices, *captured)`` returns the new states, and what is collected.
    states, scanned : list of Value
    *captured : Value
    axis : int

    Returns
    -------
    Value or list of Value
        The states after the last slice, and what was collected, along a new first axis.
    """
    graph = graph_of(*states, *scanned, *captured)
    states, scanned, captured = (_lifted(graph, one) for one in (states, scanned, captured))
    slices = [(one.dtype, [size for number, size in enumerate(one.shape) if number != axis])
              for one in scanned]
    made = Body(graph, body, [*_types(states), *slices, *_types(captured)])
    axes = ",".join([str(axis)] * len(scanned))
    return _values(graph, native.hr_graph_scan(
        graph._handle, made.index, f"scan_input_axes={axes}", _numbers(graph, states),
        _numbers(graph, scanned), _numbers(graph, captured), made.output_count))
