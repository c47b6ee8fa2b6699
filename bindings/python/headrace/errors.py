"""Failures. Each code of the library is an exception of its own; all are an `Error`."""
from . import _native as native
from ._constants import Code


class Error(Exception):
    """A failure of the library.

    Attributes
    ----------
    code : Code
        What kind of failure it is.
    message : str
        What was expected, what came, and what to do.
    node : str
        The name of the graph's node that failed; "" if no node is to blame.
    advice : str
        What to do about a failure of this kind in Python; may be "".
    """

    code = Code.UNKNOWN
    advice = ""

    def __init__(self, message="", node=""):
        super().__init__(message)
        self.message = message
        self.node = node

    def __str__(self):
        node = f" (node '{self.node}')" if self.node else ""
        advice = f"\n{self.advice}" if self.advice else ""
        return f"{self.message}{node}{advice}"

    @property
    def code_name(self):
        """The name of the code, such as "INVALID_ARGUMENT"."""
        return native.hr_code_name(self.code)

    def __reduce__(self):
        return type(self), (self.message, self.node)


class Cancelled(Error):
    """The call was cancelled, by its token or by another thread."""

    code = Code.CANCELLED


class Unknown(Error):
    """A function of the program, such as a data set's, has failed; see `__cause__`."""

    code = Code.UNKNOWN


class InvalidArgument(Error, ValueError):
    """An argument, file, tensor or setting is invalid; the same call will fail again."""

    code = Code.INVALID_ARGUMENT


class DeadlineExceeded(Error, TimeoutError):
    """The timeout of the call has passed."""

    code = Code.DEADLINE_EXCEEDED


class NotFound(Error, LookupError):
    """There is nothing of this name; the message has the nearest one."""

    code = Code.NOT_FOUND


class AlreadyExists(Error):
    """The name or file exists already."""

    code = Code.ALREADY_EXISTS


class PermissionDenied(Error, PermissionError):
    """The system does not allow it."""

    code = Code.PERMISSION_DENIED


class ResourceExhausted(Error, MemoryError):
    """There is no memory, disk space or file descriptor left; nothing has changed."""

    code = Code.RESOURCE_EXHAUSTED


class FailedPrecondition(Error, RuntimeError):
    """The call is not allowed now, for example because the object is closed."""

    code = Code.FAILED_PRECONDITION


class Aborted(Error):
    """A rank ended the group."""

    code = Code.ABORTED


class OutOfRange(Error, IndexError):
    """A data set has no more data, or an index lies outside its tensor."""

    code = Code.OUT_OF_RANGE


class Unimplemented(Error, NotImplementedError):
    """The feature exists, but not in this version or build."""

    code = Code.UNIMPLEMENTED


class Internal(Error, RuntimeError):
    """A bug in the library."""

    code = Code.INTERNAL
    advice = "This is a bug of Headrace; please report it with the program that shows it."


class Unavailable(Error, ConnectionError):
    """The system has failed, perhaps only this time; or a rank is dead, silent or has left."""

    code = Code.UNAVAILABLE


class DataLoss(Error):
    """A file is damaged, or a data set has not the examples that it promised."""

    code = Code.DATA_LOSS


class Unauthenticated(Error, PermissionError):
    """A rank has another cluster secret, or none."""

    code = Code.UNAUTHENTICATED


class Tainted(FailedPrecondition):
    """An update failed half-way, so the variables of the session are not to be trusted."""

    code = Code.TAINTED
    advice = "Call session.restore(folder) with the folder of a checkpoint, or make a new session."


class ArbiterLost(Unavailable):
    """The process that decides about a group's failures is gone."""

    code = Code.ARBITER_LOST
    advice = "Start all ranks again with the next epoch."


class DeviceLost(Error, RuntimeError):
    """A device has failed for good; what was in its memory is gone."""

    code = Code.DEVICE_LOST


_BY_CODE: dict[int, type[Error]] = {one.code: one for one in (
    Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists,
    PermissionDenied, ResourceExhausted, FailedPrecondition, Aborted, OutOfRange, Unimplemented,
    Internal, Unavailable, DataLoss, Unauthenticated, Tainted, ArbiterLost, DeviceLost)}
TYPES = [_BY_CODE.get(code, Unknown) for code in range(max(Code) + 1)]
