/* Models and data that several tests train. */
#ifndef HEADRACE_TESTS_CAPI_MODELS_H_
#define HEADRACE_TESTS_CAPI_MODELS_H_

#include "support.h"

enum { FEATURES = 12, CLASSES = 4, HIDDEN = 16 };

/* Signatures "train" (x float32 [batch, FEATURES], labels int64 [batch], rate; loss) and "infer"
 * (x; scores). Optimizer: adam. Values are named x, labels, rate, loss, scores. */
hr_model* make_mlp(hr_env* env);
/* The same names for a small LeNet: x is [batch, 1, 12, 12]. Optimizer: sgd with momentum. */
hr_model* make_lenet(hr_env* env);

/* What hr_graph_bound takes. */
typedef struct bounds {
  int64_t min, max;
  size_t count;
  const int64_t* buckets;
} bounds;
/* The same models with bounds of `batch`. */
hr_model* make_bounded_mlp(hr_env* env, bounds batch);
hr_model* make_bounded_lenet(hr_env* env, bounds batch);
/* Two variables a and b, float32 [width], zero at first. Signature "step" adds 1 to every element
 * of both and gives their sum as it was; "look" gives a and b. */
hr_model* make_counters(hr_env* env, int64_t width);
/* Such a model and its session. `folder` is the caller's, or NULL. */
typedef struct counting {
  hr_model* model;
  hr_session* session;
  hr_call* step; /* of signature "step" */
  char* folder;
} counting;
counting open_counting(hr_env* env, int64_t width, char* folder);
void close_counting(counting* opened);
/* A session of the graph, which is released. */
hr_session* session_of(hr_graph* graph);
void save_lenet(hr_env* env, const char* path);

/* `count` examples for either model: `x` with `rank` - 1 dimensions an example, and labels. */
void make_examples(hr_env* env, size_t rank, const int64_t* dims, hr_tensor** x,
                   hr_tensor** labels);
hr_dataset* make_dataset(hr_env* env, size_t rank, const int64_t* dims,
                         const hr_dataset_options* options);

#endif
