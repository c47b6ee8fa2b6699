# Made by `python3 -m bindings.generate python` from docs/c_api.json; do not edit.
"""The constants of the C interface."""
import enum


class Code(enum.IntEnum):
    """The constants of hr_code."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16
    TAINTED = 17  # an update of the session failed half-way; restore a checkpoint
    ARBITER_LOST = 18  # the process that decides about a group's failures is gone
    DEVICE_LOST = 19  # a device failed for good; what was in its memory is gone


class Dtype(enum.IntEnum):
    """Element types; the codes are ONNX's TensorProto.DataType."""

    UNDEFINED = 0
    FLOAT32 = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    BOOL = 9
    FLOAT16 = 10
    FLOAT64 = 11
    UINT32 = 12
    UINT64 = 13
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17  # floats of 8 bits are held, moved and converted, and no more
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20


class AttributeKind(enum.IntEnum):
    """What an attribute of a node holds."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    TENSOR = 6
    GRAPH = 7


class ReduceOp(enum.IntEnum):
    """The constants of hr_reduce_op."""

    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3
    AVERAGE = 4  # sum / size; integers round towards zero
    PRE_MULTIPLIED_SUM = 5  # sum of factor * input; the factor is a field of hr_operation


class OperationKind(enum.IntEnum):
    """The constants of hr_operation_kind."""

    SEND = 0
    RECV = 1
    BARRIER = 2
    BROADCAST = 3
    REDUCE = 4
    ALL_REDUCE = 5
    GATHER = 6
    ALL_GATHER = 7
    SCATTER = 8
    REDUCE_SCATTER = 9
    ALL_TO_ALL = 10


class Root(enum.IntEnum):
    """A rank that gives the others what it has."""

    FURTHEST = -1  # the rank that has made the most steps


class LogLevel(enum.IntEnum):
    """The constants of hr_log_level."""

    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3


API_VERSION = 100
NONE = 4294967295
DLPACK_READ_ONLY = 1
