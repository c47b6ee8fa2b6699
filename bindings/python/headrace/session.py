"""Sessions: the variables and compiled plans of a model, and their runs."""
import contextlib
import json
import os
from collections.abc import Mapping

from . import _native as native
from ._objects import Closeable, handle_of, settings
from .completion import Awaitable
from .dtypes import dtype_of
from .env import default_env
from .errors import FailedPrecondition
from .tensor import Tensor, as_tensor

_run_call = native.hr_call_run


class Variables(Mapping):
    """The variables of a session by name: ``session.variables["fc/weight"] = array``."""

    def __init__(self, session):
        self._session = session

    def __getitem__(self, name):
        return self._session.get_variable(name)

    def __setitem__(self, name, value):
        self._session.set_variable(name, value)

    def __iter__(self):
        handle = self._session._handle
        for index in range(native.hr_session_variable_count(handle)):
            yield native.hr_session_variable_name(handle, index)

    def __len__(self):
        return native.hr_session_variable_count(self._session._handle)

    def __contains__(self, name):
        return name in list(self)


class Session(Closeable):
    """The variables of a model, and the plans that run it.

    Any number of threads may use a session: runs that only read variables go in parallel, and one
    that writes variables excludes the others.

    Parameters
    ----------
    model : Model
    seed : int
        Of initial values and of random operators.
    max_plans, max_sizes : int, optional
        The most plans, and sizes of bounded dimensions in each, that are kept (64).
    device : str, optional
        Of nodes that name none, such as "CUDA:0".
    disable_fusion, check_memory, exact_sums : bool
        Run every node by itself; find faults of memory; use no algorithm that trades accuracy for
        speed.
    memory_limit : int, optional
        The most bytes of working memory that a plan may take: it computes values again in place of
        keeping more.
    pin : str, optional
        For developers of the library: layouts and kernels of convolutions.
    timeout, cancel
        Of the computation of initial values; see `run`.
    """

    __slots__ = ("model",)

    def __init__(self, model, *, seed=0, max_plans=None, max_sizes=None, device=None,
                 disable_fusion=False, check_memory=False, exact_sums=False,
                 memory_limit=None, pin=None, timeout=None, cancel=None):
        self.model = model
        self._handle = native.hr_session_create(
            model._handle, settings(seed=seed, max_plans=max_plans, max_sizes=max_sizes,
                                    device=device, disable_fusion=disable_fusion,
                                    check_memory=check_memory, exact_sums=exact_sums,
                                    memory_limit=memory_limit, pin=pin),
            timeout, handle_of(cancel))

    @property
    def env(self):
        """The env of the model."""
        return self.model.env or default_env()

    # ---- Running ----

    def run(self, feeds, fetches, targets=(), *, timeout=None, cancel=None):
        """Run the graph once, with any values as feeds and fetches.

        Parameters
        ----------
        feeds : dict of str to array
            The values that are given, by their names or by those of signatures. Arrays are used in
            place; lists and numbers take the type of an input.
        fetches : str or list of str
            The values that are wanted, by the same names.
        targets : list of str
            The names of nodes that run, too, for what they do.
        timeout : float, optional
            Seconds after which the run ends with DeadlineExceeded.
        cancel : Cancel, optional
            A token that ends it with Cancelled.

        Returns
        -------
        Tensor or list of Tensor
        """
        places = self.model._places()
        names = [fetches] if isinstance(fetches, str) else fetches
        names = [places.get(name, (name, None))[0] for name in names]
        feed_names = [places.get(name, (name, None))[0] for name in feeds]
        tensors = [_feed(value, places.get(name, (name, None))[1]) for name, value in feeds.items()]
        outputs = native.hr_session_run(self._handle, feed_names, [one._handle for one in tensors],
                                        names, targets, timeout, handle_of(cancel))
        made = [Tensor._of(one) for one in outputs]
        return made[0] if isinstance(fetches, str) else made

    def call(self, signature=None, *, feeds=(), fetches=(), targets=()):
        """Return a Call, a prepared run: of a signature, or of any feeds, fetches and targets."""
        return Call(self, signature, feeds, fetches, targets)

    # ---- Variables ----

    @property
    def variables(self):
        """The variables by name; reading and setting copies."""
        return Variables(self)

    def get_variable(self, name, *, timeout=None, cancel=None):
        """Return a copy of a variable as a Tensor."""
        return Tensor._of(native.hr_session_get_variable(self._handle, name, timeout,
                                                         handle_of(cancel)))

    def set_variable(self, name, value, *, timeout=None, cancel=None):
        """Set a variable to an array of its type and shape; lists and numbers are converted."""
        if isinstance(value, (list, tuple, int, float)):
            value = as_tensor(value, self.get_variable(name).dtype)
        native.hr_session_set_variable(self._handle, name, as_tensor(value)._handle, timeout,
                                       handle_of(cancel))

    @property
    def step(self):
        """The number of steps done: of runs that write variables or draw random numbers."""
        return native.hr_session_step(self._handle)

    # ---- Saving ----

    def save(self, folder, *, keep=None, dataset=None, group=None, timeout=None, cancel=None):
        """Write a checkpoint, folder/step-N.

        Parameters
        ----------
        folder : path
        keep : int, optional
            How many of the newest are kept: 5; -1 for all.
        dataset : Dataset, optional
            Whose position is saved, too.
        group : Group, optional
            For which this process writes.
        timeout, cancel
            See `run`.
        """
        native.hr_session_save(self._handle, os.fspath(folder),
                               _checkpoint(keep, dataset, group), timeout, handle_of(cancel))

    def restore(self, path, *, dataset=None, group=None, timeout=None, cancel=None):
        """Restore variables, step and seed from a checkpoint, or from a folder's newest.

        Returns
        -------
        dict
            The path, the step, and warnings.
        """
        report = native.hr_session_restore(self._handle, os.fspath(path),
                                           _checkpoint(None, dataset, group), timeout,
                                           handle_of(cancel))
        return json.loads(report)

    def export(self, path, signatures=("infer",), *, strip_names=None, side_file=None,
               merge_adapters=None, timeout=None, cancel=None):
        """Write a .hrg file for serving, with the present values of the variables.

        The options are those of `Graph.save`.
        """
        native.hr_session_export(self._handle, os.fspath(path), signatures,
                                 settings(strip_names=strip_names, side_file=side_file,
                                          merge_adapters=merge_adapters),
                                 timeout, handle_of(cancel))

    def bind_group(self, name, group, *, timeout=None, cancel=None):
        """Let nodes that name this group communicate in it; None takes it away.

        All ranks of the group call it. It fails on all of them if one has another graph, seed or
        version of the library.
        """
        native.hr_session_bind_group(self._handle, name, handle_of(group), timeout,
                                     handle_of(cancel))

    def broadcast(self, name, root=0, *, timeout=None, cancel=None):
        """Give all variables the values of one rank of a bound group. All ranks call it."""
        native.hr_session_broadcast(self._handle, name, root, timeout, handle_of(cancel))

    def save_adapters(self, path, *, timeout=None, cancel=None):
        """Write the adapters alone (`Graph.add_lora`)."""
        native.hr_session_save_adapters(self._handle, os.fspath(path), timeout, handle_of(cancel))

    def load_adapters(self, path, *, timeout=None, cancel=None):
        """Set the adapters to those of a file."""
        native.hr_session_load_adapters(self._handle, os.fspath(path), timeout, handle_of(cancel))

    def export_weights(self, path, *, trainable=None, names=None, timeout=None, cancel=None):
        """Write the variables to a file that other programs read: .safetensors or .npz.

        Parameters
        ----------
        path : path
        trainable : bool, optional
            Whether to write only trainable variables.
        names : dict of str to str, optional
            The variable for a name in the file, where they differ. None: an import leaves that
            tensor out.
        timeout, cancel
            See `run`.

        Returns
        -------
        dict
            What was written and what was left.
        """
        return json.loads(native.hr_session_export_weights(
            self._handle, os.fspath(path), settings(trainable=trainable, names=_json(names)),
            timeout, handle_of(cancel)))

    def import_weights(self, path, *, partial=None, names=None, timeout=None, cancel=None):
        """Set variables from such a file. All that does not fit is named, and nothing has changed.

        Parameters
        ----------
        path : path
        partial : bool, optional
            Whether to leave alone what only the file or only the model has.
        names, timeout, cancel
            See `export_weights`.

        Returns
        -------
        dict
            What was set and what was left.
        """
        return json.loads(native.hr_session_import_weights(
            self._handle, os.fspath(path), settings(partial=partial, names=_json(names)), timeout,
            handle_of(cancel)))

    # ---- Training ----

    def evaluate_metrics(self, data, signature=None, *, timeout=None, cancel=None):
        """Return the metrics of a signature ("eval") over the rest of a Dataset's pass, a dict."""
        return json.loads(native.hr_evaluate_metrics(self._handle, signature, data._handle, timeout,
                                                     handle_of(cancel)))

    def fit(self, data, **options):
        """Train; see `headrace.training.fit`."""
        from .training import fit
        return fit(self, data, **options)

    def evaluate(self, data, **options):
        """Evaluate; see `headrace.training.evaluate`."""
        from .training import evaluate
        return evaluate(self, data, **options)

    def predict(self, data, **options):
        """Run the model on a data set; see `headrace.training.predict`."""
        from .training import predict
        return predict(self, data, **options)

    # ---- The rest ----

    def trim(self):
        """Free the memory that plans keep for their next runs."""
        native.hr_session_trim(self._handle)

    def describe(self):
        """Return variables, plans and memory as a dict."""
        return json.loads(native.hr_session_describe(self._handle))

    def close(self):
        """Close the session: new runs fail, also those of its calls, and runs in flight finish."""
        if not self.closed:
            with contextlib.suppress(FailedPrecondition):  # of a process that was forked from
                native.hr_session_close(self._handle)
        super().close()

    def _repr_html_(self):
        from .pictures import table_of
        return table_of(self.model, self)

    def __repr__(self):
        if self.closed:
            return "<headrace.Session, closed>"
        return f"<headrace.Session: step {self.step}, {len(self.variables)} variables>"


def _feed(value, dtype):
    is_untyped = isinstance(value, (list, tuple, int, float))
    return as_tensor(value, dtype if is_untyped else None)


def _json(value):
    return None if value is None else json.dumps(value)


def _checkpoint(keep, dataset, group):
    return settings(keep=keep, dataset=handle_of(dataset), group=handle_of(group))


class Call(Closeable):
    """A prepared run: names are resolved once, memory is bound once.

    One thread at a time uses it. ``call["x"] = array`` binds an input, ``call["y"]`` is an output
    of the last run.

    Examples
    --------
    >>> call = session.call("infer")
    >>> call["x"] = images            # used in place: the run sees what the array has then
    >>> call.run()
    >>> call["y"].numpy()             # the next run overwrites it; call.take("y") keeps it
    """

    __slots__ = ("session",)

    def __init__(self, session, signature=None, feeds=(), fetches=(), targets=()):
        self.session = session
        if signature is not None:
            self._handle = native.hr_call_create(session._handle, signature)
        else:
            self._handle = native.hr_call_create_custom(session._handle, list(feeds),
                                                        list(fetches), list(targets))

    def bind(self, name, value):
        """Bind an array to an input for all runs from now on; None unbinds it.

        A number is converted to the input's type. A contiguous array is used in place: a run sees
        what it contains at that time.
        """
        if isinstance(value, (int, float)):
            return native.hr_call_bind_scalar(self._handle, name, value)
        handle = None if value is None else as_tensor(value)._handle
        return native.hr_call_bind(self._handle, name, handle)

    def bind_dataset(self, dataset):
        """Take the next batch before each run, and feed every field to the input of its name."""
        native.hr_call_bind_dataset(self._handle, handle_of(dataset))

    def bind_output(self, name, value):
        """Make all runs write an output to an array; None: to memory of the call again."""
        if value is None:
            return native.hr_call_output(self._handle, name)
        return native.hr_call_bind_output(self._handle, name, as_tensor(value)._handle)

    def run(self, *, timeout=None, cancel=None):
        """Run, and wait for the end; see `Session.run`. OutOfRange: its data set is at the end."""
        _run_call(self._handle, timeout, None if cancel is None else cancel._handle)

    def start(self, *, timeout=None, cancel=None):
        """Start a run on a thread of the env, and return a Run at once.

        Until that has ended it owns the call and what is bound to it.
        """
        return Run(native.hr_call_start(self._handle, timeout, handle_of(cancel)),
                   self.session.env)

    def result(self, name):
        """Return an output of the last run; the next run overwrites its memory."""
        return Tensor._of(native.hr_call_result(self._handle, name))

    def take(self, name):
        """Return an output of the last run, which no later run overwrites."""
        return Tensor._of(native.hr_call_take_result(self._handle, name))

    def output_type(self, name):
        """Return (dtype, shape) of an output for what is bound now."""
        dtype, dims = native.hr_call_output_type(self._handle, name)
        return dtype_of(dtype), tuple(dims)

    def describe(self):
        """Return the plan for what is bound now as a dict."""
        return json.loads(native.hr_call_describe(self._handle))

    def profile(self, *, timeout=None, cancel=None):
        """Run as `run` does, and return what the run did, step by step, as a dict.

        A step has its `node` and `kernel`, `begin` and `end` in nanoseconds, `operations` and
        `bytes`, and what each thread did for it.
        """
        return json.loads(native.hr_call_profile(self._handle, timeout, handle_of(cancel)))

    def __setitem__(self, name, value):
        self.bind(name, value)

    def __getitem__(self, name):
        return self.result(name)


class Run(Closeable, Awaitable):
    """A run in the background. Can be awaited in asyncio: ``await call.start()``."""

    __slots__ = ("env",)

    def __init__(self, handle, env):
        self._handle = handle
        self.env = env

    def done(self):
        """Whether the run has ended, with or without success. Does not wait."""
        return native.hr_run_test(self._handle) != 0

    def wait(self, *, timeout=None, cancel=None):
        """Wait for the end of the run, and raise its failure. A timeout ends the waiting alone."""
        native.hr_run_wait(self._handle, timeout, handle_of(cancel))

    def cancel(self):
        """Cancel the run."""
        native.hr_run_cancel(self._handle)

    def on_done(self, function):
        """Call `function(exception or None)` once, on a thread of the library, when it has ended."""
        native.hr_run_on_done(self._handle, function)

    def enqueue(self, queue, key):
        """Put the run into a Queue when it has ended."""
        native.hr_run_enqueue(self._handle, queue._handle, key)
