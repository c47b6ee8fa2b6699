"""Training: fit, evaluate and predict on sessions, and learners, which build the graph, too."""
import os

from . import _native as native
from ._objects import handle_of, settings
from .data import open_data
from .errors import FailedPrecondition, InvalidArgument
from .tensor import Tensor


WORKERS = "workers"  # what graphs call the group whose ranks train together


class Report:
    """What is known after a step.

    Attributes
    ----------
    step, epoch : int
        The session's steps, and the complete epochs.
    loss : float
        Of the step, or of the evaluation.
    examples : int
        In the step's batch.
    examples_per_second : float
    evaluated : bool
        Whether the two below are of this step.
    evaluation_loss, evaluation_accuracy : float
        The accuracy is NaN if the signature has no output "correct".
    learning_rate : float
        The output "learning_rate" of the step; NaN if there is none.
    best : float
        The best metric (`fit(best_metric=…)`) at its best so far; NaN if there is none.
    best_step : int
        When that was; -1: never yet.
    stopped_early : bool
        Whether the patience was at its end.
    """

    __slots__ = ("step", "epoch", "loss", "examples", "examples_per_second", "evaluated",
                 "evaluation_loss", "evaluation_accuracy", "learning_rate", "best", "best_step",
                 "stopped_early")

    def __init__(self, **values):
        for name in self.__slots__:
            setattr(self, name, values.get(name, 0))

    def __repr__(self):
        evaluation = (f", evaluation loss {self.evaluation_loss:.4f}, accuracy "
                      f"{self.evaluation_accuracy:.4f}") if self.evaluated else ""
        return f"<Report: step {self.step}, epoch {self.epoch}, loss {self.loss:.4f}{evaluation}>"


class Callback:
    """What `fit` tells while it trains. A function is a callback, too: that of `on_step`."""

    def on_begin(self, session):
        """Called before the first step."""

    def on_step(self, report):
        """Called after every step; a true result stops the training."""

    def on_epoch(self, report):
        """Called after every epoch; a true result stops the training."""

    def on_evaluate(self, report, metrics):
        """Called after each evaluation, before `on_step`, with its metrics, a dict of floats."""

    def on_end(self, report):
        """Called after the last step."""


class EarlyStopping(Callback):
    """Stops when the loss of the evaluations (or of epochs, without any) has not got better.

    Parameters
    ----------
    patience : int
        How many that may be.
    least : float
        What counts as better.
    """

    def __init__(self, patience=3, least=0.0):
        self.patience, self.least = patience, least
        self.best, self.worse = float("inf"), 0

    def on_step(self, report):
        return self._look(report.evaluation_loss) if report.evaluated else False

    def _look(self, loss):
        if loss < self.best - self.least:
            self.best, self.worse = loss, 0
        else:
            self.worse += 1
        return self.worse >= self.patience


class _StepFunction(Callback):
    def __init__(self, function):
        self.on_step = function


class _Watch:
    """Hands reports to callbacks, and shows them in a bar."""

    def __init__(self, session, callbacks, progress, total):
        self.session = session
        self.callbacks = [one if isinstance(one, Callback) else _StepFunction(one)
                          for one in callbacks]
        self.shows, self.total = progress, total
        self.bar = None
        self.epoch = None
        self.last = None
        for one in self.callbacks:
            one.on_begin(session)

    def needs_steps(self):
        return bool(self.callbacks) or self.shows

    def on_step(self, values):
        report = self.last = Report(**values)
        if self.shows:
            self._show(report)
        stops = [one.on_step(report) for one in self.callbacks]
        if self.epoch is None:
            self.epoch = report.epoch - (1 if report.epoch and report.step == 1 else 0)
        if report.epoch > self.epoch:
            self.epoch = report.epoch
            stops += [one.on_epoch(report) for one in self.callbacks]
        return any(stops)

    def on_evaluate(self, values, metrics):
        report = Report(**values)
        for one in self.callbacks:
            one.on_evaluate(report, metrics)

    def _show(self, report):
        counted = report.examples
        if self.bar is None:  # the step was done before the clock of the bar began
            from .events import Progress
            self.bar, counted = Progress("train", "examples", report.step, self.total), 0
        self.bar.update(report.step, counted, "loss", report.loss)

    def on_message(self, text):
        if self.bar is not None:
            self.bar.message(text)

    def end(self, report=None):
        if self.bar is not None:
            self.bar.close()
        if report is not None:
            for one in self.callbacks:
                one.on_end(report)


def _input_names(session, signature):
    for one in session.model.describe()["signatures"]:
        if one["name"] == signature:
            return [value["name"] for value in one["inputs"]]
    return []


def _open(session, data, signature, **options):
    scalars = options.pop("scalars", {})
    inputs = [one for one in _input_names(session, signature) if one not in scalars]
    return open_data(data, inputs=inputs, env=session.model.env, **options)


def fit(session, data, *, epochs=1, batch=32, shuffle=True, seed=0, prefetch=0, validation=None,
        validate_every=None, steps=None, signature="train", validation_signature="eval",
        scalars=None, callbacks=(), progress=True, checkpoints=None, checkpoint_every=0, keep=None,
        events=None, summary_every=0, best_metric=None, best_is_smallest=False, restore_best=False,
        patience=0, group=None, elastic=None, shard=None, timeout=None, cancel=None):
    """Train a session.

    Parameters
    ----------
    session : Session
    data
        Arrays (x, y), a dict of arrays, a generator function, a path (".parquet" or a URI such as
        "idx:fashion-mnist/train"), an Arrow table, or a Dataset, which knows the next five by
        itself.
    epochs, batch, shuffle, seed, prefetch
        How the data is read.
    validation : optional
        Data for evaluations, every `validate_every` steps and at the end.
    steps : int, optional
        The session's total of steps at which to stop.
    signature, validation_signature : str
        Both must have an output "loss". The metrics of evaluations are "loss", "accuracy" if the
        second has an output "correct", a count, and its other outputs that are one number.
    scalars : dict of str to float, optional
        Inputs that are bound once, such as a learning rate.
    callbacks : list of Callback or callable
    progress : bool
        Whether to show a bar on standard error.
    checkpoints : path, optional
        If the folder has a checkpoint, the training goes on from it. A checkpoint is written every
        `checkpoint_every` steps and at the end; `keep` of the newest are kept.
    events : path, optional
        Where TensorBoard finds the training, every `summary_every` steps.
    best_metric : str, optional
        The metric of the evaluations that says which step is the best: the one where it is largest,
        or smallest if `best_is_smallest`. Its checkpoint is kept in the folder "best" of
        `checkpoints`; with `restore_best` the session gets it at the end.
    patience : int
        Stop after so many evaluations that are no better than the best; 0: never.
    group : Group, optional
        Train with its other ranks: each takes its shard of the data, and the gradients are
        averaged while the backward pass goes on. Rank 0 restores, saves and shows the progress. The
        training signature is one of many processes: a Learner makes it so, and
        `Graph.distribute("train", "workers")` does.
    elastic : (int, int), optional
        Go on when ranks of the group die, and take new ones in, which call `Group.join`: with so many
        ranks at least, and up to so many. `group` is the latest one from then on.
    shard : (int, int), optional
        The shard (index, count) of the data; that of the rank if there is a group.
    timeout, cancel
        Limits of the training, which saves before it ends.

    Returns
    -------
    Report
        Of the last step, with the evaluation at the end.
    """
    if group is not None and shard is None:
        shard = (group.rank, group.size)
    scalars = scalars or {}
    train, is_mine = _open(session, data, signature, batch=batch, epochs=epochs, shuffle=shuffle,
                           seed=seed, shard=shard, prefetch=prefetch, scalars=scalars)
    held, held_is_mine = (None, False) if validation is None else _open(
        session, validation, validation_signature, batch=max(batch, 256), epochs=1, shuffle=False,
        seed=0, shard=shard, prefetch=0)
    total = steps or (None if train.batches is None or epochs < 0
                      else session.step + epochs * train.batches)
    if group is not None:
        session.bind_group(WORKERS, group, timeout=timeout, cancel=cancel)
        progress = progress and group.rank == 0
    watch = _Watch(session, callbacks, progress, total)
    try:
        report = _fit(session, train, held, watch, locals())
    finally:
        watch.end()
        for dataset, mine in ((train, is_mine), (held, held_is_mine)):
            if mine:
                dataset.close()
    for one in watch.callbacks:
        one.on_end(report)
    return report


def _fit(session, train, held, watch, given):
    options = settings(
        train_signature=given["signature"], eval_signature=given["validation_signature"],
        train_data=train._handle, eval_data=handle_of(held), max_steps=given["steps"],
        checkpoint_directory=_path(given["checkpoints"]), checkpoint_steps=given["checkpoint_every"],
        keep_checkpoints=given["keep"], event_directory=_path(given["events"]),
        summary_steps=given["summary_every"], eval_steps=given["validate_every"],
        group=handle_of(given["group"]), bound_group=None if given["group"] is None else WORKERS,
        elastic_group=None if given["elastic"] is None else handle_of(given["group"]),
        min_ranks=None if given["elastic"] is None else given["elastic"][0],
        max_ranks=None if given["elastic"] is None else given["elastic"][1],
        best_metric=given["best_metric"], best_is_smallest=given["best_is_smallest"],
        restore_best=given["restore_best"], patience=given["patience"],
        on_message=watch.on_message, on_step=watch.on_step if watch.needs_steps() else None,
        on_evaluate=watch.on_evaluate if watch.callbacks else None)
    scalars = given["scalars"]
    values = native.hr_train(session._handle, options, list(scalars), list(scalars.values()),
                             given["timeout"], handle_of(given["cancel"]))
    return Report(**values)


def _path(path):
    return None if path is None else os.fspath(path)


def evaluate(session, data, *, batch=256, signature="eval", timeout=None, cancel=None):
    """Evaluate a session on data.

    Parameters
    ----------
    session : Session
    data, batch
        See `fit`.
    signature : str
        With an output "loss", and perhaps "correct", a count.

    Returns
    -------
    Report
        Its `evaluation_loss` is the mean per example, and `evaluation_accuracy` the share of correct
        ones, or NaN.
    """
    dataset, is_mine = _open(session, data, signature, batch=batch, epochs=1, shuffle=False, seed=0,
                             shard=None, prefetch=0)
    try:
        return Report(**native.hr_evaluate(session._handle, signature, dataset._handle, timeout,
                                           handle_of(cancel)))
    finally:
        if is_mine:
            dataset.close()


def predict(session, data, *, batch=256, signature="infer", output=None, timeout=None, cancel=None):
    """Run a session on data, batch by batch.

    Parameters
    ----------
    session : Session
    data, batch
        See `fit`; an array goes to the only input.
    signature : str
    output : str, optional
        Which output is wanted; all of them, in a dict, if there are several and none is named.

    Returns
    -------
    numpy.ndarray or dict of str to numpy.ndarray
        What all batches gave, joined.
    """
    import numpy
    dataset, is_mine = _open(session, data, signature, batch=batch, epochs=1, shuffle=False, seed=0,
                             shard=None, prefetch=0)
    names = [output] if output else _output_names(session, signature)
    parts = {name: [] for name in names}
    call = session.call(signature)
    call.bind_dataset(dataset)
    try:
        while not dataset.done():
            call.run(timeout=timeout, cancel=cancel)
            for name in names:
                parts[name].append(call.take(name).numpy())
    finally:
        call.close()
        if is_mine:
            dataset.close()
    joined = {name: numpy.concatenate(list(map(numpy.atleast_1d, some))) if some else
              numpy.empty(0, "float32") for name, some in parts.items()}
    return joined[names[0]] if len(names) == 1 else joined


def _output_names(session, signature):
    for one in session.model.describe()["signatures"]:
        if one["name"] == signature:
            return [value["name"] for value in one["outputs"]]
    raise InvalidArgument(f"the model has no signature '{signature}'")


class Learner:
    """A network with a loss and an optimizer: builds the graph, and trains, evaluates and predicts.

    The graph has the signatures "train", "eval" and "infer"; the session is made at the first use.

    Parameters
    ----------
    network : callable
        Takes the inputs' values and returns the output: a layer, a Sequential or a function.
    inputs : dict of str to (dtype, shape)
        Without the batch: ``{"images": ("float32", [1, 28, 28])}``.
    target : (dtype, shape), optional
        What the loss compares with: integers without dimensions, for classes. It is an input named
        "labels".
    loss : callable
        ``loss(output, target)``, a scalar; see hr.losses.
    optimizer : Optimizer
    activation : callable, optional
        What "infer" does with the output, such as ``hr.softmax``.
    accuracy : bool
        Whether to count how often the largest score is at the label; by default if the target is an
        integer.
    seed : int
        Of initial values.
    env : Env, optional

    Examples
    --------
    >>> net = hr.Sequential(hr.Dense(32), hr.relu, hr.Dense(3))
    >>> learner = hr.Learner(net, {"x": ("float32", [4])}, loss=hr.cross_entropy,
    ...                      optimizer=hr.Adam(0.01), activation=hr.softmax)
    >>> learner.fit((x, labels), epochs=20)
    >>> learner.predict(x)
    """

    def __init__(self, network, inputs, target=("int64", []), *, loss, optimizer, activation=None,
                 accuracy=None, seed=0, env=None):
        self.network, self.inputs, self.target = network, dict(inputs), target
        self.loss, self.optimizer, self.activation = loss, optimizer, activation
        self.accuracy = accuracy
        self.seed, self.env = seed, env
        self._session = None
        self._is_for_group = False

    def graph(self, for_group=False):
        """Return a new Graph of the network.

        With `for_group` its training step is one of many processes (`Graph.distribute`), which
        communicate in the group "workers".
        """
        from .graph import Graph
        graph = Graph(self.env)
        inputs = {name: graph.input(name, dtype, ["batch", *shape])
                  for name, (dtype, shape) in self.inputs.items()}
        labels = graph.input("labels", self.target[0], ["batch", *self.target[1]])
        with graph.training():
            loss = self.loss(self.network(*inputs.values()), labels)
        output = self.network(*inputs.values())
        self._add_serving(graph, inputs, labels, output)
        graph.signature("train", {**inputs, "labels": labels}, {"loss": loss}, graph.updates)
        self.optimizer.minimize(graph, loss, "train")
        if for_group:
            graph.distribute("train", WORKERS)
        return graph

    def _add_serving(self, graph, inputs, labels, output):
        shown = self.activation(output) if self.activation else output
        graph.signature("infer", inputs, {"output": shown})
        outputs = {"loss": self.loss(output, labels)}
        if self._counts(output):
            from .losses import correct
            outputs["correct"] = correct(output, labels)
        graph.signature("eval", {**inputs, "labels": labels}, outputs)

    def _counts(self, output):
        if self.accuracy is not None:
            return self.accuracy
        from .dtypes import FLOATING, dtype_of
        return dtype_of(self.target[0]) not in FLOATING and output.ndim == 2

    @property
    def session(self):
        """The session, which has the variables; made when it is first needed."""
        return self._session_for(self._is_for_group)

    def _session_for(self, group):
        if self._session is not None and self._is_for_group == group:
            return self._session
        session = self.graph(group).model().session(seed=self.seed)
        if self._session is not None:  # the variables go along; the optimizer's have the same names
            known = set(session.variables)
            for name, value in self._session.variables.items():
                if name in known:
                    session.set_variable(name, value)
            self._session.close()
        self._session, self._is_for_group = session, group
        return session

    def fit(self, data, *, group=None, **options):
        """Train; see `headrace.training.fit`. With a group all ranks train one model."""
        return fit(self._session_for(group is not None), data, group=group, **options)

    def evaluate(self, data, **options):
        """Evaluate; see `headrace.training.evaluate`."""
        return evaluate(self.session, data, **options)

    def predict(self, data, **options):
        """Predict; see `headrace.training.predict`."""
        return predict(self.session, data, **options)

    def save(self, folder, **options):
        """Write a checkpoint; see `Session.save`."""
        self.session.save(folder, **options)

    def restore(self, path, **options):
        """Restore a checkpoint; see `Session.restore`."""
        return self.session.restore(path, **options)

    def export(self, path, signatures=("infer",), **options):
        """Write a .hrg file for serving; see `Session.export`."""
        self.session.export(path, signatures, **options)

    def _repr_html_(self):
        return self.session._repr_html_()

    def _repr_svg_(self):
        return self.graph()._repr_svg_()

    def __repr__(self):
        return f"<headrace.Learner of {self.network!r}>"
