"""Envs: the threads, log and devices that models and sessions share."""
import json
import os

from . import _native as native
from ._objects import Closeable, settings


class Env(Closeable):
    """What the models and sessions of a program share: threads, log, devices, operators.

    Most programs need none of their own: what is given no env uses `default_env()`. An env lives
    as long as anything that was made with it.

    Parameters
    ----------
    threads : int, optional
        The most threads that compute at one time; one per processor if it is not given.
    log : callable or logging.Logger, optional
        Gets the library's messages: called with a level (`LogLevel`) and a text, soon after they
        were written, on a thread of Python. A logger is called by its method `log`.
    allocator, clock, executor : int, optional
        Addresses of C structs (hr_allocator, hr_clock, hr_executor), which the program keeps. Their
        functions are called by threads that must not wait for Python, so they are written in C.
    cost_table : str or os.PathLike, optional
        A file that ``headrace roof --costs`` has measured on this machine, by which layouts and
        kernels of convolutions are chosen.
    """

    __slots__ = ()

    def __init__(self, *, threads=None, log=None, allocator=None, clock=None, executor=None,
                 cost_table=None):
        self._handle = native.hr_env_create(settings(
            threads=threads, log=_log_function(log), allocator=allocator, clock=clock,
            executor=executor, cost_table=None if cost_table is None else os.fspath(cost_table)))

    def load_plugin(self, name_or_path):
        """Load a plugin, such as ``"cuda"``, or the path of one. Before the first model or group."""
        native.hr_env_load_plugin(self._handle, os.fspath(name_or_path))

    def describe(self):
        """Return devices, plugins, threads, transports and operators as a dict."""
        return json.loads(native.hr_env_describe(self._handle))


def _log_function(log):
    write = getattr(log, "log", None)
    if write is None:
        return log
    return lambda level, message: write(10 * (level + 1), "%s", message)  # logging's levels


_default = None
_owner = None  # the process that made it: a child of a fork makes its own


def default_env():
    """Return the env of whatever is given none; it is made when it is first needed."""
    global _default, _owner
    if _default is None or _default.closed or _owner != os.getpid():
        _default, _owner = Env(), os.getpid()
    return _default


def env_handle(env):
    """The handle of an env, or of the default one."""
    return (default_env() if env is None else env)._handle


class Cancel(Closeable):
    """A token that cancels the calls to which it was given as `cancel`, now and later."""

    __slots__ = ()

    def __init__(self):
        self._handle = native.hr_cancel_create()

    def trigger(self):
        """Cancel the calls. From any thread, any number of times."""
        native.hr_cancel_trigger(self._handle)
