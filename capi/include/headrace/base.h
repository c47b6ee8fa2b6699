/* The parts that every Headrace header needs: export marks, statuses, texts, limits of calls.
 *
 * Failures: every call that can fail returns hr_status*. NULL means success; any other status
 * belongs to the caller, who releases it. After a failure the contents of output arguments are
 * unspecified. No call aborts, throws, calls exit or installs a signal handler.
 *
 * Memory: tensors, arenas, plans and file structures come from the env's allocator. If that has
 * none left, the call fails with HR_RESOURCE_EXHAUSTED. If there is no memory for a small
 * bookkeeping object (a name, a list), the process ends.
 *
 * Ownership: a call that creates an object gives it to the caller through `out`; the caller
 * releases it with the release function of its type. If a call takes a release function of the
 * host, the library calls that once, when the last user is gone. A call that fails takes nothing
 * over and does not call the release function.
 *
 * NULL: an argument may be NULL if it has the mark HR_NULLABLE; its description says what that
 * means. Any other NULL makes a call that can fail return HR_INVALID_ARGUMENT. A call that cannot
 * fail does nothing then, and what it returns has no meaning. Release functions accept NULL.
 *
 * Text: `const char*` arguments are NUL-terminated UTF-8. The library copies what it keeps.
 *
 * Structs that begin with struct_size: the caller sets it to the sizeof of the struct. Fields that
 * the library does not know must be zero; fields that the program does not know count as zero. In
 * an array of such structs every element has the same struct_size.
 *
 * Enumerations are int32_t with named constants. Later versions of the library may add constants,
 * so a program must expect codes that it does not know. If an argument is a code that the library
 * does not know, the call returns HR_INVALID_ARGUMENT.
 */
#ifndef HEADRACE_BASE_H_
#define HEADRACE_BASE_H_

#include <stddef.h>
#include <stdint.h>

/* HR_API marks the functions of the library. On Windows a program that links libheadrace statically
 * defines HR_STATIC; HR_BUILD is for building the library itself. HR_EXPORT marks what a plugin
 * exports, however it uses the library. */
#if defined(_WIN32)
#define HR_EXPORT __declspec(dllexport)
#if defined(HR_STATIC)
#define HR_API
#elif defined(HR_BUILD)
#define HR_API __declspec(dllexport)
#else
#define HR_API __declspec(dllimport)
#endif
#else
#define HR_EXPORT __attribute__((visibility("default")))
#define HR_API HR_EXPORT
#endif

/* ---- Marks -----------------------------------------------------------------------------------
 *
 * They expand to nothing. They say what the types do not, for people and for the programs that
 * make bindings from docs/c_api.json. Without a mark:
 *   - a pointer is not NULL, and the memory is used during the call only;
 *   - what is const is read; what a pointer to a number, a struct or another pointer leads to is
 *     written, if it is not const;
 *   - a handle that is written is a new object, which the caller releases; a pointer to const that
 *     is written or returned leads to memory of the library;
 *   - a hr_status* that is returned is a failure, or NULL; the receiver releases it;
 *   - a call that can wait has the parameter `limits`, which may be NULL;
 *   - functions of the host that are named `release` may be NULL, and any thread may call them; a
 *     `context` may be NULL. */

/* The pointer may be NULL. */
#define HR_NULLABLE
/* What the function returns, or writes through this parameter, may be NULL. */
#define HR_OR_NULL
/* The pointer leads to `count` elements; it may be NULL if that is 0. `count` is a parameter or a
 * field, `result` for what the function returns, or a call that tells it. */
#define HR_ARRAY(count)
/* Elements of the array may be NULL. */
#define HR_HOLES
/* The memory has `count` bytes; the pointer may be NULL if that is 0. */
#define HR_BYTES(count)
/* The memory has `count` elements of the type `dtype`, or as many for each rank of the group; the
 * pointer may be NULL if that is 0. A function NAME_start has the marks of the function NAME. */
#define HR_ELEMENTS(count)
#define HR_ELEMENTS_PER_RANK(count)
/* What is written is read before. */
#define HR_IN_OUT
/* The memory is used after the call has returned; the description says how long. It is so with all
 * buffers of a call that gives an hr_work. */
#define HR_KEEPS
/* The object belongs to the library after a call that succeeds. */
#define HR_TAKES
/* The call can wait for another thread, and takes no limits. */
#define HR_BLOCKS
/* The hr_status* that is returned is the result of the call, not its failure. */
#define HR_RESULT
/* The thread that calls the function of the host: caller, run, callback or any (see hr_env). */
#define HR_CALLED_BY(thread)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the interface: 10000 * major + 100 * minor. Within a major version functions are
 * only added. */
#define HR_API_VERSION 100

/* Returns the HR_API_VERSION that the library was built with. A program that was built with the
 * same or a smaller version of the same major version can use the library. */
HR_API uint32_t hr_api_version(void);
/* Returns the library's version and what the build contains, such as "0.1.0 +onednn", which can
 * use oneDNN (hr_env_describe tells whether it is there). The text is static. */
HR_API const char* hr_version_text(void);

typedef int32_t hr_code;
enum {
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
  HR_TAINTED = 17,      /* an update of the session failed half-way; restore a checkpoint */
  HR_ARBITER_LOST = 18, /* the process that decides about a group's failures is gone */
  HR_DEVICE_LOST = 19,  /* a device failed for good; what was in its memory is gone */
};

/* A failure: a code, a message, and the name of the node that failed if there is one. Immutable:
 * any thread may read it. */
typedef struct hr_status hr_status;

/* Returns the code; HR_OK if `status` is NULL. */
HR_API hr_code hr_status_code(HR_NULLABLE const hr_status* status);
/* Returns one or more sentences that say what was expected, what came and what to do; "" if
 * `status` is NULL. The text lives as long as the status. */
HR_API const char* hr_status_message(HR_NULLABLE const hr_status* status);
/* Returns the name of the node that failed; "" if no node is to blame or `status` is NULL. The text
 * lives as long as the status. */
HR_API const char* hr_status_node(HR_NULLABLE const hr_status* status);
/* Creates a failure of the host, to be returned by a function that the library calls. If `code` is
 * HR_OK or no code at all, the status has HR_UNKNOWN. `message` may be NULL, which means "". */
HR_API HR_RESULT hr_status* hr_status_create(hr_code code, HR_NULLABLE const char* message);
HR_API void hr_status_release(hr_status* status);
/* Returns the name of a code, such as "INVALID_ARGUMENT". The text is static. */
HR_API const char* hr_code_name(hr_code code);

/* A text that the library made, such as the JSON of a describe function. Immutable. */
typedef struct hr_text hr_text;
/* Returns the characters, NUL-terminated. They live as long as the text. */
HR_API const char* hr_text_data(const hr_text* text);
/* Returns the number of bytes, without the NUL. */
HR_API size_t hr_text_size(const hr_text* text);
HR_API void hr_text_release(hr_text* text);

/* A token that cancels the calls to which it was given. The calls keep it alive, so it may be
 * released at any time. Thread-safe. */
typedef struct hr_cancel hr_cancel;
HR_API hr_status* hr_cancel_create(hr_cancel** out);
/* Cancels all calls that have the token, now and later. Calls that wait are woken at once; a run
 * looks at the token between steps. May be called from any thread and any number of times, but not
 * from a signal handler. */
HR_API void hr_cancel_trigger(hr_cancel* cancel);
HR_API void hr_cancel_release(hr_cancel* cancel);

/* The limits of one call. If a call gets NULL instead, it has no limits, unless its description
 * names a default. A call without limits may wait for ever. */
typedef struct hr_limits {
  size_t struct_size;
  HR_NULLABLE const hr_cancel* cancel; /* NULL: the call cannot be cancelled */
  int64_t timeout_nanos; /* nanoseconds from the start of the call; 0 or less: no deadline */
  /* Asks the host whether the call shall end, for example because a user has pressed Ctrl-C. Called
   * at least every 100 ms by the thread that made the call, while it waits and between the steps of
   * a run; not at all by a call that ends sooner. It returns 0 to go on. Any other number ends the
   * call with HR_CANCELLED, as the cancel token does: a call that waits for something that can be
   * waited for again, such as hr_work_wait and hr_run_wait, ends nothing else. It may run any code
   * of the host, but must not use the objects of the call; between the steps of a run, what is said
   * at hr_operator holds for it. NULL: the host is not asked. A run in
   * the background (hr_call_start) does not ask. */
  HR_NULLABLE HR_CALLED_BY(caller) int (*interrupted)(void* context);
  void* context; /* of `interrupted` */
} hr_limits;

/* Element types; the codes are ONNX's TensorProto.DataType. */
typedef int32_t hr_dtype;
enum {
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
  HR_FLOAT8E4M3FN = 17, /* floats of 8 bits are held, moved and converted, and no more */
  HR_FLOAT8E4M3FNUZ = 18,
  HR_FLOAT8E5M2 = 19,
  HR_FLOAT8E5M2FNUZ = 20,
};

/* Returns the bytes of one element; 0 if tensors cannot hold the type. */
HR_API size_t hr_dtype_size(hr_dtype dtype);
/* Returns the name of the type, such as "float32". The text is static. */
HR_API const char* hr_dtype_name(hr_dtype dtype);

/* What an attribute of a node holds. */
typedef int32_t hr_attribute_kind;
enum {
  HR_ATTRIBUTE_INT = 0,
  HR_ATTRIBUTE_FLOAT = 1,
  HR_ATTRIBUTE_STRING = 2,
  HR_ATTRIBUTE_INTS = 3,
  HR_ATTRIBUTE_FLOATS = 4,
  HR_ATTRIBUTE_STRINGS = 5,
  HR_ATTRIBUTE_TENSOR = 6,
  HR_ATTRIBUTE_GRAPH = 7
};

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_BASE_H_ */
