"""What all objects with a handle of the library have in common."""


class Closeable:
    """Has a handle, which `close` releases. Also a context manager that closes at its end.

    Closing is idempotent. An object that is closed while another thread uses it lives until that
    call has returned; every later call raises FailedPrecondition.
    """

    __slots__ = ("_handle", "__weakref__")

    def close(self):
        """Release the object. Calls that are under way finish."""
        self._handle.close()

    @property
    def closed(self):
        """Whether `close` has been called."""
        return self._handle.closed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def handle_of(one):
    """The handle of an object, or None of None."""
    return None if one is None else one._handle


def names_in(mapping):
    """The names and values of a mapping, as two lists."""
    return list(mapping), list(mapping.values())


def settings(**values):
    """The settings that are given: those that are not None."""
    return {name: value for name, value in values.items() if value is not None}
