/* Sessions: the variables and compiled plans of a model, and their runs. */
#ifndef HEADRACE_SESSION_H_
#define HEADRACE_SESSION_H_

#include "headrace/model.h"
#include "headrace/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Thread-safe. Runs that only read variables go in parallel; a run that writes variables excludes
 * all other runs of the session. What an operator of the host may do with sessions while a run
 * waits for it is said at hr_operator. A session, its model or its env may be closed or released
 * while runs are in flight: the runs finish.
 *
 * A run that fails before its update phase has changed no variable. A run that fails in its update
 * phase leaves the session tainted: every later run fails with HR_TAINTED until a checkpoint has
 * been restored. Once the update phase has begun, cancellation and deadlines have no effect. */
typedef struct hr_session hr_session;

typedef struct hr_session_options {
  size_t struct_size;
  uint64_t seed;          /* of initial values and of random operators */
  int32_t max_plans;      /* the most compiled plans that are cached; 0: 64 */
  int32_t disable_fusion; /* 1: run every node by itself, for example to find a fault */
  /* The device ("TOY:0") of nodes that name none (hr_graph_device). NULL: the CPU. */
  HR_NULLABLE const char* device;
  int32_t max_sizes; /* the most sizes of bounded dimensions that a plan keeps (hr_graph_bound); 0:
                        64 */
  /* 1: verify of each plan that every step reads only what was given or written before, and fill
   * working memory with a pattern (NaN, -1) before each run and as soon as it is no longer needed.
   * A fault of a kernel or of the library then shows as an error or as NaN instead of as a number
   * that is a little wrong. Runs take longer. The environment variable HEADRACE_CHECK_MEMORY=1 does
   * the same for all sessions of a process. */
  int32_t check_memory;
  /* 1: use no algorithm that trades accuracy for speed, such as Winograd's convolution. */
  int32_t exact_sums;
  /* The most bytes of working memory that a plan may take on the CPU (arena_bytes in
   * hr_call_describe): activations, their gradients, and what kernels need while they run;
   * variables, inputs, outputs and packed weights do not count. A plan that would need more
   * computes values again in place of keeping them. Results have the same bits; a run takes longer.
   * HR_RESOURCE_EXHAUSTED says what a plan needs at least, and what holds it. 0: no limit. */
  uint64_t memory_limit;
  /* For developers of this library: what would otherwise be chosen by estimates. Words with blanks
   * between them: "layout=plain", "layout=channels_last" or "layout=batch_blocked" for all
   * convolutions that can run so; "kernel=direct" or "kernel=winograd" for those that run
   * batch-blocked or channels-last (exact_sums forbids winograd all the same), "kernel=matrix_unit"
   * for those that run channels-last on a processor with one, "kernel=portable" or "kernel=onednn"
   * for those that run plain. NULL: nothing. */
  HR_NULLABLE const char* pin;
} hr_session_options;

/* Creates a session and computes the initial values of its variables, within `limits` (NULL: none).
 * `options` may be NULL, which means defaults.
 *
 * A node that its device cannot run runs on the CPU, and so do the other nodes that use its
 * variables; hr_call_describe shows where each node runs. Inputs, outputs and the values of
 * variables are in host memory, whatever the devices. */
HR_API hr_status* hr_session_create(const hr_model* model,
                                    HR_NULLABLE const hr_session_options* options,
                                    const hr_limits* limits, hr_session** out);
/* Closes the session: new runs fail, also those of its calls, and runs in flight finish. The plans
 * are freed as soon as their last user is done. May be called while other threads use the session.
 */
HR_API void hr_session_close(hr_session* session);
/* Releases the handle. Runs that have begun finish, and calls of the session remain usable. */
HR_API void hr_session_release(hr_session* session);
/* Frees the memory that cached plans keep for their next runs, except what a run or a call holds at
 * the moment. hr_session_describe shows how much there is. */
HR_API void hr_session_trim(hr_session* session);

/* Runs the graph once. Any values may be feeds and fetches, and any nodes may be targets; nodes
 * that neither a fetch nor a target needs do not run. `outputs` gets one tensor for each fetch,
 * which the caller releases. Plans are cached by names and shapes. Waits for the end of the run,
 * within `limits` (NULL: none). */
HR_API hr_status* hr_session_run(
    hr_session* session, size_t feed_count, HR_ARRAY(feed_count) const char* const* feed_names,
    HR_ARRAY(feed_count) const hr_tensor* const* feeds, size_t fetch_count,
    HR_ARRAY(fetch_count) const char* const* fetch_names, size_t target_count,
    HR_ARRAY(target_count) const char* const* target_names, const hr_limits* limits,
    HR_ARRAY(fetch_count) hr_tensor** outputs);

/* Returns the number of variables. */
HR_API size_t hr_session_variable_count(const hr_session* session);
/* Returns the name of a variable; NULL if `index` is too large. It lives as long as the session. */
HR_API HR_OR_NULL const char* hr_session_variable_name(const hr_session* session, size_t index);
/* Get and set copy the value of a variable. The type and shape of `value` must be the variable's.
 * Both wait within `limits` (NULL: none) for runs that are in the way. */
HR_API hr_status* hr_session_get_variable(hr_session* session, const char* name,
                                          const hr_limits* limits, hr_tensor** out);
HR_API hr_status* hr_session_set_variable(hr_session* session, const char* name,
                                          const hr_tensor* value, const hr_limits* limits);

/* Describes variables, cached plans with their devices, steps and kernels, and memory as JSON. */
HR_API hr_status* hr_session_describe(hr_session* session, hr_text** out);

/* A prepared run, the fast path: names are resolved once and memory is bound once, and a run with
 * the shapes of the run before allocates nothing. A call is used by one thread at a time: a
 * function on a call that another thread is using, or whose run is in flight (hr_call_start), fails
 * with HR_FAILED_PRECONDITION. Several calls of one session may run at the same time. A call keeps
 * its session alive. */
typedef struct hr_call hr_call;

/* Creates a call of a signature; the signature names its inputs and outputs. */
HR_API hr_status* hr_call_create(hr_session* session, const char* signature, hr_call** out);
/* Creates a call with any values as inputs and outputs and any nodes as targets. */
HR_API hr_status* hr_call_create_custom(
    hr_session* session, size_t feed_count, HR_ARRAY(feed_count) const char* const* feed_names,
    size_t fetch_count, HR_ARRAY(fetch_count) const char* const* fetch_names, size_t target_count,
    HR_ARRAY(target_count) const char* const* target_names, hr_call** out);
HR_API void hr_call_release(hr_call* call);

/* Binds a tensor to an input for all runs from now on. Contiguous memory is used in place, so a run
 * sees what the memory contains at that time. The tensor may be released after this call. If
 * `tensor` is NULL, nothing is bound to the input any more. */
HR_API hr_status* hr_call_bind(hr_call* call, const char* input,
                               HR_NULLABLE const hr_tensor* tensor);
/* Binds a single number, such as a learning rate, to an input. It is converted to the input's type.
 */
HR_API hr_status* hr_call_bind_scalar(hr_call* call, const char* input, double value);
/* Makes all runs from now on write an output to `data`. `bytes` must be exactly what the output
 * needs; the next run checks this. The memory must live as long as the call or until another
 * output is set. If `data` is NULL, runs write the output to memory of the call again. */
HR_API hr_status* hr_call_output(hr_call* call, const char* output,
                                 HR_NULLABLE HR_KEEPS HR_BYTES(bytes) void* data, size_t bytes);
/* Makes all runs from now on write an output to the memory of `tensor`, which must be contiguous,
 * not read-only, in host memory, and of the output's type and shape; the next run checks the last.
 * The call keeps the memory alive. If `tensor` is NULL, runs write the output to memory of the call
 * again. */
HR_API hr_status* hr_call_bind_output(hr_call* call, const char* output,
                                      HR_NULLABLE const hr_tensor* tensor);
/* Returns the type and shape of an output for the inputs that are bound now. `out_dtype`,
 * `out_rank` and `out_dims` may be NULL. The dimensions live until the call is used again. Inputs
 * that the output needs must be bound. */
HR_API hr_status* hr_call_output_type(hr_call* call, const char* output,
                                      HR_NULLABLE hr_dtype* out_dtype, HR_NULLABLE size_t* out_rank,
                                      HR_NULLABLE HR_ARRAY(out_rank) const int64_t** out_dims);
/* Runs the call and waits for the end, within `limits` (NULL: none). HR_OUT_OF_RANGE: a bound data
 * set has no more data; in this case nothing has run. */
HR_API hr_status* hr_call_run(hr_call* call, const hr_limits* limits);

/* A run in the background, on a thread of the env. The env has at most as many such threads as its
 * thread budget; further runs wait for their turn. Thread-safe. */
typedef struct hr_run hr_run;

/* Starts a run and returns at once. Until the run has ended it owns the call and the memory that is
 * bound to the call: functions on the call fail with HR_FAILED_PRECONDITION, but the call may be
 * released. The limits count from now. Releasing the run does not end it. */
HR_API hr_status* hr_call_start(hr_call* call, const hr_limits* limits, hr_run** out);
HR_API void hr_run_release(hr_run* run);
/* Returns 1 if the run has ended, whether it succeeded or failed; else 0. Does not wait. */
HR_API int hr_run_test(hr_run* run);
/* Waits for the end of the run and returns its result. `limits` (NULL: none) end the waiting, not
 * the run. They are measured on the system's monotonic clock, because the env may be gone.
 * HR_FAILED_PRECONDITION in a function of the host that another run of the env has called and waits
 * for (see hr_operator), if the run has not ended: it may need the threads that the other has. */
HR_API hr_status* hr_run_wait(hr_run* run, const hr_limits* limits);
/* Calls `callback` once when the run has ended, or soon if it has ended already, on a thread for
 * callbacks (see hr_env). `status` is NULL or the failure; it is valid during the callback. The
 * callback may call any function, for example start the call again; releasing what it was given is
 * not its task. */
HR_API hr_status* hr_run_on_done(
    hr_run* run,
    HR_CALLED_BY(callback) void (*callback)(void* context, HR_NULLABLE const hr_status* status),
    void* context);
/* Puts the run into a queue when it has ended; at once if it has ended already. */
HR_API hr_status* hr_run_enqueue(hr_run* run, hr_queue* queue, uint64_t key);
/* Cancels the run, as triggering the cancel token of its limits would. */
HR_API void hr_run_cancel(hr_run* run);

/* Returns an output of the last run as a tensor. The next run overwrites its memory. */
HR_API hr_status* hr_call_result(const hr_call* call, const char* output, hr_tensor** out);
/* Returns an output of the last run as hr_call_result does, and gives its memory away: the next run
 * writes to other memory, also if a tensor was bound to the output. */
HR_API hr_status* hr_call_take_result(hr_call* call, const char* output, hr_tensor** out);
/* Describes the plan for the shapes that are bound now as JSON. */
HR_API hr_status* hr_call_describe(hr_call* call, hr_text** out);
/* Runs the call and waits for the end, within `limits` (NULL: none), as hr_call_run does, and
 * describes the run as JSON: its `begin` by the system's monotonic clock, in nanoseconds; the
 * `nanoseconds` from when it had its threads to its end, the number of `threads`, and its `steps`
 * in order. A step has its `node` and `kernel`, as hr_call_describe names them; `begin` and `end`
 * in nanoseconds of the run; `operations`, the multiplications and additions of products,
 * convolutions and recurrent layers as their sums say, whatever the algorithm (else 0), without
 * results that a pooling in the same step leaves out; the `bytes` of its operands; the `live_bytes`
 * of working memory that are in use; and `shares`, what each `thread` that took tasks of the step
 * did: from its first to its last task, and how long it was `busy` in them. Thread 0 runs the
 * steps. The part of a run that a device of a plugin runs is one step. Each step takes some hundred
 * nanoseconds longer than in hr_call_run. */
HR_API hr_status* hr_call_profile(hr_call* call, const hr_limits* limits, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_SESSION_H_ */
