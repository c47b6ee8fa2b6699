// Made by `python3 -m bindings.generate java` from docs/c_api.json; do not edit.
package dev.headrace;

/** The constants of C. */
final class Constants {
  private Constants() {}

  static final int HR_OK = 0;
  static final int HR_CANCELLED = 1;
  static final int HR_UNKNOWN = 2;
  static final int HR_INVALID_ARGUMENT = 3;
  static final int HR_DEADLINE_EXCEEDED = 4;
  static final int HR_NOT_FOUND = 5;
  static final int HR_ALREADY_EXISTS = 6;
  static final int HR_PERMISSION_DENIED = 7;
  static final int HR_RESOURCE_EXHAUSTED = 8;
  static final int HR_FAILED_PRECONDITION = 9;
  static final int HR_ABORTED = 10;
  static final int HR_OUT_OF_RANGE = 11;
  static final int HR_UNIMPLEMENTED = 12;
  static final int HR_INTERNAL = 13;
  static final int HR_UNAVAILABLE = 14;
  static final int HR_DATA_LOSS = 15;
  static final int HR_UNAUTHENTICATED = 16;
  static final int HR_TAINTED = 17;
  static final int HR_ARBITER_LOST = 18;
  static final int HR_DEVICE_LOST = 19;
  static final int HR_UNDEFINED = 0;
  static final int HR_FLOAT32 = 1;
  static final int HR_UINT8 = 2;
  static final int HR_INT8 = 3;
  static final int HR_UINT16 = 4;
  static final int HR_INT16 = 5;
  static final int HR_INT32 = 6;
  static final int HR_INT64 = 7;
  static final int HR_BOOL = 9;
  static final int HR_FLOAT16 = 10;
  static final int HR_FLOAT64 = 11;
  static final int HR_UINT32 = 12;
  static final int HR_UINT64 = 13;
  static final int HR_BFLOAT16 = 16;
  static final int HR_ATTRIBUTE_INT = 0;
  static final int HR_ATTRIBUTE_FLOAT = 1;
  static final int HR_ATTRIBUTE_STRING = 2;
  static final int HR_ATTRIBUTE_INTS = 3;
  static final int HR_ATTRIBUTE_FLOATS = 4;
  static final int HR_ATTRIBUTE_STRINGS = 5;
  static final int HR_ATTRIBUTE_TENSOR = 6;
  static final int HR_ATTRIBUTE_GRAPH = 7;
  static final int HR_SUM = 0;
  static final int HR_PRODUCT = 1;
  static final int HR_MIN = 2;
  static final int HR_MAX = 3;
  static final int HR_AVERAGE = 4;
  static final int HR_PRE_MULTIPLIED_SUM = 5;
  static final int HR_OPERATION_SEND = 0;
  static final int HR_OPERATION_RECV = 1;
  static final int HR_OPERATION_BARRIER = 2;
  static final int HR_OPERATION_BROADCAST = 3;
  static final int HR_OPERATION_REDUCE = 4;
  static final int HR_OPERATION_ALL_REDUCE = 5;
  static final int HR_OPERATION_GATHER = 6;
  static final int HR_OPERATION_ALL_GATHER = 7;
  static final int HR_OPERATION_SCATTER = 8;
  static final int HR_OPERATION_REDUCE_SCATTER = 9;
  static final int HR_OPERATION_ALL_TO_ALL = 10;
  static final int HR_FURTHEST = -1;
  static final int HR_LOG_DEBUG = 0;
  static final int HR_LOG_INFO = 1;
  static final int HR_LOG_WARNING = 2;
  static final int HR_LOG_ERROR = 3;
  static final int HR_API_VERSION = 100;
  static final int HR_NONE = -1;
  static final int HR_DLPACK_READ_ONLY = 1;
}
