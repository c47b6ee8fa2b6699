/* Custom operators: operators of the host, which graphs, gradients, files and plans treat like
 * built-in ones. Their kernels run on the CPU, also if the rest of a plan runs on another device.
 */
#ifndef HEADRACE_OPERATOR_H_
#define HEADRACE_OPERATOR_H_

#include "headrace/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A node of a custom operator, as the operator's functions see it. It is valid during the call of
 * such a function and on the calling thread only. Each of the calls below is allowed in some of the
 * functions, as the headings say. In others it fails, or returns HR_UNDEFINED, HR_NONE or 0. */
typedef struct hr_op hr_op;

/* A contiguous tensor in a kernel. An optional tensor that is omitted has the dtype HR_UNDEFINED
 * and NULL data. `data` may also be NULL if a dimension is 0. The library makes these structs;
 * later versions may add fields at the end. */
typedef struct hr_op_tensor {
  hr_dtype dtype;
  size_t rank;
  HR_ARRAY(rank) const int64_t* dims;
  HR_NULLABLE void* data;
} hr_op_tensor;

typedef struct hr_operator_attribute {
  size_t struct_size;
  const char* name;
  hr_attribute_kind kind; /* a number, a string or a list; tensors and graphs are not supported */
  int32_t required;       /* 1: every node must have it */
} hr_operator_attribute;

/* The functions may be called from any thread, several at a time. Each returns NULL, or a status of
 * hr_status_create. With such a status the library fails the call during which it called the
 * function, and adds the name of the node.
 *
 * `compute` may call the library, on the thread that it is called by and in its tasks
 * (hr_op_parallel_for), in which the following holds; it is the same for hr_limits.interrupted.
 *   - It may run other sessions of the env, whose operators may do the same. Such a run does not
 *     wait for threads: it has those of the run around it, and in a task the task's own thread.
 *   - With the session of a run around it, it may do what does not wait for that run. If that run
 *     only reads variables, these are runs and calls that read them. Others, and all of them if
 * that run writes variables (runs, getting and setting variables, saving, restoring, exporting),
 * fail at once with HR_FAILED_PRECONDITION.
 *   - hr_run_wait fails in the same way for a run of the env that has not ended, and so does the
 *     seventeenth run within each other.
 * The library does not see through waiting of other kinds: for a thread of the host, a queue or a
 * data set with prefetch, which may need the threads of the run that waits for them, or for a run
 * of a session in another thread, whose operator waits for this session. Limits end that. */
typedef struct hr_operator {
  size_t struct_size;
  const char* name;                 /* domain, dot and operator: "com.example.Swish" */
  int32_t version;                  /* of this definition; several may be added; 0 means 1 */
  int32_t min_inputs, max_inputs;   /* max -1: any number */
  int32_t min_outputs, max_outputs; /* max -1: any number */
  size_t attribute_count;
  HR_ARRAY(attribute_count) const hr_operator_attribute* attributes;
  void* context;
  void (*release)(void* context); /* called when the env is gone; may be NULL */
  /* Checks the types of the inputs and sets the types of all outputs. Called while a graph is
   * built, when dimensions may be unknown, and for each plan, when all dimensions are known. */
  HR_CALLED_BY(any) hr_status* (*infer)(void* context, hr_op* op);
  /* Computes the outputs. They must depend on the inputs and attributes only, because the library
   * may merge equal nodes and compute nodes with constant inputs once. */
  HR_CALLED_BY(run) hr_status* (*compute)(void* context, hr_op* op);
  /* Adds the nodes that compute the gradients of the inputs. NULL: gradients stop at this node. */
  HR_NULLABLE HR_CALLED_BY(caller) hr_status* (*gradient)(void* context, hr_op* op);
} hr_operator;

/* Adds an operator to the env. Must be called before the env's first model; afterwards the call
 * fails with HR_FAILED_PRECONDITION. Files contain only the name and version of an operator, so a
 * program must add the operator before it loads a file that uses it. */
HR_API hr_status* hr_env_add_operator(hr_env* env, const hr_operator* op);

/* ---- In every function ---- */

HR_API size_t hr_op_input_count(const hr_op* op);
HR_API size_t hr_op_output_count(const hr_op* op);
/* Return an attribute of the node. If the node does not have it, the result is `fallback` (of a
 * string it may be NULL), or a list of 0 values. Lists and strings live as long as `op`. */
HR_API int64_t hr_op_int(const hr_op* op, const char* name, int64_t fallback);
HR_API double hr_op_float(const hr_op* op, const char* name, double fallback);
HR_API HR_OR_NULL const char* hr_op_string(const hr_op* op, const char* name,
                                           HR_NULLABLE const char* fallback);
HR_API size_t hr_op_ints(const hr_op* op, const char* name,
                         HR_ARRAY(result) const int64_t** out_values);
HR_API size_t hr_op_floats(const hr_op* op, const char* name,
                           HR_ARRAY(result) const double** out_values);

/* ---- In infer ---- */

/* Returns the type of an input; HR_UNDEFINED if the optional input is omitted. *out_rank is -1 if
 * the rank is unknown; a dimension in *out_dims is -1 if it is unknown. `out_rank` and `out_dims`
 * may be NULL. */
HR_API hr_dtype hr_op_input_type(hr_op* op, size_t input, HR_NULLABLE int32_t* out_rank,
                                 HR_NULLABLE HR_ARRAY(out_rank) const int64_t** out_dims);
/* Sets the type of an output. rank -1: unknown; a dimension of -1: unknown. */
HR_API hr_status* hr_op_set_output(hr_op* op, size_t output, hr_dtype dtype, int32_t rank,
                                   HR_ARRAY(rank) const int64_t* dims);
/* Sets the type of an output to that of an input, including the names of its dimensions. */
HR_API hr_status* hr_op_set_output_like(hr_op* op, size_t output, size_t input);

/* ---- In compute ---- */

/* Return an input and an output; NULL if the node does not have it. An output's memory is to be
 * written, an input's must not be. */
HR_API HR_OR_NULL const hr_op_tensor* hr_op_input_tensor(const hr_op* op, size_t input);
HR_API HR_OR_NULL const hr_op_tensor* hr_op_output_tensor(const hr_op* op, size_t output);

/* Calls fn(fn_context, task) once for each task in [0, tasks) on the threads of this run, and
 * returns when all calls have returned. */
HR_API HR_BLOCKS void hr_op_parallel_for(hr_op* op, int32_t tasks,
                                         HR_CALLED_BY(run) void (*fn)(void* fn_context, int task),
                                         void* fn_context);

/* ---- In gradient ---- */

/* Return an input, an output, and the gradient of an output. The result is HR_NONE if the node does
 * not have the input or output, or if nothing depends on the output whose gradient is asked for. */
HR_API hr_value hr_op_input(const hr_op* op, size_t input);
HR_API hr_value hr_op_output(const hr_op* op, size_t output);
HR_API hr_value hr_op_output_gradient(const hr_op* op, size_t output);
/* Returns 1 if the gradient of this input is needed, else 0. */
HR_API int hr_op_wants_gradient(const hr_op* op, size_t input);
/* Adds a node as hr_graph_op does, with the newest version of the operator. `attributes` may be
 * NULL. */
HR_API hr_status* hr_op_add(hr_op* op, const char* name, HR_NULLABLE const char* attributes,
                            size_t input_count, HR_ARRAY(input_count) const hr_value* inputs,
                            size_t output_count, HR_ARRAY(output_count) hr_value* outputs);
/* Adds a constant scalar of the floating-point type of `like`. */
HR_API hr_status* hr_op_scalar(hr_op* op, double value, hr_value like, hr_value* out);
/* Sets the gradient of an input. It must have the shape of the input. */
HR_API hr_status* hr_op_set_gradient(hr_op* op, size_t input, hr_value gradient);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_OPERATOR_H_ */
