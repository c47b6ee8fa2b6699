/* An env: what a program's models and sessions share. Two envs in one process are independent. */
#ifndef HEADRACE_ENV_H_
#define HEADRACE_ENV_H_

#include "headrace/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the host. Both functions may be called from any thread. allocate returns NULL on
 * failure; alignment is a power of two. */
typedef struct hr_allocator {
  size_t struct_size;
  void* context;
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* data, size_t bytes, size_t alignment);
} hr_allocator;

typedef enum hr_log_level HR_ENUM {
  HR_LOG_DEBUG = 0,
  HR_LOG_INFO = 1,
  HR_LOG_WARNING = 2,
  HR_LOG_ERROR = 3
} hr_log_level;

/* Where messages go; called from any thread. */
typedef struct hr_log_sink {
  size_t struct_size;
  void* context;
  void (*write)(void* context, hr_log_level level, const char* message);
} hr_log_sink;

/* Monotonic time, for deadlines; called from any thread. */
typedef struct hr_clock {
  size_t struct_size;
  void* context;
  int64_t (*now_nanos)(void* context);
} hr_clock;

/* Threads of the host. parallel_for calls fn(fn_context, task) once for each task in [0, tasks), on
 * at most `threads` threads of which the caller is one, and returns when all are done. */
typedef struct hr_executor {
  size_t struct_size;
  void* context;
  int32_t concurrency; /* the most threads that ever run tasks at one time, the caller's included */
  void (*parallel_for)(void* context, int32_t tasks, int32_t threads,
                       void (*fn)(void* fn_context, int task), void* fn_context);
} hr_executor;

/* What is pointed to is copied; contexts and functions must outlive the env, and those of the
 * allocator also the tensors that came from it. */
typedef struct hr_env_options {
  size_t struct_size;
  const hr_allocator* allocator; /* NULL: malloc */
  const hr_log_sink* log;        /* NULL: messages are dropped */
  const hr_clock* clock;         /* NULL: the system's monotonic clock */
  const hr_executor* executor;   /* NULL: threads of the library's own */
  int32_t threads; /* the budget; 0: as many as processors; ignored with an executor */
} hr_env_options;

/* Thread-safe. Graphs, models, sessions, calls and data sets keep their env alive, so it may be
 * released first; so may they before their tensors.
 *
 * However many sessions and host threads run, the threads that compute never exceed the budget: a
 * run waits until it gets at least one. After fork() the child must not use an env of the parent.
 * The library must not be unloaded (dlclose) while anything of an env is left, nor ever where it
 * has oneDNN, whose threads outlive their use.
 */
typedef struct hr_env hr_env;

/* options NULL: defaults. */
HR_API hr_status* hr_env_create(const hr_env_options* options, hr_env** out);
HR_API void hr_env_release(hr_env* env);
/* Adds what a plugin has (backends, transports; docs/plugins.md) to the env, before the first
 * model, or the first group, and while no other thread uses the env. A name, "cuda", stands for
 * libheadrace_cuda.so beside libheadrace or else where the system's loader looks; anything with a
 * slash is a path. A plugin that the env has already is a success. Where the plugin, or a driver
 * that it needs, is missing, the failure is HR_UNAVAILABLE and the env works on without it. */
HR_API hr_status* hr_env_load_plugin(hr_env* env, const char* name_or_path);
/* Devices, plugins, threads, transports and operators, as JSON. */
HR_API hr_status* hr_env_describe(const hr_env* env, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_ENV_H_ */
