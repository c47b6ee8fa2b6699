/* What every Headrace header needs: export marks, status, text, limits of calls.
 *
 * Every fallible call returns hr_status*: NULL is success; otherwise the caller owns the status and
 * releases it. Contents of output arguments are unspecified after a failure.
 *
 * No call aborts, throws, calls exit or installs a signal handler. Memory for tensors, arenas,
 * plans and file structures comes from the env's allocator, and its failure is
 * HR_RESOURCE_EXHAUSTED; exhaustion in small bookkeeping objects (names, lists) ends the process.
 *
 * Where a call takes a release function, it is called once when the last user is gone; a call that
 * fails takes nothing over and does not call it.
 *
 * `const char*` arguments are NUL-terminated UTF-8 and are copied where they are kept. A function
 * that takes a struct beginning with struct_size wants it set to sizeof the struct; fields that a
 * library does not know must be zero, fields that a program does not know are taken as zero.
 */
#ifndef HEADRACE_BASE_H_
#define HEADRACE_BASE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define HR_API __declspec(dllexport)
#else
#define HR_API __attribute__((visibility("default")))
#endif

/* In C an enumeration holds whatever number it is given; this says the same to C++, so that a wrong
 * one can be looked at and refused. */
#ifdef __cplusplus
#define HR_ENUM : int32_t
#else
#define HR_ENUM
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* 10000 * major + 100 * minor of the interface. Within a major version functions are only added. */
#define HR_API_VERSION 100

/* The HR_API_VERSION that the library was built with. A program built with a smaller one of the
 * same major version runs with it. */
HR_API uint32_t hr_api_version(void);
/* "0.1.0", and what the build contains. Static. */
HR_API const char* hr_version_text(void);

typedef enum hr_code HR_ENUM {
  HR_OK = 0,
  HR_CANCELLED = 1,
  HR_UNKNOWN = 2,
  HR_INVALID_ARGUMENT = 3,
  HR_DEADLINE_EXCEEDED = 4,
  HR_NOT_FOUND = 5,
  HR_ALREADY_EXISTS = 6,
  HR_PERMISSION_DENIED = 7,
  HR_RESOURCE_EXHAUSTED = 8,
  HR_FAILED_PRECONDITION = 9,
  HR_ABORTED = 10,
  HR_OUT_OF_RANGE = 11,
  HR_UNIMPLEMENTED = 12,
  HR_INTERNAL = 13,
  HR_UNAVAILABLE = 14,
  HR_DATA_LOSS = 15,
  HR_UNAUTHENTICATED = 16,
  HR_TAINTED = 17,      /* a session whose update failed half-way; restore a checkpoint */
  HR_ARBITER_LOST = 18, /* the process that decides about a group's failures is gone */
} hr_code;

/* A failure: a code, one or more sentences, and where it applies the node's name. Immutable, so it
 * may be read by any thread. */
typedef struct hr_status hr_status;

/* HR_OK for NULL. */
HR_API hr_code hr_status_code(const hr_status* status);
/* What was expected, what came, what to do. "" for NULL; lives as long as the status. */
HR_API const char* hr_status_message(const hr_status* status);
/* The node at which the failure happened; "" where none applies. */
HR_API const char* hr_status_node(const hr_status* status);
/* A failure of the host's own, for functions that the library calls. HR_UNKNOWN in place of HR_OK
 * and of codes that do not exist; message NULL: "". */
HR_API hr_status* hr_status_create(hr_code code, const char* message);
/* NULL is allowed. */
HR_API void hr_status_release(hr_status* status);
/* "INVALID_ARGUMENT". Static. */
HR_API const char* hr_code_name(hr_code code);

/* Text made by the library, e.g. JSON of the describe functions. */
typedef struct hr_text hr_text;
/* NUL-terminated; lives as long as the text. */
HR_API const char* hr_text_data(const hr_text* text);
HR_API size_t hr_text_size(const hr_text* text); /* without the NUL */
HR_API void hr_text_release(hr_text* text);

/* Cancels calls that were given it, from any thread and any number of times, but not from a signal
 * handler. It must outlive them. Waiting calls are woken at once; a run looks at it between steps.
 */
typedef struct hr_cancel hr_cancel;
HR_API hr_status* hr_cancel_create(hr_cancel** out);
HR_API void hr_cancel_trigger(hr_cancel* cancel);
HR_API void hr_cancel_release(hr_cancel* cancel);

/* What limits one call; NULL in place of it: nothing does. */
typedef struct hr_limits {
  size_t struct_size;
  const hr_cancel* cancel; /* or NULL */
  int64_t timeout_nanos;   /* from the start of the call; 0 or less: none */
} hr_limits;

/* Element types; the codes are ONNX's TensorProto.DataType. */
typedef enum hr_dtype HR_ENUM {
  HR_UNDEFINED = 0,
  HR_FLOAT32 = 1,
  HR_UINT8 = 2,
  HR_INT8 = 3,
  HR_UINT16 = 4,
  HR_INT16 = 5,
  HR_INT32 = 6,
  HR_INT64 = 7,
  HR_BOOL = 9,
  HR_FLOAT16 = 10,
  HR_FLOAT64 = 11,
  HR_UINT32 = 12,
  HR_UINT64 = 13,
  HR_BFLOAT16 = 16,
} hr_dtype;

/* Bytes of one element; 0 for a code that tensors cannot hold. */
HR_API size_t hr_dtype_size(hr_dtype dtype);
/* "float32". Static. */
HR_API const char* hr_dtype_name(hr_dtype dtype);

/* What a node's attribute holds. */
typedef enum hr_attribute_kind HR_ENUM {
  HR_ATTRIBUTE_INT = 0,
  HR_ATTRIBUTE_FLOAT = 1,
  HR_ATTRIBUTE_STRING = 2,
  HR_ATTRIBUTE_INTS = 3,
  HR_ATTRIBUTE_FLOATS = 4,
  HR_ATTRIBUTE_STRINGS = 5,
  HR_ATTRIBUTE_TENSOR = 6,
  HR_ATTRIBUTE_GRAPH = 7
} hr_attribute_kind;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_BASE_H_ */
