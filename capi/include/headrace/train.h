/* Training: data sets, checkpoints, event files, the managed training loop, progress bars. */
#ifndef HEADRACE_TRAIN_H_
#define HEADRACE_TRAIN_H_

#include "headrace/comm.h"
#include "headrace/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Data sets ----------------------------------------------------------------------------- */

/* A source of batches; a batch is a tensor for each of the data set's named fields. An epoch gives
 * every example once. A pass has as many epochs as the data set's option `repeat` says;
 * hr_dataset_rewind begins another pass.
 *
 * Threads: used by one thread at a time. While a call of a data set has not returned (also one that
 * hr_call_run makes, or a function of the host that `next` calls), every other call of it fails
 * with HR_FAILED_PRECONDITION. Only hr_dataset_field_count, hr_dataset_field_name and
 * hr_dataset_batches may be called at any time. No call waits for another thread's call.
 *
 * Shards: the ranks of a group that train together open the same data set with the same options,
 * each as another shard. The order of an epoch's examples is the same for all. A global batch is
 * the next N * batch examples in this order, for N shards, or what is left of the epoch. If it has
 * R examples and begins at example P, shard I gets the examples from P + I * R / N to P + (I + 1) *
 * R / N (rounded down), in this order. So all shards give the same number of batches, and after
 * each batch all have the same position, P + R. Another number of shards can go on from there, with
 * no example lost or given twice. If R is less than N, some shards get a batch of 0 examples, and
 * the mean of its losses is not a number; drop_remainder leaves out every global batch that is not
 * full, on all shards. */
typedef struct hr_dataset hr_dataset;

/* Opens a data set of files. `uri` is "FORMAT:PATH?KEY=VALUE&…", such as
 * "idx:fashion-mnist/train?batch=64&shuffle=1&seed=7" or "csv:prices.csv?label=price&batch=32". The
 * formats are idx, cifar10, cifar100, npy, npz, csv, text and images. PATH is a file or folder, or
 * the name of one below $HEADRACE_DATA or /usr/share/datasets. docs/data.md has the fields and keys
 * of every format, and those that all have: batch, shuffle, seed, repeat, drop_remainder, shard and
 * prefetch say how examples are drawn; rename, map, filter and cache change them.
 *
 * Files are mapped, so memory does not grow with them. A file that is cut short while it is used
 * raises SIGBUS, as with any mapped file; put a new one in its place with a rename instead. */
HR_API hr_status* hr_dataset_open(hr_env* env, const char* uri, hr_dataset** out);

typedef struct hr_dataset_options {
  size_t struct_size;
  int64_t batch;          /* examples in a batch of this shard; 0: 32 */
  int64_t repeat;         /* epochs in a pass; 0: 1; -1: forever */
  int32_t shuffle;        /* 1: a new order in each epoch */
  int32_t drop_remainder; /* 1: leave out a last batch that is smaller */
  uint64_t seed;          /* of the order */
  int64_t prefetch;       /* the number of batches that a thread reads ahead */
  int32_t shard_index;    /* which shard this is, from 0 to shard_count - 1 */
  int32_t shard_count;    /* 0: 1 */
} hr_dataset_options;

/* Makes a data set of tensors, one for each field. Their first dimension, which must be the same
 * for all, counts the examples. The data set shares the tensors' memory. `options` may be NULL,
 * which means defaults. */
HR_API hr_status* hr_dataset_from_tensors(hr_env* env, size_t count,
                                          HR_ARRAY(count) const char* const* names,
                                          HR_ARRAY(count) const hr_tensor* const* tensors,
                                          HR_NULLABLE const hr_dataset_options* options,
                                          hr_dataset** out);

/* A data set whose batches the host makes. The functions are called by one thread at a time: the
 * one that calls hr_dataset_next, hr_dataset_done, hr_train or hr_evaluate, or that runs a call
 * with the data set; with prefetch, a thread of the library. They must not use the data set. A
 * failure that they return comes back from the call that needed the batch, with its code and
 * message. */
typedef struct hr_dataset_callbacks {
  size_t struct_size;
  void* context;
  /* Makes the next batch of `examples` examples. If the epoch is over, sets *out_end to 1 instead
   * (it is 0 on entry). With shards the batch must have exactly `examples` examples; without, it
   * may have fewer, but at least one.
   *
   * On entry `out` holds a tensor for each field, of the declared shape but with `examples` as its
   * first dimension, or NULL if a dimension of the field is -1. The host either fills the tensor's
   * memory, or releases the tensor and stores one of its own in `out`, which the library releases.
   * It must store its own if `out` holds NULL or if the batch is smaller than `examples`.
   *
   * A call that fails makes no batch: the library releases what `out` holds, and the next call asks
   * for the same batch. */
  HR_CALLED_BY(run)
  hr_status* (*next)(void* context, int64_t examples, size_t field_count,
                     HR_IN_OUT HR_ARRAY(field_count) HR_HOLES hr_tensor** out,
                     HR_IN_OUT int32_t* out_end);
  /* Makes the next batch begin with an example of an epoch. If the epoch has just `first_example`
   * examples, the next call of `next` finds that it is over. A new data set begins with example 0
   * of epoch 0. Called before the first batch of every later epoch, before the first batch after
   * hr_dataset_rewind or a restored position, and with shards before each batch that does not
   * follow the one before. NULL: the data can be read once, from its beginning, and has no shards.
   */
  HR_NULLABLE HR_CALLED_BY(run) hr_status* (*seek)(void* context, int64_t epoch,
                                                   int64_t first_example);
  void (*release)(void* context); /* may be NULL */
  /* The exact number of examples in an epoch, of all shards together; 0 or -1: unknown. If there
   * are more or fewer, the run or call that finds out fails with HR_DATA_LOSS and changes neither
   * the position nor the session. */
  int64_t examples;
} hr_dataset_callbacks;

/* A field of a data set. `dims` is the largest shape of a batch; a dimension of -1 differs between
 * batches. */
typedef struct hr_dataset_field {
  size_t struct_size;
  const char* name;
  hr_dtype dtype;
  size_t rank;
  HR_ARRAY(rank) const int64_t* dims;
} hr_dataset_field;

/* Makes a data set of the host's functions. dims[0] of the fields is the number of examples in a
 * batch and must be the same for all, or -1. A field with -1 beside others without may have any
 * length, such as the values of sparse rows. If it is -1 for all, options->batch is the number of
 * examples.
 *
 * Of the other options, seed is ignored, and shuffle must be 0: `seek` says which epoch's order is
 * wanted. Shards and drop_remainder need the number of examples; shards and repeat need `seek`.
 * `options` may be NULL, which means defaults. */
HR_API hr_status* hr_dataset_from_callbacks(hr_env* env, const hr_dataset_callbacks* callbacks,
                                            size_t field_count,
                                            HR_ARRAY(field_count) const hr_dataset_field* fields,
                                            HR_NULLABLE const hr_dataset_options* options,
                                            hr_dataset** out);
/* Releases the handle. With prefetch it waits for the batch that is being read, unless a call still
 * has the data set. */
HR_API HR_BLOCKS void hr_dataset_release(hr_dataset* dataset);

/* Returns 1 if the pass is over, else 0. It may have to wait for the next batch to find out, within
 * `limits` (NULL: none). Returns 0, too, if the limits end this wait, if the batch is a failure, or
 * if the data set is in use: the next read says why. */
HR_API int hr_dataset_done(hr_dataset* dataset, const hr_limits* limits);
/* Returns the number of batches in an epoch; -1 if it is unknown. It counts full batches; if the
 * functions of a host give smaller ones, there are more. */
HR_API int64_t hr_dataset_batches(const hr_dataset* dataset);
/* Begins another pass. With prefetch it waits for the batch that is being read, within `limits`
 * (NULL: none); if they end the wait, nothing has changed. */
HR_API hr_status* hr_dataset_rewind(hr_dataset* dataset, const hr_limits* limits);
HR_API size_t hr_dataset_field_count(const hr_dataset* dataset);
/* Returns the name of a field; NULL if `index` is too large. The text lives until the data set is
 * released. */
HR_API HR_OR_NULL const char* hr_dataset_field_name(const hr_dataset* dataset, size_t index);
/* Reads the next batch, waiting for it within `limits` (NULL: none). `out` gets a tensor for each
 * field, which the caller releases. HR_OUT_OF_RANGE: the pass is over. */
HR_API hr_status* hr_dataset_next(hr_dataset* dataset, const hr_limits* limits,
                                  HR_ARRAY(hr_dataset_field_count(dataset)) hr_tensor** out);
/* Renames `field` to `name`, so that it is fed to the input of that name. Calls to which the data
 * set is bound already do not change. */
HR_API hr_status* hr_dataset_rename(hr_dataset* dataset, const char* field, const char* name);
/* Describes the data set as JSON: {"fields": […], "batches": …, "position": {…}}. Does not wait. */
HR_API hr_status* hr_dataset_describe(const hr_dataset* dataset, hr_text** out);
/* Writes the position of the data set as JSON, without waiting. It counts examples: "example" of
 * the epoch "epoch", of all shards together. So it does not depend on the batch or on the shards: a
 * data set of the same data with others can go on from it. Checkpoints save and restore it if they
 * are given the data set. */
HR_API hr_status* hr_dataset_position(const hr_dataset* dataset, hr_text** out);
/* Goes to a position that hr_dataset_position has written, of a data set with the same number of
 * examples. Waits as hr_dataset_rewind does. */
HR_API hr_status* hr_dataset_seek(hr_dataset* dataset, const char* position,
                                  const hr_limits* limits);

/* Goes on, from the present position, as shard `shard_index` of `shard_count`: for a group that has
 * lost ranks or got new ones. Waits as hr_dataset_rewind does. A call that fails changes nothing.
 */
HR_API hr_status* hr_dataset_reshard(hr_dataset* dataset, int64_t shard_index, int64_t shard_count,
                                     const hr_limits* limits);

/* Makes a data set of what a signature of the session's model makes of the examples of another one.
 *
 * The signature's inputs are fields of `dataset` with the same names. The new data set has the
 * signature's outputs, and the fields of `dataset` that are no inputs. The signature sees a batch
 * at a time, of any size: dimension 0 of its inputs and outputs must count the examples. Each
 * example must depend on nothing else, so a signature that writes variables or draws random numbers
 * is refused; variables should not change while the data set is used.
 *
 * The new data set begins at the beginning of a pass. It is drawn like `dataset`, which stays as it
 * is, with the same files and examples. If `dataset` was made of the host's functions
 * (hr_dataset_from_callbacks), the new one draws from it instead and has its position, so nobody
 * else may use it any more. Runs the signature once and waits for its end, within `limits` (NULL:
 * none). */
HR_API HR_BLOCKS hr_status* hr_dataset_map(hr_dataset* dataset, hr_session* session,
                                           const char* signature, const hr_limits* limits,
                                           hr_dataset** out);

/* Makes a data set of the examples of another one for which a signature of the session's model
 * gives true. The signature is as for hr_dataset_map, and its only output is a bool for each
 * example. Reads all examples once and waits for the end, within `limits` (NULL: none), to find
 * those that stay; they are then numbered anew, so batches, shuffling, shards and positions are as
 * of any other data set. HR_INVALID_ARGUMENT: no example stays, or `dataset` was made of the host's
 * functions; cache it first. */
HR_API HR_BLOCKS hr_status* hr_dataset_filter(hr_dataset* dataset, hr_session* session,
                                              const char* signature, const hr_limits* limits,
                                              hr_dataset** out);

typedef struct hr_cache_options {
  size_t struct_size;
  HR_NULLABLE const char* path; /* of a file that later processes use, too; NULL: memory */
  /* What the examples depend on beside files: a file that was made with another key is made anew.
   * Needed for a file if the library cannot know that, since the data set comes from tensors, from
   * functions of the host, or through a session (hr_dataset_map). May be NULL otherwise. */
  HR_NULLABLE const char* key;
  /* How the new data set is drawn; NULL: as `dataset` is, or defaults if that was made of the
   * host's functions. */
  HR_NULLABLE const hr_dataset_options* options;
} hr_cache_options;

/* Reads all examples of a data set once, within `limits` (NULL: none), and makes a data set of what
 * it has kept, in memory or in a file. The file is used without reading `dataset` if it was made
 * from the same files (paths, sizes and times of modification), keys of the address, and
 * options->key. It is replaced as a whole: a process that is killed leaves the old one or none, and
 * of several processes one makes it while the others wait. HR_ALREADY_EXISTS: there is another kind
 * of file at the path.
 *
 * The shapes of all fields must be known but for dimension 0. A data set of the host's functions
 * must be at the beginning of an epoch, which is read; the new data set can then be shuffled and
 * has shards, also if the host's could not. `options` may be NULL, which means defaults. */
HR_API HR_BLOCKS hr_status* hr_dataset_cache(hr_dataset* dataset,
                                             HR_NULLABLE const hr_cache_options* options,
                                             const hr_limits* limits, hr_dataset** out);

/* Binds a data set to a call: before each run, the call takes the next batch and feeds every field
 * to the input of the same name. The call keeps the data set alive. If `dataset` is NULL, the call
 * takes no batches any more. */
HR_API hr_status* hr_call_bind_dataset(hr_call* call, HR_NULLABLE hr_dataset* dataset);

/* ---- Checkpoints ---------------------------------------------------------------------------- */

typedef struct hr_checkpoint_options {
  size_t struct_size;
  int32_t keep; /* how many of the newest checkpoints are kept; 0: 5; -1: all */
  HR_NULLABLE const hr_dataset* dataset; /* whose position is saved or restored, too; may be NULL */
  HR_NULLABLE const hr_group* group;     /* for which this process writes, see below; may be NULL */
} hr_checkpoint_options;

/* If a group trains, one of its ranks saves, and passes the group in the options. The directory
 * then belongs to the group's epoch: from the first hr_session_save, hr_train or hr_session_restore
 * with this group (a restore of the directory, not of one of its checkpoints).
 *
 * A rank that the group has gone on without (hr_group_shrink), for example because it was frozen
 * during a save, gets HR_FAILED_PRECONDITION. It can neither add a checkpoint that a reader would
 * prefer nor change a checkpoint of the later epoch. The same holds for a job that is still running
 * when another job, or a new start of the same job, takes the directory: it belongs to the last one
 * that took it. Checkpoints of groups are named step-N-term-T; T grows whenever the directory
 * changes hands. Without a group nobody owns the directory. Several sessions may save to it at the
 * same time, also in different processes: each checkpoint is whole, of two of one step the later
 * one stays, and `keep` counts the checkpoints of all. As a restore takes the newest, sessions that
 * train different models need directories of their own. */

/* Writes the checkpoint DIRECTORY/step-N (safetensors and a checksummed manifest) for the session's
 * step N. Readers see the whole checkpoint or none, even if the process dies or the disk is full.
 * The session may run meanwhile. `options` may be NULL, which means defaults. If `limits` (NULL:
 * none) end the call, there is no new checkpoint. */
HR_API hr_status* hr_session_save(hr_session* session, const char* directory,
                                  HR_NULLABLE const hr_checkpoint_options* options,
                                  const hr_limits* limits);
/* Restores the variables, step and seed from a checkpoint, and the position of options->dataset if
 * it is given; training then continues with bit-identical results. `path` is a checkpoint
 * (DIRECTORY/step-N), or a DIRECTORY, which means its newest complete checkpoint. A call that fails
 * leaves the session as it was; one that succeeds makes a tainted session usable again. `options`
 * and `limits` may be NULL. `report` may be NULL; otherwise it gets {"path", "step", "warnings"} as
 * JSON. */
HR_API hr_status* hr_session_restore(hr_session* session, const char* path,
                                     HR_NULLABLE const hr_checkpoint_options* options,
                                     const hr_limits* limits, HR_NULLABLE hr_text** report);
/* Returns the number of steps done so far. A step is a run that writes variables or draws random
 * numbers. */
HR_API int64_t hr_session_step(const hr_session* session);

/* Verifies a checkpoint, or all checkpoints of a directory, and describes them as JSON. */
HR_API hr_status* hr_checkpoint_describe(const char* path, hr_text** out);

/* ---- Weights ---------------------------------------------------------------------------------
 * In files that other programs read and write: .safetensors (Hugging Face) and .npz (NumPy), by the
 * ending of the path. They have names and tensors only; a checkpoint also has step, seed and the
 * position in the data. */

typedef struct hr_weights_options {
  size_t struct_size;
  /* Import: what only the file or only the model has is left alone. 0: every tensor of the file has
   * a variable, and every trainable variable a tensor. */
  int32_t partial;
  /* Export: only trainable variables. */
  int32_t trainable;
  /* JSON, an object {"name in the file": "variable"} for names that differ, the same for import and
   * export; null instead of a variable leaves the tensor out. NULL: all names are the same. */
  HR_NULLABLE const char* names;
} hr_weights_options;

/* Lists what a file of weights has as JSON: "name", "dtype", "dims" and "bytes" of each tensor. */
HR_API hr_status* hr_weights_describe(const char* path, hr_text** out);
/* Writes the present values of the session's variables. The file is replaced if this succeeds and
 * stays as it was otherwise, also if the process dies or the disk is full. Runs that write
 * variables wait meanwhile. `options` may be NULL, which means defaults. `out_report` may be NULL;
 * it gets {"tensors", "bytes", "left"} as JSON. */
HR_API hr_status* hr_session_export_weights(hr_session* session, const char* path,
                                            HR_NULLABLE const hr_weights_options* options,
                                            const hr_limits* limits,
                                            HR_NULLABLE hr_text** out_report);
/* Sets the session's variables to what the file has. Everything is checked first:
 * HR_INVALID_ARGUMENT names all that does not fit, one a line, and nothing has changed. Types and
 * shapes must be the same. Variables that are not trainable may be missing from the file; "left"
 * of the report lists the variables that stay as they were. `options` may be NULL, which means
 * defaults; `out_report` may be NULL. */
HR_API hr_status* hr_session_import_weights(hr_session* session, const char* path,
                                            HR_NULLABLE const hr_weights_options* options,
                                            const hr_limits* limits,
                                            HR_NULLABLE hr_text** out_report);

/* Writes a .hrg file for serving: the named signatures and what they need, with the present values
 * of the session's variables as initial values. `options` may be NULL, which means defaults. Waits
 * within `limits` (NULL: none) for a run that writes variables. */
HR_API hr_status* hr_session_export(hr_session* session, const char* path, size_t signature_count,
                                    HR_ARRAY(signature_count) const char* const* signatures,
                                    HR_NULLABLE const hr_save_options* options,
                                    const hr_limits* limits);

/* Writes the low-rank adapters of the session (hr_graph_add_lora), and nothing else, as a
 * safetensors file with a tensor for each of their variables. If the call fails, `path` is as it
 * was. Waits within `limits` (NULL: none) for a run that writes variables. */
HR_API hr_status* hr_session_save_adapters(hr_session* session, const char* path,
                                           const hr_limits* limits);
/* Gives the adapters of the session the values of such a file. HR_NOT_FOUND or HR_INVALID_ARGUMENT
 * if it does not have just these adapters, of the same ranks. A call that fails leaves the session
 * as it was. */
HR_API hr_status* hr_session_load_adapters(hr_session* session, const char* path,
                                           const hr_limits* limits);

/* ---- TensorBoard ---------------------------------------------------------------------------- */

/* An event file that `tensorboard --logdir DIRECTORY` shows. Thread-safe. */
typedef struct hr_summary hr_summary;
/* Creates a new event file in the directory, which is created if it is missing. */
HR_API hr_status* hr_summary_open(const char* directory, hr_summary** out);
/* Flushes the file and closes it. */
HR_API void hr_summary_release(hr_summary* events);
HR_API hr_status* hr_summary_scalar(hr_summary* events, const char* tag, int64_t step,
                                    double value);
/* Adds a histogram of the elements. `values` must be contiguous, of float32, float64, int64, int32
 * or uint8. Elements that are not finite are left out. */
HR_API hr_status* hr_summary_histogram(hr_summary* events, const char* tag, int64_t step,
                                       const hr_tensor* values);
/* Adds the first `most` of the images. `images` must be contiguous, of shape [N, C, H, W] or
 * [C, H, W] with C = 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 (RGB and alpha), of uint8, or of
 * float32 or float64 in [0, 1]. */
HR_API hr_status* hr_summary_images(hr_summary* events, const char* tag, int64_t step,
                                    const hr_tensor* images, int64_t most);
/* Adds a text in Markdown. */
HR_API hr_status* hr_summary_text(hr_summary* events, const char* tag, int64_t step,
                                  const char* text);
/* Adds the main graph of a model; the attributes are shown as JSON. */
HR_API hr_status* hr_summary_graph(hr_summary* events, const hr_model* model);
HR_API hr_status* hr_summary_flush(hr_summary* events);

/* ---- The managed loop ------------------------------------------------------------------------ */

typedef struct hr_train_report {
  size_t struct_size;
  int64_t step;
  int64_t epoch; /* complete epochs. If a host's data set does not know its number of examples, an
                  * epoch counts when the first batch after it comes, or at the end of the pass */
  double loss;
  double examples_per_second;
  int32_t evaluated;          /* 1: the two fields of the evaluation are of this step */
  double evaluation_loss;     /* mean per example */
  double evaluation_accuracy; /* NaN if the signature has no output "correct" */
  int64_t examples;           /* in this step's batch; 0 if there was no step left to do */
  double learning_rate;       /* the output "learning_rate" of the step; NaN if there is none */
  double best;                /* the best metric at its best so far; NaN if there is none */
  int64_t best_step;          /* when that was; -1: never yet */
  int32_t stopped_early;      /* 1: the patience was at its end */
} hr_train_report;

typedef struct hr_train_options {
  size_t struct_size;
  /* Must have an output "loss". NULL: "train". */
  HR_NULLABLE const char* train_signature;
  /* Must have an output "loss". Its metrics are "loss", the mean per example; "accuracy", if it has
   * an output "correct", a count; and its other outputs that are one number, as they are after the
   * last batch (hr_graph_metric). NULL: "eval". */
  HR_NULLABLE const char* eval_signature;
  hr_dataset* train_data;            /* the training runs through its pass */
  HR_NULLABLE hr_dataset* eval_data; /* may be NULL */
  int64_t max_steps;   /* the session's total at which to stop; 0: the end of the data */
  size_t scalar_count; /* the number of inputs that are bound once: the learning rate */
  HR_ARRAY(scalar_count) const char* const* scalar_names;
  HR_ARRAY(scalar_count) const double* scalars;
  /* If it contains a checkpoint, the training continues from the newest. NULL: no checkpoints. */
  HR_NULLABLE const char* checkpoint_directory;
  int64_t checkpoint_steps; /* the steps from one checkpoint to the next; 0: only at the end */
  int32_t keep_checkpoints; /* how many of the newest are kept; 0: 5; -1: all */
  HR_NULLABLE const char* event_directory; /* for TensorBoard; NULL: no events */
  int64_t summary_steps;                   /* the steps from one summary to the next; 0: 100 */
  int64_t eval_steps; /* the steps from one evaluation to the next; 0: only at the end */
  /* Called after every step, on the thread that called hr_train. If it sets *out_stop to 1 (it is 0
   * on entry), the training stops: it saves a checkpoint, and does not evaluate at the end. A
   * failure stops it, too, and hr_train returns the failure. May be NULL. */
  HR_NULLABLE HR_CALLED_BY(caller) hr_status* (*on_step)(void* context,
                                                         const hr_train_report* report,
                                                         HR_IN_OUT int32_t* out_stop);
  /* Gets sentences for people: what was restored, saved or skipped. Called on the thread that
   * called hr_train. May be NULL. */
  HR_NULLABLE HR_CALLED_BY(caller) void (*on_message)(void* context, const char* message);
  void* context;
  /* For which this process writes checkpoints (hr_checkpoint_options). May be NULL. */
  HR_NULLABLE const hr_group* group;
  /* The metric of the evaluation that says which step is the best. Where it is better than ever, a
   * checkpoint is kept in the folder "best" of checkpoint_directory. NULL: none. */
  HR_NULLABLE const char* best_metric;
  int32_t best_is_smallest; /* 1: the smallest value is the best, as for a loss */
  int32_t restore_best;     /* 1: at the end the session gets the best checkpoint */
  int64_t patience; /* stop after so many evaluations that are no better than the best; 0: never */
  /* Called after each evaluation with its metrics, on the thread that called hr_train, before
   * on_step. The names and values live during the call. A failure stops the training. May be NULL.
   */
  HR_NULLABLE HR_CALLED_BY(caller) hr_status* (*on_evaluate)(
      void* context, const hr_train_report* report, size_t count,
      HR_ARRAY(count) const char* const* names, HR_ARRAY(count) const double* values);
  /* Many processes train together: the name of a group that the session has bound
   * (hr_session_bind_group), for a signature that hr_graph_distribute has rewritten. All its ranks
   * call hr_train with the same options, and data sets that give shards of the same data. Rank 0
   * restores and saves, writes the events, and gives the others its variables and the position of
   * its data before the first step. All make the same steps: they stop together if the data or the
   * limits of one end, or if its on_step says so. Losses and the evaluation's "loss" and "accuracy"
   * are over the examples of all ranks; other metrics are means of the ranks' own, weighted by
   * examples. A rank that fails ends the group, with its message. NULL: this process alone. */
  HR_NULLABLE const char* bound_group;
  /* Elastic training: the group that was given to hr_session_bind_group, or is to be: if the
   * session has none of that name, hr_train binds this one, and survives ranks that die meanwhile.
   * If ranks of it die, freeze or fail, the others go on without them; between two steps, new ones
   * that call hr_group_join are taken in. All ranks go on from the step, the variables and the
   * position in the data of the rank that is furthest, so a step is made by all or by none. The
   * data sets become shards by rank, whatever shards they were; the batch of a rank stays, so that
   * of all ranks together changes with their number. The lowest rank that is left saves and writes
   * events, for the group's present epoch; `group` is not needed. The handle stands for the latest
   * group from then on, in on_step and after hr_train: nobody else uses it meanwhile. If the ranks
   * divide the optimizer's state (zero=1), checkpoint_directory must be given, and all ranks see
   * it: when a rank has taken its part with it, the others go back to the newest checkpoint and
   * make the steps since then again; HR_DATA_LOSS if there is none. NULL: the end of the group ends
   * the training. */
  HR_NULLABLE hr_group* elastic_group;
  /* With fewer ranks the training waits for new ones, within the group's timeout; 0: 1. */
  int32_t min_ranks;
  int32_t max_ranks; /* up to which new ranks are taken in; 0: as many as there are at first */
} hr_train_options;

/* Runs a training and returns when it is over. Restores the newest checkpoint if there is one,
 * trains, writes summaries, evaluates and saves; at the end it saves before it evaluates, so that
 * no training is lost. If the limits (NULL: none) end it, it saves first and then returns
 * HR_DEADLINE_EXCEEDED or HR_CANCELLED. `out` gets the last report and may be NULL.
 *
 * An evaluation first runs the signature "<eval_signature>/reset", if the model has it, and is no
 * step of the session, whatever variables it writes. What best_metric and patience have seen is
 * part of checkpoints: a resumed training stops where one would that was never broken off. */
HR_API hr_status* hr_train(hr_session* session, const hr_train_options* options,
                           const hr_limits* limits, HR_NULLABLE hr_train_report* out);
/* Evaluates the rest of the data set's pass with a signature, as hr_train does. If `signature` is
 * NULL, it is "eval". `out` may be NULL. */
HR_API hr_status* hr_evaluate(hr_session* session, HR_NULLABLE const char* signature,
                              hr_dataset* data, const hr_limits* limits,
                              HR_NULLABLE hr_train_report* out);

/* Calls hr_evaluate, and writes the metrics as JSON: {"step": …, "metrics": {"loss": …, …}}. What
 * is no finite number is null. If `signature` is NULL, it is "eval". */
HR_API hr_status* hr_evaluate_metrics(hr_session* session, HR_NULLABLE const char* signature,
                                      hr_dataset* data, const hr_limits* limits, hr_text** out);

/* ---- Smaller numbers ------------------------------------------------------------------------- */

/* Makes the numbers of a graph smaller that serves one signature: those of its products (MatMul,
 * Gemm, Conv) whose weight is a variable or a constant of float32. Nothing stays but the signature
 * and what it needs, so values have other numbers; weights that are changed become constants, with
 * the initial values that they had. All of it is written with ONNX's operators. `settings` begins
 * with one of
 *
 *   "weights"   the weight is int8 behind a DequantizeLinear
 *   "dynamic"   products of int8, with the input's range of each run (DynamicQuantizeLinear)
 *   "static"    products of int8, with the range that the input has over `data` (QuantizeLinear,
 *               DequantizeLinear)
 *   "float16", "bfloat16"   the weight has 16 bits, behind a Cast
 *
 * and goes on with such settings as
 *
 *   "per_channel=0"   of the first three: one scale for a whole weight, in place of one for each
 *                     column, filter, or row of a table
 *   "embeddings=1"    of all: Gather, too, from such a table, which changes as the weight of
 *                     "weights", or has 16 bits
 *   "batches=10"      of static: drawn from `data` (0: a pass)
 *   "percentile=99.9" of static: a range leaves out half of the rest at either end
 *   "entropy=1"       of static: the range that loses least of how the numbers are distributed
 *   "activations=1"   of bfloat16: inputs are rounded to it, so that products are of bfloat16
 *
 * `patterns` chooses nodes by their names or those of their weights (see
 * hr_graph_set_trainable_matching); NULL chooses all. `data` is drawn from for static, and NULL
 * otherwise. `limits` may be NULL. `out_report` may be NULL; it gets JSON: "how", "signature",
 * "products" with "node", "op", "weight", and for static "low" and "high" of an input, "skipped"
 * with "node" and "reason", and "bytes_before" and "bytes_after" of the weights.
 *
 * HR_NOT_FOUND if there is no such signature, or a pattern fits nothing; HR_FAILED_PRECONDITION if
 * there is nothing to quantize, `data` has no examples, or a weight has no value before a session
 * draws it; HR_INVALID_ARGUMENT if a number is NaN or infinite, data does not fit the inputs, or
 * the settings are others. A failure leaves the graph as it was. */
HR_API hr_status* hr_graph_quantize(hr_graph* graph, const char* signature, const char* settings,
                                    HR_NULLABLE const char* patterns, HR_NULLABLE hr_dataset* data,
                                    const hr_limits* limits, HR_NULLABLE hr_text** out_report);

/* ---- Progress -------------------------------------------------------------------------------- */

/* Shows progress on standard error: as a bar if that is a terminal, otherwise as plain lines. Used
 * by one thread at a time. */
typedef struct hr_progress hr_progress;
/* Begins with `done` of `total` steps (-1: unknown). `items` names what the steps handle, such as
 * "images"; if `items` is NULL, they are images. `label` may be NULL. */
HR_API hr_status* hr_progress_create(HR_NULLABLE const char* label, HR_NULLABLE const char* items,
                                     int64_t done, int64_t total, hr_progress** out);
/* Shows that `done` steps are done, and that the last of them handled `items` items. If
 * `metric_name` is NULL, no metric is shown. */
HR_API void hr_progress_update(hr_progress* progress, int64_t done, int64_t items,
                               HR_NULLABLE const char* metric_name, double metric);
/* Writes a line of its own above the bar. */
HR_API void hr_progress_message(hr_progress* progress, const char* text);
/* Ends the line. */
HR_API void hr_progress_release(hr_progress* progress);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_TRAIN_H_ */
