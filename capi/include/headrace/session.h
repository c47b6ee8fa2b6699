/* Sessions: a model's variables and compiled plans, and running them. */
#ifndef HEADRACE_SESSION_H_
#define HEADRACE_SESSION_H_

#include "headrace/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Thread-safe. Reading runs go in parallel; a run that writes variables excludes the session's
 * other runs. Closing or releasing a session, its model or its env while runs are in flight is
 * safe: they finish.
 *
 * A run that fails before its update phase has changed no variable. One that fails later leaves the
 * session tainted (HR_TAINTED): only restoring a checkpoint makes it usable again. Cancelling has
 * no effect once the update phase has begun. */
typedef struct hr_session hr_session;

typedef struct hr_session_options {
  size_t struct_size;
  uint64_t seed;          /* of initial values and of random operators */
  int32_t max_plans;      /* cached compiled plans; 0: 64 */
  int32_t disable_fusion; /* run every node by itself, e.g. to find a fault */
  /* "TOY:0": where nodes run that name no device (hr_graph_device). NULL: on the CPU. */
  const char* device;
  int32_t max_sizes; /* sizes of bounded dimensions that each plan keeps; 0: 64 (hr_graph_bound) */
  /* Not 0: verifies of each plan that every step reads only what was given or written before, and
   * fills working memory with a pattern (NaN, -1) before each run and as soon as it is no longer
   * needed. A fault of a kernel or of the library then shows as an error or as NaN instead of as a
   * number that is a little wrong. Runs take longer. The environment variable
   * HEADRACE_CHECK_MEMORY=1 does the same for all sessions of a process. */
  int32_t check_memory;
  /* No algorithm that trades accuracy for speed, such as Winograd's convolution: sums of products
   * are what they say, with the rounding errors of such sums. */
  int32_t exact_sums;
} hr_session_options;

/* Computes the initial values of the variables. options NULL: defaults.
 *
 * A node that its device does not take runs on the CPU, together with the others that use its
 * variables; hr_call_describe shows each node's place. Inputs, outputs and the values of variables
 * are host memory, whatever the devices. */
HR_API hr_status* hr_session_create(const hr_model* model, const hr_session_options* options,
                                    hr_session** out);
/* No new runs from now on, calls included; those in flight finish. Frees the plans, as soon as
 * their last user is done. Allowed while other threads use the session. */
HR_API void hr_session_close(hr_session* session);
/* The handle is gone; runs that have begun finish, calls made of the session go on. */
HR_API void hr_session_release(hr_session* session);
/* Cached plans keep the memory of their last runs for the next ones: this gives back what no run
 * and no call holds at the moment. hr_session_describe shows how much there is. */
HR_API void hr_session_trim(hr_session* session);

/* Runs once: any values as feeds and fetches, nodes as targets; what is not needed is not run. The
 * caller releases the output tensors. Plans are cached by names and shapes. */
HR_API hr_status* hr_session_run(hr_session* session, size_t feed_count,
                                 const char* const* feed_names, const hr_tensor* const* feeds,
                                 size_t fetch_count, const char* const* fetch_names,
                                 size_t target_count, const char* const* target_names,
                                 const hr_limits* limits, hr_tensor** outputs);

/* Variables by name. Values are copied. */
HR_API size_t hr_session_variable_count(const hr_session* session);
/* Lives as long as the session. NULL where there is no such variable. */
HR_API const char* hr_session_variable_name(const hr_session* session, size_t index);
HR_API hr_status* hr_session_get_variable(hr_session* session, const char* name, hr_tensor** out);
HR_API hr_status* hr_session_set_variable(hr_session* session, const char* name,
                                          const hr_tensor* value);

/* Variables, cached plans with their devices, steps and kernels, and memory, as JSON. */
HR_API hr_status* hr_session_describe(hr_session* session, hr_text** out);

/* The fast path: names are resolved once and memory is bound once. A run with unchanged shapes
 * allocates nothing. A call is used by one thread at a time; several calls of one session may run
 * at once. It keeps its session alive. */
typedef struct hr_call hr_call;

/* The inputs and outputs of a signature, by their names there. */
HR_API hr_status* hr_call_create(hr_session* session, const char* signature, hr_call** out);
/* Any values as inputs and outputs, nodes as targets. */
HR_API hr_status* hr_call_create_custom(hr_session* session, size_t feed_count,
                                        const char* const* feed_names, size_t fetch_count,
                                        const char* const* fetch_names, size_t target_count,
                                        const char* const* target_names, hr_call** out);
HR_API void hr_call_release(hr_call* call);

/* The input from now on. Contiguous memory is used in place: its contents at the time of the run
 * count. The tensor may be released. */
HR_API hr_status* hr_call_bind(hr_call* call, const char* input, const hr_tensor* tensor);
/* The same for a single number, e.g. a learning rate; converted to the input's type. */
HR_API hr_status* hr_call_bind_scalar(hr_call* call, const char* input, double value);
/* The output goes to `data` from now on, which must have exactly the bytes it needs, checked by the
 * next run. */
HR_API hr_status* hr_call_output(hr_call* call, const char* output, void* data, size_t bytes);
/* limits NULL: none. HR_OUT_OF_RANGE where a bound data set has no more data; nothing was run then.
 */
HR_API hr_status* hr_call_run(hr_call* call, const hr_limits* limits);

/* A run that was started and goes on by itself, on a thread of the env's: of those there are at
 * most as many as its budget has, and runs beyond that wait for their turn. Thread-safe. */
typedef struct hr_run hr_run;

/* Starts a run and returns at once. Until it has ended the call and the memory bound to it are the
 * run's: other calls on it fail with HR_FAILED_PRECONDITION, but it may be released. The limits
 * count from now; their token must outlive the run. The caller releases the run, which does not end
 * it. */
HR_API hr_status* hr_call_start(hr_call* call, const hr_limits* limits, hr_run** out);
HR_API void hr_run_release(hr_run* run);
/* 1 where it has ended, well or not. Does not wait. */
HR_API int hr_run_test(hr_run* run);
/* Waits for the end and returns how it ended. Limits (NULL: none; on the system's monotonic clock,
 * since the env may be gone) end the waiting, not the run. */
HR_API hr_status* hr_run_wait(hr_run* run, const hr_limits* limits);
/* Calls `callback` once it has ended, on the thread that ran it, or at once where it has; `status`
 * is NULL or why it failed, and is valid during the call. The callback may start the call again. */
HR_API hr_status* hr_run_on_done(hr_run* run,
                                 void (*callback)(void* context, const hr_status* status),
                                 void* context);
/* As triggering a token in its limits. */
HR_API void hr_run_cancel(hr_run* run);

/* The output of the last run, in memory that the next run overwrites. */
HR_API hr_status* hr_call_result(const hr_call* call, const char* output, hr_tensor** out);
/* The plan for the bound shapes, as JSON. */
HR_API hr_status* hr_call_describe(hr_call* call, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_SESSION_H_ */
