/* Building graphs. The types of a node's outputs are inferred and checked when it is added. */
#ifndef HEADRACE_GRAPH_H_
#define HEADRACE_GRAPH_H_

#include "headrace/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph under construction. Used by one thread at a time. */
typedef struct hr_graph hr_graph;
/* Values, nodes and variables are numbers that are valid in their own graph only. */
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
                                 const int64_t* dims, const char* const* symbols, hr_value* out);
/* Sets the bounds and buckets of a dimension that an input has named; HR_NOT_FOUND if there is no
 * such name. max -1: no upper bound. The buckets must ascend. A later call replaces bounds and
 * buckets.
 *
 * Runs check the bounds. All sizes that have the same smallest bucket share one plan, whose memory
 * is for the size of the bucket; sizes beyond the last bucket share a plan for `max`. Nothing is
 * padded. */
HR_API hr_status* hr_graph_bound(hr_graph* graph, const char* symbol, int64_t min, int64_t max,
                                 size_t bucket_count, const int64_t* buckets);
/* Adds a constant. If `name` is NULL, the graph makes a name. The graph shares the tensor's memory,
 * so the contents must not be changed any more. */
HR_API hr_status* hr_graph_constant(hr_graph* graph, const char* name, const hr_tensor* tensor,
                                    hr_value* out);

/* Adds a variable with the initial value `initial`. Training updates it if `trainable` is not 0. */
HR_API hr_status* hr_graph_variable(hr_graph* graph, const char* name, const hr_tensor* initial,
                                    int trainable, hr_variable* out);
/* Adds a variable whose initial value is the output of the operator `op`, such as "RandomUniform"
 * with the attributes "low=-0.1 high=0.1"; the call adds the attributes for shape and dtype. The
 * seed of a session decides random values. `attributes` may be NULL. */
HR_API hr_status* hr_graph_variable_init(hr_graph* graph, const char* name, hr_dtype dtype,
                                         size_t rank, const int64_t* dims, int trainable,
                                         const char* op, const char* attributes, hr_variable* out);
/* Adds a read of the variable. Its value is the one at this place in program order: after the last
 * node added so far that writes the variable, or at the start of the step if there is none. */
HR_API hr_status* hr_graph_read(hr_graph* graph, hr_variable variable, hr_value* out);

/* Adds a node. `op` is an ONNX operator ("Conv"), or an operator after its domain and a dot
 * ("headrace.train.SGD"). It may end in a version ("Softmax@13"); otherwise it is the newest one
 * that the library knows. `attributes` is NULL or a text such as
 * "kernel_shape=5,5 strides=1,1 auto_pad=SAME_UPPER": spaces separate attributes, commas separate
 * elements, and strings with spaces are in double quotes. Optional outputs beyond `output_count`
 * are not computed. */
HR_API hr_status* hr_graph_op(hr_graph* graph, const char* op, const char* attributes,
                              size_t input_count, const hr_value* inputs, size_t output_count,
                              hr_value* outputs);

/* Sets the device ("TOY:0") of nodes that are added from now on and whose spec names none. NULL or
 * "": the session chooses. Gradients run on the device of the node that they belong to, updates on
 * the device of their variable. If a session has no such device, creating it fails. */
HR_API hr_status* hr_graph_device(hr_graph* graph, const char* device);

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
                              const int64_t* values);
HR_API void hr_node_spec_floats(hr_node_spec* spec, const char* name, size_t count,
                                const double* values);
HR_API void hr_node_spec_strings(hr_node_spec* spec, const char* name, size_t count,
                                 const char* const* values);
/* The spec shares the tensor's memory, so the contents must not be changed any more. */
HR_API void hr_node_spec_tensor(hr_node_spec* spec, const char* name, const hr_tensor* value);
/* Adds the node that `spec` describes. The spec may be used again. `out_node` may be NULL. */
HR_API hr_status* hr_graph_add(hr_graph* graph, const hr_node_spec* spec, size_t output_count,
                               hr_value* outputs, hr_node* out_node);

/* Returns the node that computes a value; HR_NONE for inputs and constants. */
HR_API hr_node hr_graph_producer(const hr_graph* graph, hr_value value);
HR_API hr_status* hr_graph_name_value(hr_graph* graph, hr_value value, const char* name);
/* Writes the type of a value, such as "float32[batch, 10]". */
HR_API hr_status* hr_graph_type_of(const hr_graph* graph, hr_value value, hr_text** out);

/* Adds nodes that compute the gradient of the sum of `y` with respect to each of `xs`. A gradient
 * is HR_NONE if `y` does not depend on that x. A call that fails leaves the graph as it was. */
HR_API hr_status* hr_graph_add_gradients(hr_graph* graph, hr_value y, size_t count,
                                         const hr_value* xs, hr_value* out_gradients);

/* A fully connected layer. The layers add variables named "<name>/weight" and "<name>/bias", with
 * PyTorch's default initial values (uniform in +-1 / sqrt(fan in)), and the nodes that use them. */
HR_API hr_status* hr_graph_dense(hr_graph* graph, const char* name, hr_value x, int64_t units,
                                 hr_value* out);
/* A layer of two-dimensional convolution. x: [N, C, H, W]. `attributes` are those of Conv, such as
 * "strides=2,2", or NULL. */
HR_API hr_status* hr_graph_conv2d(hr_graph* graph, const char* name, hr_value x, int64_t channels,
                                  int64_t kernel, const char* attributes, hr_value* out);

/* Adds the gradients of the scalar `loss` for every trainable variable that it depends on, and for
 * each of these variables an update, which becomes a target of the signature `signature`.
 * `optimizer` is the name of one of those that docs/operators.md lists (headrace.train), with any
 * of its settings, such as "sgd momentum=0.9 weight_decay=1e-4 nesterov=1" or "adam beta1=0.9
 * beta2=0.999 epsilon=1e-8 weight_decay=0.01 decoupled=1"; the numbers have PyTorch's meaning.
 * `learning_rate` is a scalar of the variables' type. A call that fails leaves the graph as it was.
 *
 * Several signatures may train the same variables, each with its own loss or optimizer. Running one
 * does not run the updates of another. The state of an optimizer is a variable named
 * "<variable>/momentum" and so on, or "<variable>/<signature>/momentum" if an earlier signature has
 * taken that name. Read the variables for all losses before the first of these calls, because a
 * read after it gives the updated value. */
HR_API hr_status* hr_graph_minimize(hr_graph* graph, const char* signature, hr_value loss,
                                    const char* optimizer, hr_value learning_rate);

/* Add an entry to a signature. The first entry creates the signature. */
HR_API hr_status* hr_graph_signature_input(hr_graph* graph, const char* signature, const char* name,
                                           hr_value value);
HR_API hr_status* hr_graph_signature_output(hr_graph* graph, const char* signature,
                                            const char* name, hr_value value);
HR_API hr_status* hr_graph_signature_target(hr_graph* graph, const char* signature, hr_node node);

HR_API hr_status* hr_graph_set_metadata(hr_graph* graph, const char* key, const char* value);

typedef struct hr_save_options {
  size_t struct_size;
  int32_t strip_names; /* 1: omit the names of nodes and values; messages then use numbers */
  const char*
      side_file; /* the file for the tensors, relative to the graph's file; NULL: the same */
} hr_save_options;

/* Writes the graph as it is now to a .hrg file. If the call fails, `path` is as it was. `options`
 * may be NULL, which means defaults. */
HR_API hr_status* hr_graph_save(const hr_graph* graph, const char* path,
                                const hr_save_options* options);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_GRAPH_H_ */
