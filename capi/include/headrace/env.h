/* Envs: the allocator, log, clock, threads and devices that a program's models and sessions share.
 */
#ifndef HEADRACE_ENV_H_
#define HEADRACE_ENV_H_

#include "headrace/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The four structs below are services of the host for an env. Their `release` functions may be
 * NULL. Each is called once, when the env and everything that keeps it is gone; that of the
 * allocator also waits for the last tensor that came from it. It is called on the thread that
 * dropped the last reference, which may be a thread of the library. */

/* Memory of the host. Both functions may be called from any thread. `alignment` is a power of two.
 * `allocate` returns NULL if there is no memory left. */
typedef struct hr_allocator {
  size_t struct_size;
  void* context;
  HR_CALLED_BY(any) HR_OR_NULL void* (*allocate)(void* context, size_t bytes, size_t alignment);
  HR_CALLED_BY(any)
  void (*deallocate)(void* context, HR_BYTES(bytes) void* data, size_t bytes, size_t alignment);
  void (*release)(void* context);
} hr_allocator;

typedef int32_t hr_log_level;
enum { HR_LOG_DEBUG = 0, HR_LOG_INFO = 1, HR_LOG_WARNING = 2, HR_LOG_ERROR = 3 };

/* Receives the library's log messages. `write` may be called from any thread. */
typedef struct hr_log_sink {
  size_t struct_size;
  void* context;
  HR_CALLED_BY(any) void (*write)(void* context, hr_log_level level, const char* message);
  void (*release)(void* context);
} hr_log_sink;

/* A monotonic clock, for deadlines. `now_nanos` returns nanoseconds and may be called from any
 * thread. */
typedef struct hr_clock {
  size_t struct_size;
  void* context;
  HR_CALLED_BY(any) int64_t (*now_nanos)(void* context);
  void (*release)(void* context);
} hr_clock;

/* Threads of the host. `parallel_for` calls fn(fn_context, task) once for each task in [0, tasks),
 * on at most `threads` threads including the calling one, and returns when all calls have returned.
 * It may be called from any thread. */
typedef struct hr_executor {
  size_t struct_size;
  void* context;
  int32_t concurrency; /* the most threads that run tasks at one time, including the caller's */
  HR_CALLED_BY(any)
  void (*parallel_for)(void* context, int32_t tasks, int32_t threads,
                       void (*fn)(void* fn_context, int task), void* fn_context);
  void (*release)(void* context);
} hr_executor;

/* The structs are copied. Their contexts and functions must stay valid until they are released. */
typedef struct hr_env_options {
  size_t struct_size;
  HR_NULLABLE const hr_allocator* allocator; /* NULL: malloc */
  HR_NULLABLE const hr_log_sink* log;        /* NULL: messages are dropped */
  HR_NULLABLE const hr_clock* clock;         /* NULL: the system's monotonic clock */
  HR_NULLABLE const hr_executor* executor;   /* NULL: threads of the library */
  int32_t threads; /* the thread budget; 0: one per processor; ignored if there is an executor */
  /* A file that `headrace roof --costs FILE` has measured on this machine: layouts and kernels of
   * convolutions are chosen by it. NULL: the file that the environment variable HEADRACE_COSTS
   * names, or if it names none, estimates that hold for most machines. HR_NOT_FOUND: there is no
   * such file. HR_DATA_LOSS: it is damaged. HR_FAILED_PRECONDITION: it is of a machine with other
   * instructions. */
  HR_NULLABLE const char* cost_table;
} hr_env_options;

/* Thread-safe. Two envs in one process are independent of each other.
 *
 * Ownership: graphs, models, sessions, calls, data sets and groups keep their env alive, so the env
 * may be released first. Likewise all of these may be released before their tensors.
 *
 * Threads: however many sessions and host threads run, the threads that compute never exceed the
 * budget. A run waits until it gets at least one thread.
 *
 * Functions of the host are called
 *   - by the thread that makes a call, during the call: hr_limits.interrupted, the steps of
 * hr_train;
 *   - by the thread that runs a graph, which may be a thread of the library: what operators
 *     compute, and the functions of data sets; `next` of a data set with prefetch by a thread of
 *     its own;
 *   - by the thread that builds a graph, opens a model or makes a plan: the types and gradients of
 *     operators, hr_reader;
 *   - by threads for callbacks, of which the env starts as many as it needs, 64 at most: the
 *     callbacks of runs and operations (hr_run_on_done, hr_work_on_done), the log messages of
 *     groups, and the questions to a store of the host when a group has failed;
 *   - by any thread: the services below, and release functions, which the thread calls that drops
 *     the last reference.
 * No function of the host runs on the thread that keeps groups alive, except an allocator. One that
 * hangs delays its own call and, if it is called by a thread for callbacks, nothing else. A
 * function may call the library, but not with the objects of the call that it is part of, if its
 * description does not allow that. The mark HR_CALLED_BY says for each which of these threads it
 * is.
 *
 * Releasing: a release function may be called by any thread, also, as said, in a function of the
 * host. It does not wait, with these exceptions:
 *   - the last reference to an env waits for callbacks that are running, unless it is released in
 *     one of them; models, sessions, calls, queues, data sets and groups hold references, too;
 *   - the last handle of a group waits as hr_group_close does;
 *   - a data set with prefetch waits for the batch that is being read, unless a call still has it;
 *   - the last handle of a store that this process keeps waits until its thread has ended.
 *
 * Processes: a program may exit while objects are left and functions of the host are running. After
 * fork() the child may exit or become another program, and must not use an env of the parent. The
 * library must not be unloaded (dlclose) while an object of an env is left.
 *
 * oneDNN, whose kernels some float32 nodes take where it is there, is opened when the first such
 * plan is made, and stays loaded: the library that the environment variable HEADRACE_ONEDNN names
 * ("off": none), else libdnnl.so.3 beside this library or where the system's loader looks.
 */
typedef struct hr_env hr_env;

/* Creates an env. `options` may be NULL, which means defaults. */
HR_API hr_status* hr_env_create(HR_NULLABLE const hr_env_options* options, hr_env** out);
/* Releases the handle. Waits if it is the last reference (see above). */
HR_API HR_BLOCKS void hr_env_release(hr_env* env);
/* Loads a plugin and adds its backends and transports (docs/plugins.md) to the env. Must be called
 * before the env's first model or group, and while no other thread uses the env.
 *
 * If `name_or_path` contains a slash, it is a path. Otherwise it is a name: "cuda" stands for
 * libheadrace_cuda.so, beside libheadrace or, if it is not there, where the system's loader looks.
 * Loading a plugin that the env already has succeeds. HR_UNAVAILABLE: the plugin, or a driver that
 * it needs, is missing; the env remains usable without it. */
HR_API hr_status* hr_env_load_plugin(hr_env* env, const char* name_or_path);
/* Describes devices, plugins, threads, transports, operators and the oneDNN that is found as JSON.
 */
HR_API hr_status* hr_env_describe(const hr_env* env, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_ENV_H_ */
