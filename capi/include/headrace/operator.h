/* Custom operators: a host's own, which graphs, gradients, files and plans treat like built-in
 * ones. The kernel runs on the CPU; on another device's plan the operator falls back to it. */
#ifndef HEADRACE_OPERATOR_H_
#define HEADRACE_OPERATOR_H_

#include "headrace/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A node of a custom operator as the operator's functions see it: valid during their call, on the
 * thread that made it. Which of the calls below are allowed depends on the function; the others
 * fail, or return what stands for nothing. */
typedef struct hr_op hr_op;

/* A contiguous tensor in a kernel. An omitted optional one has dtype HR_UNDEFINED and data NULL;
 * data may be NULL, too, where a dimension is 0. */
typedef struct hr_op_tensor {
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims; /* [rank] */
  void* data;
} hr_op_tensor;

typedef struct hr_attribute {
  const char* name;
  hr_attribute_kind kind; /* numbers, strings and lists of them; no tensor, no graph */
  int32_t required;
} hr_attribute;

/* The functions may be called from any thread and at once. Each returns NULL or a status of
 * hr_status_create, which becomes the failure of whoever called, with the node's name. */
typedef struct hr_operator {
  size_t struct_size;
  const char* name;                 /* with a domain before the last dot: "com.example.Swish" */
  int32_t version;                  /* of the definition; several may be added; 0: 1 */
  int32_t min_inputs, max_inputs;   /* max -1: any number */
  int32_t min_outputs, max_outputs; /* max -1: any number */
  size_t attribute_count;
  const hr_attribute* attributes;
  void* context;
  void (*release)(void* context); /* when the env is gone; or NULL */
  /* Checks the inputs' types and sets those of all outputs. Called while a graph is built, with
   * what is known by then, and for each plan with every dimension known. */
  hr_status* (*infer)(void* context, hr_op* op);
  /* Computes the outputs from the inputs and attributes alone: equal nodes may be merged, and those
   * of constants computed once. `inputs` and `outputs` have an entry for each of the node's. */
  hr_status* (*compute)(void* context, hr_op* op, const hr_op_tensor* inputs,
                        const hr_op_tensor* outputs);
  /* Adds the nodes that compute the gradients of the inputs. NULL: gradients stop here. */
  hr_status* (*gradient)(void* context, hr_op* op);
} hr_operator;

/* Adds an operator to the env, before its first model (HR_FAILED_PRECONDITION after).
 * Files hold operators by name and version only: whoever loads one must have added the same. */
HR_API hr_status* hr_env_add_operator(hr_env* env, const hr_operator* op);

/* ---- In every function ---- */

HR_API size_t hr_op_input_count(const hr_op* op);
HR_API size_t hr_op_output_count(const hr_op* op);
/* Attributes of the node; `fallback`, or 0 values, where it does not have them. */
HR_API int64_t hr_op_int(const hr_op* op, const char* name, int64_t fallback);
HR_API double hr_op_float(const hr_op* op, const char* name, double fallback);
HR_API const char* hr_op_string(const hr_op* op, const char* name, const char* fallback);
HR_API size_t hr_op_ints(const hr_op* op, const char* name, const int64_t** out_values);
HR_API size_t hr_op_floats(const hr_op* op, const char* name, const double** out_values);

/* ---- In infer ---- */

/* HR_UNDEFINED where an optional input is omitted. The rank is -1 where it is not known, and so are
 * single dimensions. The arguments that return may be NULL. */
HR_API hr_dtype hr_op_input_type(hr_op* op, size_t input, int32_t* out_rank,
                                 const int64_t** out_dims);
HR_API hr_status* hr_op_set_output(hr_op* op, size_t output, hr_dtype dtype, int32_t rank,
                                   const int64_t* dims);
/* The type of an input, with the names of its dimensions. */
HR_API hr_status* hr_op_set_output_like(hr_op* op, size_t output, size_t input);

/* ---- In compute ---- */

/* Calls fn(fn_context, task) once for each task in [0, tasks) on the threads of this run and
 * returns when all are done. */
HR_API void hr_op_parallel_for(hr_op* op, int32_t tasks, void (*fn)(void* fn_context, int task),
                               void* fn_context);

/* ---- In gradient ---- */

/* HR_NONE where the node does not have it; of a gradient: where nothing depends on the output. */
HR_API hr_value hr_op_input(const hr_op* op, size_t input);
HR_API hr_value hr_op_output(const hr_op* op, size_t output);
HR_API hr_value hr_op_output_gradient(const hr_op* op, size_t output);
/* Whether anybody wants the gradient of this input. */
HR_API int hr_op_wants_gradient(const hr_op* op, size_t input);
/* As hr_graph_op, with the newest version of the operator. */
HR_API hr_status* hr_op_add(hr_op* op, const char* name, const char* attributes, size_t input_count,
                            const hr_value* inputs, size_t output_count, hr_value* outputs);
/* A constant scalar of the floating type of `like`. */
HR_API hr_status* hr_op_scalar(hr_op* op, double value, hr_value like, hr_value* out);
/* The gradient of an input: of its shape. */
HR_API hr_status* hr_op_set_gradient(hr_op* op, size_t input, hr_value gradient);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_OPERATOR_H_ */
