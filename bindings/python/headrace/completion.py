"""Completions: queues of what has ended, and waiting for it in asyncio."""
import contextlib
import itertools
import os
import sys
import threading

from . import _native as native
from ._objects import Closeable, handle_of
from .errors import DeadlineExceeded


class Queue(Closeable):
    """A queue of runs and operations that have ended, in the order of their ends.

    Any number of threads may take from it.

    Parameters
    ----------
    env : Env, optional
    """

    __slots__ = ()

    def __init__(self, env=None):
        from .env import env_handle
        self._handle = native.hr_queue_create(env_handle(env))

    def poll(self):
        """Return (key, exception or None) of the oldest; None if there is none. Does not wait."""
        return native.hr_queue_poll(self._handle)

    def wait(self, *, timeout=None, cancel=None):
        """Wait for one, and return (key, exception or None)."""
        return native.hr_queue_wait(self._handle, timeout, handle_of(cancel))

    def fileno(self):
        """Return a descriptor that is readable while the queue has something; it is the queue's."""
        return native.hr_queue_descriptor(self._handle)


class Completions:
    """Calls functions when runs and operations end, on a thread that waits for a queue.

    The library's threads never wait for Python: they put what has ended into the queue. The thread
    ends when there has been nothing to wait for in a second.
    """

    _of_env: dict[tuple[int, int], "Completions"] = {}  # by process and address of the env
    _lock = threading.Lock()

    def __init__(self, env, place):
        self._place = place
        self._queue = Queue(env)
        self._functions = {}
        self._keys = itertools.count(1)
        threading.Thread(target=self._serve, name="headrace-completions", daemon=True).start()

    @classmethod
    def add(cls, env, one, function):
        """Call `function(exception or None)` when `one`, a Run or Work of the env, has ended."""
        place = (os.getpid(), env._handle.address)
        with cls._lock:
            served = cls._of_env.get(place) or cls._of_env.setdefault(place, cls(env, place))
            key = next(served._keys)
            served._functions[key] = function
        try:
            one.enqueue(served._queue, key)
        except BaseException:
            del served._functions[key]
            raise

    def _serve(self):
        while True:
            try:
                key, failure = self._queue.wait(timeout=1)
            except DeadlineExceeded:
                with self._lock:
                    if self._functions:
                        continue
                    del self._of_env[self._place]
                    return
            try:
                self._functions.pop(key)(failure)
            except BaseException:
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), None)))


class Awaitable:
    """Runs and operations: what can be waited for by a function or by asyncio."""

    __slots__ = ()

    def add_done_callback(self, function):
        """Call `function(exception or None)` on a thread of Python when this has ended."""
        Completions.add(self.env, self, function)

    def __await__(self):
        import asyncio
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def resolve(failure):
            if future.done():  # cancelled
                return
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)

        def ended(failure):
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(resolve, failure)
        self.add_done_callback(ended)
        return future.__await__()


def _renew_lock():
    """In the child of a fork: a thread that is not there may have had the lock."""
    Completions._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
