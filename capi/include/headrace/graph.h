/* Building graphs. Types are inferred and checked as each node is added. */
#ifndef HEADRACE_GRAPH_H_
#define HEADRACE_GRAPH_H_

#include "headrace/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph under construction. Used by one thread at a time. */
typedef struct hr_graph hr_graph;
/* Numbers, valid in their own graph only. */
typedef uint32_t hr_value;
typedef uint32_t hr_node;
typedef uint32_t hr_variable;
/* Stands for an omitted optional input, and for a gradient that does not exist. */
#define HR_NONE UINT32_MAX

HR_API hr_status* hr_graph_create(hr_env* env, hr_graph** out);
HR_API void hr_graph_release(hr_graph* graph);

/* An input named `name`. A dimension of -1 is unknown until a run; `symbols` (NULL, or one name or
 * NULL per dimension) names unknown dimensions: equal names are equal sizes. */
HR_API hr_status* hr_graph_input(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank,
                                 const int64_t* dims, const char* const* symbols, hr_value* out);
/* Bounds and buckets of a dimension that an input named (else HR_NOT_FOUND); max -1: unbounded,
 * buckets ascend. Runs check the bounds. One plan, with memory for the upper end, serves all sizes
 * up to the smallest bucket that holds them, and beyond the buckets up to max; nothing is padded. A
 * later call replaces both. */
HR_API hr_status* hr_graph_bound(hr_graph* graph, const char* symbol, int64_t min, int64_t max,
                                 size_t bucket_count, const int64_t* buckets);
/* name NULL: one is made. The tensor's memory is shared, so do not change it. */
HR_API hr_status* hr_graph_constant(hr_graph* graph, const char* name, const hr_tensor* tensor,
                                    hr_value* out);

/* A variable that starts as `initial`. */
HR_API hr_status* hr_graph_variable(hr_graph* graph, const char* name, const hr_tensor* initial,
                                    int trainable, hr_variable* out);
/* A variable that starts as the output of `op`, e.g. "RandomUniform" with attributes
 * "low=-0.1 high=0.1"; shape and dtype attributes are added. A session's seed decides the values.
 */
HR_API hr_status* hr_graph_variable_init(hr_graph* graph, const char* name, hr_dtype dtype,
                                         size_t rank, const int64_t* dims, int trainable,
                                         const char* op, const char* attributes, hr_variable* out);
/* The variable's value at this place in program order: the start of the step, or after the last
 * node that wrote it. */
HR_API hr_status* hr_graph_read(hr_graph* graph, hr_variable variable, hr_value* out);

/* A node. `op` is an ONNX operator ("Conv"), or has its domain before the last dot
 * ("headrace.train.SGD"), and may end in its version ("Softmax@13"); without it the newest known
 * one is taken. `attributes` is NULL or text: "kernel_shape=5,5 strides=1,1 auto_pad=SAME_UPPER"
 * (names and values apart by spaces, elements by commas, strings with spaces in double quotes).
 * Missing trailing optional outputs are not computed. */
HR_API hr_status* hr_graph_op(hr_graph* graph, const char* op, const char* attributes,
                              size_t input_count, const hr_value* inputs, size_t output_count,
                              hr_value* outputs);

/* Nodes added from now on run on this device ("TOY:0"), unless their spec names another; NULL or
 * "": where the session wants. Gradients run where the nodes are whose gradients they are, updates
 * where their variable is. A session fails where it has no such device. */
HR_API hr_status* hr_graph_device(hr_graph* graph, const char* device);

/* The long form, for what hr_graph_op cannot say. Used by one thread at a time. */
typedef struct hr_node_spec hr_node_spec;
HR_API hr_status* hr_node_spec_create(const char* op, hr_node_spec** out);
HR_API void hr_node_spec_release(hr_node_spec* spec);
HR_API void hr_node_spec_name(hr_node_spec* spec, const char* name);
HR_API void hr_node_spec_device(hr_node_spec* spec, const char* device);
HR_API void hr_node_spec_input(hr_node_spec* spec, hr_value value); /* HR_NONE: omitted */
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
/* The tensor's memory is shared, so do not change it. */
HR_API void hr_node_spec_tensor(hr_node_spec* spec, const char* name, const hr_tensor* value);
/* `out_node` may be NULL. The spec may be used again. */
HR_API hr_status* hr_graph_add(hr_graph* graph, const hr_node_spec* spec, size_t output_count,
                               hr_value* outputs, hr_node* out_node);

/* The node that makes a value; HR_NONE for inputs and constants. */
HR_API hr_node hr_graph_producer(const hr_graph* graph, hr_value value);
HR_API hr_status* hr_graph_name_value(hr_graph* graph, hr_value value, const char* name);
/* "float32[batch, 10]" */
HR_API hr_status* hr_graph_type_of(const hr_graph* graph, hr_value value, hr_text** out);

/* Adds nodes that compute the gradient of the sum of `y` with respect to each x. HR_NONE where y
 * does not depend on it. A failed call leaves the graph as it was. */
HR_API hr_status* hr_graph_add_gradients(hr_graph* graph, hr_value y, size_t count,
                                         const hr_value* xs, hr_value* out_gradients);

/* Layers: variables named "<name>/weight" and "<name>/bias" with PyTorch's default initial values
 * (uniform within 1 / sqrt(fan in)), and the nodes that use them. */
HR_API hr_status* hr_graph_dense(hr_graph* graph, const char* name, hr_value x, int64_t units,
                                 hr_value* out);
/* x: [N, C, H, W]; `attributes` as for Conv, e.g. "strides=2,2". */
HR_API hr_status* hr_graph_conv2d(hr_graph* graph, const char* name, hr_value x, int64_t channels,
                                  int64_t kernel, const char* attributes, hr_value* out);

/* Adds the gradients of the scalar `loss` for every trainable variable that it depends on, and an
 * update of each to the signature `signature` as targets. `optimizer`: one that docs/operators.md
 * lists (headrace.train), with settings of it, e.g. "sgd momentum=0.9 weight_decay=1e-4 nesterov=1"
 * or "adam beta1=0.9 beta2=0.999 epsilon=1e-8 weight_decay=0.01 decoupled=1"; the numbers are what
 * PyTorch takes. `learning_rate`: a scalar of the variables' type. A failed call leaves the graph
 * as it was.
 * Several signatures, each with a loss or an optimizer of its own, may train the same variables:
 * running one runs no other's updates. An optimizer's state is a variable named
 * "<variable>/momentum" and the like, or "<variable>/<signature>/momentum" where that name is taken
 * by a signature before. Read variables for all losses before the first of these calls: a read
 * after it is of the updated value. */
HR_API hr_status* hr_graph_minimize(hr_graph* graph, const char* signature, hr_value loss,
                                    const char* optimizer, hr_value learning_rate);

/* Entries of a signature, which is made with its first entry. */
HR_API hr_status* hr_graph_signature_input(hr_graph* graph, const char* signature, const char* name,
                                           hr_value value);
HR_API hr_status* hr_graph_signature_output(hr_graph* graph, const char* signature,
                                            const char* name, hr_value value);
HR_API hr_status* hr_graph_signature_target(hr_graph* graph, const char* signature, hr_node node);

HR_API hr_status* hr_graph_set_metadata(hr_graph* graph, const char* key, const char* value);

typedef struct hr_save_options {
  size_t struct_size;
  int32_t strip_names;   /* leave the names of nodes and values out; errors then use numbers */
  const char* side_file; /* tensors go to this file, named relative to the graph's; NULL: into it */
} hr_save_options;

/* Writes the graph so far as a .hrg file: whole or not at all. options NULL: defaults. */
HR_API hr_status* hr_graph_save(const hr_graph* graph, const char* path,
                                const hr_save_options* options);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_GRAPH_H_ */
