/* Building graphs that train: learning rates, clipping, groups of variables, averages, metrics,
 * adapters. docs/training.md shows all of it by example; headrace/graph.h has gradients and
 * optimizers. Everything is nodes and variables of the graph, so it runs on any device, is saved in
 * files and checkpoints, and a training that is resumed goes on with the same bits. */
#ifndef HEADRACE_TRAINING_GRAPH_H_
#define HEADRACE_TRAINING_GRAPH_H_

#include "headrace/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Learning rates ---- */

/* Adds a learning rate that changes from step to step, a float64 scalar. `description` is the name
 * of a schedule with its settings, such as "cosine base=0.1 warmup=500 steps=10000" or "piecewise
 * at=1000,5000 rates=0.1,0.01,0.001"; docs/training.md lists the schedules with their formulas.
 *
 * The steps are the runs of `signature`, which counts them in the variable "<signature>/step". All
 * schedules of a signature share it. The rate becomes the signature's output "learning_rate" if it
 * has no output of that name. HR_INVALID_ARGUMENT if the settings make no schedule, for example a
 * warm-up that is longer than all steps. */
HR_API hr_status* hr_graph_schedule(hr_graph* graph, const char* signature, const char* description,
                                    hr_value* out);

/* ---- Gradients and variables ---- */

/* Clips gradients, which are replaced by the clipped ones; HR_NONE stays. `bounds` is a text with
 * one or more of "value=0.5" (of each element, both ways), "norm=1" (each gradient is scaled down
 * to this Euclidean norm) and "global_norm=1" (all are scaled down by one factor, to this norm of
 * all together); they apply in this order. *out_norm gets the global norm before its bound applies,
 * a scalar; `out_norm` may be NULL. hr_graph_minimize takes the same as settings of the optimizer.
 */
HR_API hr_status* hr_graph_clip_gradients(hr_graph* graph, const char* bounds, size_t count,
                                          HR_IN_OUT HR_ARRAY(count) hr_value* gradients,
                                          HR_NULLABLE hr_value* out_norm);

/* Freezes the variables whose names fit `patterns` (`trainable` 0), or makes them trainable; see
 * hr_graph_set_trainable. Commas separate patterns; in a pattern * stands for any characters and ?
 * for one, as in "encoder.*,embedding". HR_NOT_FOUND, with the nearest names, if a pattern fits no
 * variable. *out_count gets the number of variables; `out_count` may be NULL. */
HR_API hr_status* hr_graph_set_trainable_matching(hr_graph* graph, const char* patterns,
                                                  int trainable, HR_NULLABLE size_t* out_count);

/* Variables with an optimizer and a learning rate of their own. */
typedef struct hr_parameter_group {
  size_t struct_size;
  const char* patterns;  /* of trainable variables, as hr_graph_set_trainable_matching takes them */
  const char* optimizer; /* as hr_graph_minimize takes it; a global norm is that of the group */
  hr_value learning_rate;
} hr_parameter_group;
/* Calls hr_graph_minimize with each trainable variable in the first group that has a pattern for
 * it. HR_NOT_FOUND if a pattern fits no trainable variable; HR_FAILED_PRECONDITION, which names
 * them, if no group has a variable that the loss depends on: end with a group "*". */
HR_API hr_status* hr_graph_minimize_groups(hr_graph* graph, const char* signature, hr_value loss,
                                           size_t count,
                                           HR_ARRAY(count) const hr_parameter_group* groups);

/* ---- Averages of weights ----
 *
 * hr_graph_minimize with the setting average=DECAY keeps a moving average of each variable in a
 * variable "<variable>/average": after an update it is DECAY * average + (1 - DECAY) * variable. It
 * begins with the initial value of its variable. */

/* Adds the signature `to`, which computes what the signature `from` does, but of the averages of
 * those variables that have one: evaluate with it, and export it to serve the averages.
 * HR_FAILED_PRECONDITION if no variable has an average or if `from` changes variables. */
HR_API hr_status* hr_graph_average_signature(hr_graph* graph, const char* from, const char* to);
/* Adds a signature whose run swaps all variables that have an average with these. A second run
 * swaps them back. */
HR_API hr_status* hr_graph_swap_averages(hr_graph* graph, const char* signature);

/* Adds the signature `to` with copies of the nodes that the signature `from` needs: the same
 * inputs, constants and variables, but values of its own, so that one of the two can be changed.
 * HR_FAILED_PRECONDITION if `from` changes variables. */
HR_API hr_status* hr_graph_copy_signature(hr_graph* graph, const char* from, const char* to);

/* ---- Metrics ---- */

/* Adds the output `name` to `signature`: a metric of all the batches that the signature has run on
 * since the signature "<signature>/reset", which the call adds, was run last. hr_train and
 * hr_evaluate run that before an evaluation. `description` is one of these, with its settings:
 *
 *   "accuracy"    scores [N, C, ...] and labels [N, ...] (int64 or int32): the share of labels that
 *                 have the largest score
 *   "top_k k=5"   the same: that are among the k largest
 *   "mean"        values of any shape, or the mean of a batch, a scalar, and its labels, which say
 *                 how many it stands for
 *   "perplexity"  the same: exp of the mean, of losses in nats
 *   "auc"         scores in [0, 1] and labels of the same shape (not 0: positive): the area under
 *                 the ROC curve, by histograms of `bins` equal intervals (1000 of them); scores in
 *                 one interval count as equal; with logits=1, scores are log-odds
 *   "confusion"   scores and labels as accuracy: int64 [C, C], how often label i was taken for j
 *
 * The first four and confusion leave out labels that equal ignore_index=L. All but confusion are
 * float64 scalars. The sums are variables, so the signature writes variables and excludes other
 * runs of its session. HR_INVALID_ARGUMENT if the inputs are none that the metric takes. */
HR_API hr_status* hr_graph_metric(hr_graph* graph, const char* signature, const char* name,
                                  const char* description, size_t count,
                                  HR_ARRAY(count) const hr_value* inputs);

/* ---- Training on many processes ---- */

/* Rewrites a signature that trains so that all ranks of a group train one model. Each rank runs the
 * same graph on examples of its own; their gradients are averaged while the backward pass goes on,
 * and all ranks make the same update, bit for bit. `group` is the name by which nodes call the
 * group: hr_session_bind_group (headrace/comm.h) says which it is.
 *
 * `strategy` is a text: "mirrored", with settings as in "mirrored bucket=4194304 bf16=1".
 *   bucket        Gradients travel together, in pieces of this many bytes (26214400).
 *   first_bucket  The first piece is smaller, so that it starts early (1048576).
 *   bf16          1: they travel as bfloat16, in half the bytes (0).
 *   sync_batch_norm  1: batch normalization takes the statistics of the examples of all ranks, as
 *                 on one process with all of them, and running statistics are the same on all (0:
 *                 each rank normalizes by its own batch, and has its own running statistics).
 *   overlap       off: a step waits for each operation as soon as it has started; auto: it goes on
 *                 until it needs the result (auto).
 *   zero, ranks   zero=1 ranks=N: each of N ranks keeps an N-th of the state of the optimizer and
 * of sums of gradients, and makes that part of the update (0). Checkpoints have them whole, so that
 * any number of ranks goes on from one: hr_session_save is then a call that all ranks make, of
 * which rank 0 writes, and in hr_session_restore each rank, whose group is bound, reads the folder.
 *
 * The means are over the examples of all ranks: a rank has as many as the first axis of the first
 * input that leaves this axis open, so batches may be uneven, even empty, and the loss is to be the
 * mean over them. If all inputs have fixed sizes, all ranks count alike. Outputs that are one
 * floating-point number and follow from the inputs, such as the loss, become the means of all
 * ranks, too. Gradients are averaged before they are accumulated or clipped, so one bound holds for
 * all ranks. Random numbers follow the examples of all ranks: dropout drops what it would drop on
 * one process with all of them. Other signatures that use nodes which do so get copies of them.
 *
 * Call it after hr_graph_minimize. HR_FAILED_PRECONDITION if the signature updates nothing;
 * HR_ALREADY_EXISTS if it communicates in the group already, or is distributed over another group:
 * the one group has all ranks that train together; HR_INVALID_ARGUMENT if there is no
 * such strategy; HR_UNIMPLEMENTED if a body (If, Loop, Scan) draws random numbers, or with zero=1
 * if the optimizer is lamb, which needs whole gradients. */
HR_API hr_status* hr_graph_distribute(hr_graph* graph, const char* signature, const char* group,
                                      const char* strategy);

/* ---- Adapters ----
 *
 * A low-rank adapter (LoRA) adds scale * A * B to a weight W of a MatMul, a Gemm or a Conv without
 * groups, and is trained in its place: W stays as it is, and a weight of a mapped file stays there.
 * The adapter of the weight "W" is three variables of W's type: "W/lora_A", uniform within
 * 1 / sqrt(inputs) at first, "W/lora_B", 0 at first, and "W/lora_scale", alpha / rank, which is not
 * trained. Products with the same weight share its adapter. hr_session_save_adapters
 * (headrace/train.h) saves adapters alone; a save with merge_adapters adds them to their weights.
 */

/* Adds adapters wherever the name of a node, or of its weight, fits one of `patterns` (see
 * hr_graph_set_trainable_matching), and freezes all other variables. `settings` is a text such as
 * "rank=8 alpha=16 dropout=0.05", or NULL; the rank is 8, alpha the rank and dropout 0 if they are
 * not given. A value keeps its name: what the product alone gives is called "<name>/base".
 *
 * With dropout, inputs are left out at random where the nodes serve the signature `training`, which
 * may be NULL otherwise: a copy of the signature that serves (hr_graph_copy_signature), of whose
 * outputs the loss is made afterwards.
 *
 * Call it before hr_graph_minimize. *out_count gets the number of nodes; `out_count` may be NULL.
 * HR_NOT_FOUND, with the nearest names, if a pattern fits nothing; HR_INVALID_ARGUMENT if the rank
 * is larger than a weight allows; HR_ALREADY_EXISTS if a weight has an adapter. */
HR_API hr_status* hr_graph_add_lora(hr_graph* graph, const char* patterns,
                                    HR_NULLABLE const char* settings,
                                    HR_NULLABLE const char* training,
                                    HR_NULLABLE size_t* out_count);
/* Adds the adapters that hr_session_save_adapters has written to `path`, with their values,
 * wherever a node uses one of their weights, and freezes all other variables. The graph keeps the
 * file mapped. *out_count gets the number of nodes; `out_count` may be NULL. */
HR_API hr_status* hr_graph_load_adapters(hr_graph* graph, const char* path,
                                         HR_NULLABLE size_t* out_count);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_TRAINING_GRAPH_H_ */
