/* Training: data sets, checkpoints, event files, the managed loop, progress. */
#ifndef HEADRACE_TRAIN_H_
#define HEADRACE_TRAIN_H_

#include "headrace/comm.h"
#include "headrace/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Data sets ----------------------------------------------------------------------------- */

/* Batches of named tensors. Used by one thread at a time. An epoch gives every example once; a pass
 * is as many epochs as the data set repeats; hr_dataset_rewind begins another pass. */
typedef struct hr_dataset hr_dataset;

/* "idx:PLACE/SPLIT?batch=64&shuffle=1&seed=7": images and labels in MNIST's IDX files. PLACE is a
 * folder or the name of one below $HEADRACE_DATA or /usr/share/datasets; SPLIT is train or test.
 * Gives "images" float32 [batch, channels, height, width] in [0, 1] and "labels" int64 [batch].
 * Keys: batch (32), shuffle (0), seed (0), repeat (1, a number or forever), drop_remainder (0),
 * normalize (MEAN,STD), raw (1: uint8 images), prefetch (batches read ahead by a thread, 0). */
HR_API hr_status* hr_dataset_open(hr_env* env, const char* uri, hr_dataset** out);

typedef struct hr_dataset_options {
  size_t struct_size;
  int64_t batch;  /* examples; 0: 32 */
  int64_t repeat; /* epochs of a pass; 0: 1; -1: forever */
  int32_t shuffle;
  int32_t drop_remainder; /* leave out a smaller last batch */
  uint64_t seed;
  int64_t prefetch; /* batches read ahead by a thread; 0: none */
} hr_dataset_options;

/* Batches along the first dimension of tensors of equally many examples; the memory is shared. */
HR_API hr_status* hr_dataset_from_tensors(hr_env* env, size_t count, const char* const* names,
                                          const hr_tensor* const* tensors,
                                          const hr_dataset_options* options, hr_dataset** out);

/* Batches that the host makes. The functions are called by one thread at a time, with prefetch by
 * one of the library's. A number other than 0 (and 1 from next) is a failure and is reported. */
typedef struct hr_dataset_callbacks {
  size_t struct_size;
  void* context;
  /* `out` holds a tensor per field, of the declared shape, whose memory the host fills; or it puts
   * its own in place (after releasing the given one), which the library releases: it must where a
   * dimension is -1 (then NULL is given) and where the batch is smaller. 0; or 1: the epoch is
   * over. */
  int (*next)(void* context, size_t field_count, hr_tensor** out);
  /* Goes back to the beginning of an epoch. */
  int (*reset)(void* context, int64_t epoch);
  void (*release)(void* context); /* may be NULL */
  /* Of one epoch, exactly: HR_DATA_LOSS from the run or call that finds more or fewer, which leaves
   * position and session as they were. -1 (or 0): unknown. */
  int64_t batches;
} hr_dataset_callbacks;

/* A field: a name, a type, and the largest shape of a batch; -1 where a dimension differs. */
typedef struct hr_dataset_field {
  const char* name;
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims;
} hr_dataset_field;

/* Of the options only repeat and prefetch count. */
HR_API hr_status* hr_dataset_from_callbacks(hr_env* env, const hr_dataset_callbacks* callbacks,
                                            size_t field_count, const hr_dataset_field* fields,
                                            const hr_dataset_options* options, hr_dataset** out);
HR_API void hr_dataset_release(hr_dataset* dataset);

/* 1 where the pass is over. May wait for the next batch in order to know. */
HR_API int hr_dataset_done(hr_dataset* dataset);
/* Batches of one epoch; -1: unknown. */
HR_API int64_t hr_dataset_batches(const hr_dataset* dataset);
HR_API hr_status* hr_dataset_rewind(hr_dataset* dataset);
HR_API size_t hr_dataset_field_count(const hr_dataset* dataset);
/* Lives until the data set is released or a field renamed. NULL where there is no such field. */
HR_API const char* hr_dataset_field_name(const hr_dataset* dataset, size_t index);
/* The next batch: one tensor per field, to be released. HR_OUT_OF_RANGE where the pass is over. */
HR_API hr_status* hr_dataset_next(hr_dataset* dataset, const hr_limits* limits, hr_tensor** out);
/* `field` is called `name` from now on, so that it meets the input of that name; calls that are
 * bound to the data set already do not notice. */
HR_API hr_status* hr_dataset_rename(hr_dataset* dataset, const char* field, const char* name);
/* {"fields": […], "position": {…}} */
HR_API hr_status* hr_dataset_describe(const hr_dataset* dataset, hr_text** out);
/* Where the data set stands, as JSON, and going back there. Checkpoints do it for you. */
HR_API hr_status* hr_dataset_position(const hr_dataset* dataset, hr_text** out);
HR_API hr_status* hr_dataset_seek(hr_dataset* dataset, const char* position);

/* Before each run, the call draws the inputs whose names are the fields' from the data set, which
 * it keeps alive. NULL: no longer. */
HR_API hr_status* hr_call_bind_dataset(hr_call* call, hr_dataset* dataset);

/* ---- Checkpoints ---------------------------------------------------------------------------- */

typedef struct hr_checkpoint_options {
  size_t struct_size;
  int32_t keep;              /* newest checkpoints kept; 0: 5; -1: all */
  const hr_dataset* dataset; /* its position is saved, too; or NULL */
  const hr_group* group;     /* for which this process writes; or NULL. See below */
} hr_checkpoint_options;

/* Where a group trains, one rank of it saves, and passes the group: the directory then belongs to
 * the group's epoch from the first such hr_session_restore (of the directory, not of one of its
 * checkpoints), hr_session_save or hr_train on. Ranks that the group went on without
 * (hr_group_shrink), say because they were frozen in the middle of a save, get
 * HR_FAILED_PRECONDITION and can neither add a checkpoint that a reader would prefer, nor touch any
 * of the later epoch's. So does a job that is still running when another one, or the same one
 * started anew, has taken the directory: the last to come has it. Checkpoints of groups are called
 * step-N-term-T; T grows whenever the directory changes hands. Without a group nothing is taken:
 * then no other process may write to the directory. */

/* Writes DIRECTORY/step-N (safetensors and a checksummed manifest) for the session's step N: whole
 * or not at all, whatever happens to the process or the disk. The session may run on meanwhile. */
HR_API hr_status* hr_session_save(hr_session* session, const char* directory,
                                  const hr_checkpoint_options* options);
/* Sets the variables, step and seed from a checkpoint (DIRECTORY/step-N, or the newest whole one of
 * DIRECTORY), and the position of options->dataset where it is given, so that training goes on bit
 * by bit as it would have. A failure leaves the session as it was. Clears HR_TAINTED. `report` may
 * be NULL; else it gets {"path", "step", "warnings"} as JSON. */
HR_API hr_status* hr_session_restore(hr_session* session, const char* path,
                                     const hr_checkpoint_options* options, hr_text** report);
/* Steps done so far: runs that write variables or draw random numbers. */
HR_API int64_t hr_session_step(const hr_session* session);

/* Verifies all checkpoints of a directory, or one; JSON of what is there. */
HR_API hr_status* hr_checkpoint_describe(const char* path, hr_text** out);

/* Writes the graph with the session's variables as they are now as initial values, and with only
 * the named signatures and what they need: a file to serve. */
HR_API hr_status* hr_session_export(hr_session* session, const char* path, size_t signature_count,
                                    const char* const* signatures, const hr_save_options* options);

/* ---- TensorBoard ---------------------------------------------------------------------------- */

/* An event file that `tensorboard --logdir DIRECTORY` shows, a new one in the directory, which is
 * made where it is missing. Tags and text are UTF-8. Thread-safe. */
typedef struct hr_events hr_events;
HR_API hr_status* hr_events_open(const char* directory, hr_events** out);
HR_API void hr_events_release(hr_events* events); /* flushes */
HR_API hr_status* hr_events_scalar(hr_events* events, const char* tag, int64_t step, double value);
/* Of float32, float64, int64, int32 or uint8, contiguous. What is not finite is left out. */
HR_API hr_status* hr_events_histogram(hr_events* events, const char* tag, int64_t step,
                                      const hr_tensor* values);
/* [N, C, H, W], or [C, H, W], contiguous, with C of 1 (grey), 2 (with alpha), 3 (RGB) or 4; uint8,
 * or float32 or float64 in [0, 1]; the first `most` of them. */
HR_API hr_status* hr_events_images(hr_events* events, const char* tag, int64_t step,
                                   const hr_tensor* images, int64_t most);
/* Markdown. */
HR_API hr_status* hr_events_text(hr_events* events, const char* tag, int64_t step,
                                 const char* text);
/* The main graph, with attributes as JSON. */
HR_API hr_status* hr_events_graph(hr_events* events, const hr_model* model);
HR_API hr_status* hr_events_flush(hr_events* events);

/* ---- The managed loop ------------------------------------------------------------------------ */

typedef struct hr_train_report {
  size_t struct_size;
  int64_t step;
  int64_t epoch; /* complete ones; where a host's data set has an unknown number of batches, the
                  * last is counted at the end of the pass or with the first batch after it */
  double loss;
  double examples_per_second;
  int32_t evaluated;          /* whether the evaluation's fields are of this step */
  double evaluation_loss;     /* mean per example */
  double evaluation_accuracy; /* NaN where the signature has no output "correct" */
  int64_t examples;           /* of this step's batch; 0 where no step was left to do */
} hr_train_report;

typedef struct hr_train_options {
  size_t struct_size;
  const char* train_signature; /* NULL: "train"; has an output "loss" */
  const char* eval_signature;  /* NULL: "eval"; outputs "loss" and perhaps "correct" (a count) */
  hr_dataset* train_data;      /* its passes are the training */
  hr_dataset* eval_data;       /* or NULL */
  int64_t max_steps;           /* of the session in all; 0: to the end of the data */
  size_t scalar_count;         /* inputs bound once, e.g. the learning rate */
  const char* const* scalar_names;
  const double* scalars;
  const char*
      checkpoint_directory;    /* NULL: none. Where it has a checkpoint, training goes on from it */
  int64_t checkpoint_steps;    /* save each so many steps; 0: only at the end */
  int32_t keep_checkpoints;    /* 0: 5 */
  const char* event_directory; /* NULL: none */
  int64_t summary_steps;       /* scalars each so many steps and at the end; 0: 100 */
  int64_t eval_steps;          /* 0: only at the end */
  /* Called after every step; 0 stops the training cleanly, with a checkpoint and without the
   * evaluation at the end. Or NULL. */
  int (*on_step)(void* context, const hr_train_report* report);
  /* Sentences for people: what was restored, saved, passed over. Or NULL. */
  void (*on_message)(void* context, const char* message);
  void* context;
  const hr_group* group; /* for which this process writes checkpoints (hr_checkpoint_options), or
                            NULL */
} hr_train_options;

/* Restores the newest checkpoint if there is one, trains, summarises, evaluates and saves (at the
 * end before it evaluates, so that what was trained is safe). When the limits end it, what was
 * reached is saved first and their code is returned. `out` may be NULL. */
HR_API hr_status* hr_train(hr_session* session, const hr_train_options* options,
                           const hr_limits* limits, hr_train_report* out);
/* What is left of the data's pass, through an evaluation signature; signature NULL: "eval". */
HR_API hr_status* hr_evaluate(hr_session* session, const char* signature, hr_dataset* data,
                              const hr_limits* limits, hr_train_report* out);

/* ---- Progress -------------------------------------------------------------------------------- */

/* A bar on a terminal, plain lines elsewhere, on standard error. Used by one thread at a time. */
typedef struct hr_progress hr_progress;
/* `total` steps (-1: unknown), of which `done` are done; `items`: what is counted, e.g. "images".
 */
HR_API hr_status* hr_progress_create(const char* label, const char* items, int64_t done,
                                     int64_t total, hr_progress** out);
/* `done` steps are done by now, the last of which handled `items` items. */
HR_API void hr_progress_update(hr_progress* progress, int64_t done, int64_t items,
                               const char* metric_name, double metric);
/* A line of its own above the bar. */
HR_API void hr_progress_message(hr_progress* progress, const char* text);
HR_API void hr_progress_release(hr_progress* progress); /* ends the line */

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_TRAIN_H_ */
