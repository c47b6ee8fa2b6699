/* Building, reading and changing graphs. The types of a node's outputs are inferred and checked
 * when it is added. hr_graph_from_model (headrace/model.h) goes on from a model. */
#ifndef HEADRACE_GRAPH_H_
#define HEADRACE_GRAPH_H_

#include "headrace/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph under construction. Used by one thread at a time: a call on a graph that another call is
 * using fails with HR_FAILED_PRECONDITION, whether it changes or only reads the graph, and also if
 * a custom operator makes it while hr_graph_op is adding a node of that operator. Whoever releases
 * a graph must know that no call is using it. A call that fails leaves the graph as it was. */
typedef struct hr_graph hr_graph;
/* Values, nodes and variables are numbers that are valid in their own graph only. They stay valid
 * until hr_graph_prune. */
typedef uint32_t hr_value;
typedef uint32_t hr_node;
typedef uint32_t hr_variable;
/* Stands for an optional input that is omitted, and for a gradient that does not exist. */
#define HR_NONE UINT32_MAX

HR_API hr_status* hr_graph_create(hr_env* env, hr_graph** out);
HR_API void hr_graph_release(hr_graph* graph);

/* Adds an input named `name`. A dimension of -1 is unknown until a run. `symbols` is NULL or has an
 * entry for each dimension: the name of an unknown dimension, or NULL. Dimensions with equal names
 * have equal sizes. */
HR_API hr_status* hr_graph_input(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank,
                                 HR_ARRAY(rank) const int64_t* dims,
                                 HR_NULLABLE HR_ARRAY(rank) HR_HOLES const char* const* symbols,
                                 hr_value* out);
/* Sets the bounds and buckets of a dimension that an input has named; HR_NOT_FOUND if there is no
 * such name. max -1: no upper bound. The buckets must ascend. A later call replaces bounds and
 * buckets.
 *
 * Runs check the bounds. All sizes that have the same smallest bucket share one plan, whose memory
 * is for the size of the bucket; sizes beyond the last bucket share a plan for `max`. Nothing is
 * padded. */
HR_API hr_status* hr_graph_bound(hr_graph* graph, const char* symbol, int64_t min, int64_t max,
                                 size_t bucket_count,
                                 HR_ARRAY(bucket_count) const int64_t* buckets);
/* Adds a constant. If `name` is NULL, the graph makes a name. The graph shares the tensor's memory,
 * so the contents must not be changed any more. */
HR_API hr_status* hr_graph_constant(hr_graph* graph, HR_NULLABLE const char* name,
                                    const hr_tensor* tensor, hr_value* out);

/* Adds a variable with the initial value `initial`. Training updates it if `trainable` is not 0.
 * The graph shares the tensor's memory, so the contents must not be changed any more. */
HR_API hr_status* hr_graph_variable(hr_graph* graph, const char* name, const hr_tensor* initial,
                                    int trainable, hr_variable* out);
/* Adds a variable whose initial value is the output of the operator `op`, such as "RandomUniform"
 * with the attributes "low=-0.1 high=0.1"; the call adds the attributes for shape and dtype. The
 * seed of a session decides random values. `attributes` may be NULL. */
HR_API hr_status* hr_graph_variable_init(hr_graph* graph, const char* name, hr_dtype dtype,
                                         size_t rank, HR_ARRAY(rank) const int64_t* dims,
                                         int trainable, const char* op,
                                         HR_NULLABLE const char* attributes, hr_variable* out);
/* Adds a read of the variable. Its value is the one at this place in program order: after the last
 * node added so far that writes the variable, or at the start of the step if there is none. */
HR_API hr_status* hr_graph_read(hr_graph* graph, hr_variable variable, hr_value* out);

/* Add an assignment: the variable becomes `value`, or `value` is added to it. The type of `value`
 * must be the variable's. The assignment comes after all nodes so far that write the variable, and
 * after reads that follow such a node; reads that are added later give what it leaves. It happens
 * in runs that need its node: make that a target of a signature, or fetch such a later read. */
HR_API hr_status* hr_graph_assign(hr_graph* graph, hr_variable variable, hr_value value,
                                  hr_node* out);
HR_API hr_status* hr_graph_assign_add(hr_graph* graph, hr_variable variable, hr_value value,
                                      hr_node* out);

/* Freezes a variable (0) or makes it trainable (any other number). It counts for the calls that
 * follow: hr_graph_minimize leaves frozen variables alone and hr_graph_apply_gradients refuses
 * them. Updates that were added before stay. */
HR_API hr_status* hr_graph_set_trainable(hr_graph* graph, hr_variable variable, int trainable);

/* Adds a node. `op` is an ONNX operator ("Conv"), or an operator after its domain and a dot
 * ("headrace.train.SGD"). It may end in a version ("Softmax@13"); otherwise it is the newest one
 * that the library knows. `attributes` is NULL or a text such as
 * "kernel_shape=5,5 strides=1,1 auto_pad=SAME_UPPER": spaces separate attributes, commas separate
 * elements, and strings with spaces are in double quotes. Optional outputs beyond `output_count`
 * are not computed. */
HR_API hr_status* hr_graph_op(hr_graph* graph, const char* op, HR_NULLABLE const char* attributes,
                              size_t input_count, HR_ARRAY(input_count) const hr_value* inputs,
                              size_t output_count, HR_ARRAY(output_count) hr_value* outputs);

/* Sets the device ("TOY:0") of nodes that are added from now on and whose spec names none. If
 * `device` is NULL or "", the session chooses. Gradients run on the device of the node that they
 * belong to, updates on the device of their variable. If a session has no such device, creating it
 * fails. */
HR_API hr_status* hr_graph_device(hr_graph* graph, HR_NULLABLE const char* device);

/* The description of a node, for everything that hr_graph_op cannot express: names, devices,
 * control inputs, tensors. Used by one thread at a time. */
typedef struct hr_node_spec hr_node_spec;
HR_API hr_status* hr_node_spec_create(const char* op, hr_node_spec** out);
HR_API void hr_node_spec_release(hr_node_spec* spec);
HR_API void hr_node_spec_name(hr_node_spec* spec, const char* name);
HR_API void hr_node_spec_device(hr_node_spec* spec, const char* device);
/* Adds the next input; HR_NONE for an optional input that is omitted. */
HR_API void hr_node_spec_input(hr_node_spec* spec, hr_value value);
/* Makes the node run after `node`. */
HR_API void hr_node_spec_control(hr_node_spec* spec, hr_node node);
HR_API void hr_node_spec_int(hr_node_spec* spec, const char* name, int64_t value);
HR_API void hr_node_spec_float(hr_node_spec* spec, const char* name, double value);
HR_API void hr_node_spec_string(hr_node_spec* spec, const char* name, const char* value);
HR_API void hr_node_spec_ints(hr_node_spec* spec, const char* name, size_t count,
                              HR_ARRAY(count) const int64_t* values);
HR_API void hr_node_spec_floats(hr_node_spec* spec, const char* name, size_t count,
                                HR_ARRAY(count) const double* values);
HR_API void hr_node_spec_strings(hr_node_spec* spec, const char* name, size_t count,
                                 HR_ARRAY(count) const char* const* values);
/* The spec shares the tensor's memory, so the contents must not be changed any more. */
HR_API void hr_node_spec_tensor(hr_node_spec* spec, const char* name, const hr_tensor* value);
/* Adds the node that `spec` describes. The spec may be used again. `out_node` may be NULL. */
HR_API hr_status* hr_graph_add(hr_graph* graph, const hr_node_spec* spec, size_t output_count,
                               HR_ARRAY(output_count) hr_value* outputs,
                               HR_NULLABLE hr_node* out_node);

/* Lets all that uses `from` use `to` instead: nodes, but for those that compute `to`, and outputs
 * of signatures. An input of a signature that nothing uses any more is gone from it. This is how a
 * head of a model is exchanged, or an input given by the graph itself. HR_INVALID_ARGUMENT if the
 * types do not fit. */
HR_API hr_status* hr_graph_replace(hr_graph* graph, hr_value from, hr_value to);

HR_API hr_status* hr_graph_name_value(hr_graph* graph, hr_value value, const char* name);

/* ---- Layers ----
 *
 * Layers add variables named "<name>/..." and the nodes that use them. If variables of these names
 * exist already, the layer uses them, so that a training and an inference path of one name share
 * their weights; HR_ALREADY_EXISTS if their types are not what the layer needs. A layer uses the
 * values that its variables have at the start of the step, so it does not matter whether a path
 * comes before or after hr_graph_minimize. */

/* A fully connected layer with the variables "weight" and "bias", which have PyTorch's default
 * initial values (uniform in +-1 / sqrt(fan in)). `x` is flattened to [N, features]. */
HR_API hr_status* hr_graph_dense(hr_graph* graph, const char* name, hr_value x, int64_t units,
                                 hr_value* out);
/* A layer of two-dimensional convolution with "weight" and "bias", as hr_graph_dense. x: [N, C, H,
 * W]. `attributes` are those of Conv, such as "strides=2,2", or NULL. */
HR_API hr_status* hr_graph_conv2d(hr_graph* graph, const char* name, hr_value x, int64_t channels,
                                  int64_t kernel, HR_NULLABLE const char* attributes,
                                  hr_value* out);
/* A layer that normalizes x: [N, C, ...] over all dimensions but dimension 1, which must be known.
 * out = scale * (x - mean) / sqrt(variance + epsilon) + bias. The variables "scale" (1 at first)
 * and "bias" (0) are trained; "mean" (0) and "variance" (1) are running statistics, which are not
 * trainable. All are of the type of `x`, [C]. `attributes` is a text such as "epsilon=1e-5
 * momentum=0.1", or NULL, which means just these; the numbers have PyTorch's meaning, so momentum
 * is the share of the new value.
 *
 * If `training` is 0, x is normalized by the running statistics, and *out_update is HR_NONE
 * (`out_update` may then be NULL). Otherwise it is normalized by its own mean and population
 * variance, and *out_update is a node that makes each running statistic
 * (1 - momentum) * running + momentum * that of x, with the unbiased variance of x (0 if there is
 * one value a channel). Make it a target of the training signature. */
HR_API hr_status* hr_graph_batch_norm(hr_graph* graph, const char* name, hr_value x, int training,
                                      HR_NULLABLE const char* attributes, hr_value* out,
                                      HR_NULLABLE hr_node* out_update);

/* ---- Training ---- */

/* Adds nodes that compute the gradient of the sum of `y` with respect to each of `xs`. A gradient
 * is HR_NONE if `y` does not depend on that x. */
HR_API hr_status* hr_graph_add_gradients(hr_graph* graph, hr_value y, size_t count,
                                         HR_ARRAY(count) const hr_value* xs,
                                         HR_ARRAY(count) hr_value* out_gradients);

/* Adds nodes that compute the gradient of the scalar `loss` with respect to each of `variables`,
 * the sum over all the reads so far through which the loss depends on it. A gradient is HR_NONE if
 * the loss does not depend on the variable. Frozen variables have gradients, too. The gradients are
 * values as any: clip, log or accumulate them before hr_graph_apply_gradients. */
HR_API hr_status* hr_graph_variable_gradients(hr_graph* graph, hr_value loss, size_t count,
                                              HR_ARRAY(count) const hr_variable* variables,
                                              HR_ARRAY(count) hr_value* out_gradients);
/* Adds an update of each of `variables` by its gradient, which becomes a target of the signature
 * `signature`. A variable whose gradient is HR_NONE is left alone; HR_FAILED_PRECONDITION if all
 * are, or if a variable is frozen. `optimizer` is the name of one of those that docs/operators.md
 * lists (headrace.train), with any of its settings, such as "sgd momentum=0.9 weight_decay=1e-4
 * nesterov=1" or "adam beta1=0.9 beta2=0.999 epsilon=1e-8 weight_decay=0.01 decoupled=1"; the
 * numbers have PyTorch's meaning. `learning_rate` is a scalar of float32 or float64, whatever the
 * types of the variables. Each update converts it to the type that it computes in: float64 for a
 * variable of float64, else float32.
 *
 * Groups of variables may have their own optimizers and learning rates, each with a call for the
 * same signature; HR_ALREADY_EXISTS if the signature updates a variable already.
 *
 * For any optimizer the settings may also have clip_value, clip_norm and clip_global_norm (see
 * hr_graph_clip_gradients), accumulate=N, which updates in each N-th run of the signature by the
 * mean of the N runs' gradients, and average=DECAY, which keeps moving averages of the variables
 * (headrace/training_graph.h). Gradients are accumulated first and then clipped.
 *
 * Several signatures may train the same variables, each with its own loss or optimizer. Running one
 * does not run the updates of another. The state of an optimizer is a variable named
 * "<variable>/momentum" and so on, or "<variable>/<signature>/momentum" if that name is taken. Read
 * the variables for all losses before the first of these calls, because a read after it gives the
 * updated value. An update comes after what the gradients, and the signature's outputs and targets
 * so far, do with its variable. */
HR_API hr_status* hr_graph_apply_gradients(hr_graph* graph, const char* signature,
                                           const char* optimizer, hr_value learning_rate,
                                           size_t count,
                                           HR_ARRAY(count) const hr_variable* variables,
                                           HR_ARRAY(count) const hr_value* gradients);
/* Calls hr_graph_variable_gradients for all trainable variables and hr_graph_apply_gradients with
 * the results: the nodes, the names and the bits of a training are those of these two. The updates
 * also come after what `loss` does with their variables. HR_FAILED_PRECONDITION if it depends on no
 * trainable variable. */
HR_API hr_status* hr_graph_minimize(hr_graph* graph, const char* signature, hr_value loss,
                                    const char* optimizer, hr_value learning_rate);

/* ---- Signatures ---- */

/* Add an entry to a signature. The first entry creates the signature. */
HR_API hr_status* hr_graph_signature_input(hr_graph* graph, const char* signature, const char* name,
                                           hr_value value);
HR_API hr_status* hr_graph_signature_output(hr_graph* graph, const char* signature,
                                            const char* name, hr_value value);
HR_API hr_status* hr_graph_signature_target(hr_graph* graph, const char* signature, hr_node node);

/* Removes a signature; HR_NOT_FOUND if there is none of that name. What only this signature needed
 * stays in the graph, and later reads still come after its updates, until hr_graph_prune. */
HR_API hr_status* hr_graph_remove_signature(hr_graph* graph, const char* signature);
/* Removes all that no signature needs: nodes, inputs, constants and variables. Values, nodes and
 * variables get new numbers, so look for them by name afterwards. Prune a graph before you go on
 * from it, to be rid of the updates of signatures that were removed, or before it is saved or made
 * a model of. */
HR_API hr_status* hr_graph_prune(hr_graph* graph);

HR_API hr_status* hr_graph_set_metadata(hr_graph* graph, const char* key, const char* value);

typedef struct hr_save_options {
  size_t struct_size;
  int32_t strip_names; /* 1: omit the names of nodes and values; messages then use numbers */
  /* The file for the tensors, relative to the graph's file. NULL: the same. */
  HR_NULLABLE const char* side_file;
  /* 1: add low-rank adapters (hr_graph_add_lora) to their weights, and leave them out.
   * HR_FAILED_PRECONDITION if something else uses such a weight. A graph can only do it with
   * adapters that it has loaded, a session (hr_session_export) with all. */
  int32_t merge_adapters;
} hr_save_options;

/* Writes the graph as it is now to a .hrg file. If the call fails, `path` is as it was. `options`
 * may be NULL, which means defaults. */
HR_API hr_status* hr_graph_save(const hr_graph* graph, const char* path,
                                HR_NULLABLE const hr_save_options* options);

/* ---- Reading ----
 *
 * A graph can be read at any time, also while it is built. Its values, nodes, variables and
 * signatures have the numbers from 0 to their count - 1. Pointers that these calls give live until
 * the graph is released or is given to a call that may change it (one that takes it without const).
 * Names are "" if there is none, as in a file that was saved without names. The caller sets the
 * struct_size of a struct to its sizeof; the library fills in what fits and sets struct_size to the
 * bytes that it has filled in. HR_INVALID_ARGUMENT: the graph has no such number. */

typedef struct hr_graph_info {
  size_t struct_size;
  size_t value_count;
  size_t node_count;
  size_t variable_count;
  size_t signature_count;
  size_t input_count;
  HR_ARRAY(input_count) const hr_value* inputs; /* in the order in which they were added */
} hr_graph_info;

typedef struct hr_value_info {
  size_t struct_size;
  const char* name;
  hr_dtype dtype;
  int32_t rank;                       /* -1: unknown */
  HR_ARRAY(rank) const int64_t* dims; /* -1: unknown until a run */
  HR_ARRAY(rank)
  HR_HOLES const char* const* symbols; /* the name of an unknown dimension, or NULL */
  hr_node producer;    /* the node that computes it; HR_NONE for inputs and constants */
  int32_t is_constant; /* 1: hr_graph_value_tensor gives the contents */
} hr_value_info;

typedef struct hr_node_info {
  size_t struct_size;
  const char* name;
  const char* op;     /* "Conv", "headrace.train.SGD" */
  int32_t version;    /* of the operator */
  const char* device; /* "": the session chooses */
  size_t input_count;
  HR_ARRAY(input_count) const hr_value* inputs; /* HR_NONE for an optional input that is omitted */
  size_t output_count;
  HR_ARRAY(output_count) const hr_value* outputs; /* HR_NONE for an output that is not computed */
  size_t control_count;
  HR_ARRAY(control_count) const hr_node* controls; /* the nodes that it runs after */
  size_t attribute_count;
} hr_node_info;

typedef struct hr_variable_info {
  size_t struct_size;
  const char* name;
  hr_dtype dtype;
  int32_t rank;
  HR_ARRAY(rank) const int64_t* dims;
  int32_t trainable;
} hr_variable_info;

typedef struct hr_signature_info {
  size_t struct_size;
  const char* name;
  size_t input_count;
  HR_ARRAY(input_count) const char* const* input_names;
  HR_ARRAY(input_count) const hr_value* inputs;
  size_t output_count;
  HR_ARRAY(output_count) const char* const* output_names;
  HR_ARRAY(output_count) const hr_value* outputs;
  size_t target_count;
  HR_ARRAY(target_count) const hr_node* targets;
} hr_signature_info;

typedef struct hr_attribute_info {
  size_t struct_size;
  const char* name;
  hr_attribute_kind kind;
} hr_attribute_info;

HR_API hr_status* hr_graph_get(const hr_graph* graph, hr_graph_info* out);
HR_API hr_status* hr_graph_get_value(const hr_graph* graph, hr_value value, hr_value_info* out);
HR_API hr_status* hr_graph_get_node(const hr_graph* graph, hr_node node, hr_node_info* out);
HR_API hr_status* hr_graph_get_variable(const hr_graph* graph, hr_variable variable,
                                        hr_variable_info* out);
HR_API hr_status* hr_graph_get_signature(const hr_graph* graph, size_t index,
                                         hr_signature_info* out);
HR_API hr_status* hr_graph_get_attribute(const hr_graph* graph, hr_node node, size_t index,
                                         hr_attribute_info* out);

/* Find the number of what has the name. HR_NOT_FOUND, with the name that is nearest, if nothing
 * has. */
HR_API hr_status* hr_graph_find_value(const hr_graph* graph, const char* name, hr_value* out);
HR_API hr_status* hr_graph_find_node(const hr_graph* graph, const char* name, hr_node* out);
HR_API hr_status* hr_graph_find_variable(const hr_graph* graph, const char* name, hr_variable* out);
HR_API hr_status* hr_graph_find_signature(const hr_graph* graph, const char* name, size_t* out);

/* Give an attribute of a node. If the node does not have it, the result is `fallback` (of a string
 * it may be NULL), a list of 0 values, or no tensor, which is NULL. HR_INVALID_ARGUMENT if it is of
 * another kind. An operator of headrace.state or headrace.train names its variables by integers:
 * "variable" is an hr_variable. */
HR_API hr_status* hr_graph_node_int(const hr_graph* graph, hr_node node, const char* name,
                                    int64_t fallback, int64_t* out);
HR_API hr_status* hr_graph_node_float(const hr_graph* graph, hr_node node, const char* name,
                                      double fallback, double* out);
HR_API hr_status* hr_graph_node_string(const hr_graph* graph, hr_node node, const char* name,
                                       HR_NULLABLE const char* fallback,
                                       HR_OR_NULL const char** out);
HR_API hr_status* hr_graph_node_ints(const hr_graph* graph, hr_node node, const char* name,
                                     size_t* out_count,
                                     HR_ARRAY(out_count) const int64_t** out_values);
HR_API hr_status* hr_graph_node_floats(const hr_graph* graph, hr_node node, const char* name,
                                       size_t* out_count,
                                       HR_ARRAY(out_count) const double** out_values);
HR_API hr_status* hr_graph_node_strings(const hr_graph* graph, hr_node node, const char* name,
                                        size_t* out_count,
                                        HR_ARRAY(out_count) const char* const** out_values);
HR_API hr_status* hr_graph_node_tensor(const hr_graph* graph, hr_node node, const char* name,
                                       HR_OR_NULL hr_tensor** out);

/* Make a tensor of the contents of a constant and of the initial value of a variable; NULL if the
 * value is no constant, or if an operator makes the initial value. The tensor shares the memory of
 * the graph, or of the file that the graph came from, so its contents must not be changed. */
HR_API hr_status* hr_graph_value_tensor(const hr_graph* graph, hr_value value,
                                        HR_OR_NULL hr_tensor** out);
HR_API hr_status* hr_graph_variable_tensor(const hr_graph* graph, hr_variable variable,
                                           HR_OR_NULL hr_tensor** out);

/* Writes the type of a value as text, such as "float32[batch, 10]". */
HR_API hr_status* hr_graph_type_of(const hr_graph* graph, hr_value value, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_GRAPH_H_ */
