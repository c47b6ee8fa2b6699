/* Control flow: branches, loops and calls in a graph, and their bodies. */
#ifndef HEADRACE_CONTROL_H_
#define HEADRACE_CONTROL_H_

#include "headrace/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph within a graph: what a branch, an iteration or a call computes. It is a number that is
 * valid in its own graph only, until hr_graph_prune. A body may be used any number of times. */
typedef uint32_t hr_body;

/* Adds a copy of what a signature of another graph computes as a body of `graph`. A body is built
 * as any graph: with hr_graph_create, or with hr_graph_from_model from a file. Its inputs and
 * outputs are those of the signature, in the order in which they were added to it. A body sees
 * nothing but its inputs: values of the graph around it are given to it one by one (they are
 * captured), and so are weights. HR_UNIMPLEMENTED if the signature reads or writes variables: read
 * them outside, and assign outside what the body gives. `body` is not changed, and may be released.
 */
HR_API hr_status* hr_graph_body(hr_graph* graph, const hr_graph* body, const char* signature,
                                hr_body* out);

/* Adds an input that is a sequence of tensors of type `dtype`, for bodies whose states are
 * sequences (SequenceInsert and others make and use them). A run cannot be fed one. */
HR_API hr_status* hr_graph_input_sequence(hr_graph* graph, const char* name, hr_dtype dtype,
                                          hr_value* out);

/* Adds a branch: the outputs are those of `then_body` if `condition`, one bool, is true in a run,
 * and of `else_body` otherwise. Only one of them is computed. Both take all the captured values, in
 * this order, and give outputs of the same types; their shapes may differ. */
HR_API hr_status* hr_graph_if(hr_graph* graph, hr_value condition, hr_body then_body,
                              hr_body else_body, size_t captured_count,
                              HR_ARRAY(captured_count) const hr_value* captured,
                              size_t output_count, HR_ARRAY(output_count) hr_value* outputs);

/* Adds a loop. The body is (iteration int64 [], condition bool [], states..., captured...) ->
 * (condition, states..., scans...). It runs as long as fewer than `trip_count` (int64, or HR_NONE:
 * no limit) iterations are done and the condition is true; the first one is `condition` (HR_NONE:
 * true). The outputs are the states after the last iteration, and then the scans: what each
 * iteration gave, joined along a new first axis. States may change their shapes, but a loop through
 * which gradients flow keeps them. A run's cancel token and deadline end a loop that does not end
 * by itself. */
HR_API hr_status* hr_graph_loop(hr_graph* graph, hr_value trip_count, hr_value condition,
                                hr_body body, size_t state_count,
                                HR_ARRAY(state_count) const hr_value* states, size_t captured_count,
                                HR_ARRAY(captured_count) const hr_value* captured,
                                size_t output_count, HR_ARRAY(output_count) hr_value* outputs);

/* Adds a loop over slices. The body is (states..., slices..., captured...) -> (states...,
 * scans...). It runs once for each position along the scanned values' axes, whose lengths are
 * equal. `attributes` is NULL or a text of ONNX's: "scan_input_axes=1 scan_input_directions=1
 * scan_output_axes=0 scan_output_directions=0" (one number for each scanned value or scan;
 * direction 1 goes from the end). */
HR_API hr_status* hr_graph_scan(hr_graph* graph, hr_body body, HR_NULLABLE const char* attributes,
                                size_t state_count, HR_ARRAY(state_count) const hr_value* states,
                                size_t scanned_count,
                                HR_ARRAY(scanned_count) const hr_value* scanned,
                                size_t captured_count,
                                HR_ARRAY(captured_count) const hr_value* captured,
                                size_t output_count, HR_ARRAY(output_count) hr_value* outputs);

/* Adds what the body computes of `inputs`. */
HR_API hr_status* hr_graph_call(hr_graph* graph, hr_body body, size_t input_count,
                                HR_ARRAY(input_count) const hr_value* inputs, size_t output_count,
                                HR_ARRAY(output_count) hr_value* outputs);

/* Sets an attribute of a node that is a body; see hr_node_spec_create. SequenceMap has one. */
HR_API void hr_node_spec_body(hr_node_spec* spec, const char* name, hr_body value);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_CONTROL_H_ */
