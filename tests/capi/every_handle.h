/* An object of each type of handle, for the generated test of NULL (write_null_test.py). */
#ifndef HEADRACE_TESTS_CAPI_EVERY_HANDLE_H_
#define HEADRACE_TESTS_CAPI_EVERY_HANDLE_H_

#include "support.h"

typedef struct every_handle {
  hr_status* status;
  hr_text* text;
  hr_cancel* cancel;
  hr_env* env;
  hr_tensor* tensor; /* float32 [1] */
  hr_graph* graph;   /* with the input 0, and value 1 */
  hr_node_spec* node_spec;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_run* run; /* that has ended */
  hr_queue* queue;
  hr_dataset* dataset;
  hr_summary* summary;
  hr_progress* progress;
  hr_launch* launch;
  hr_store* store;
  hr_group* group; /* rank 0 of 2 */
  hr_group* idle;  /* rank 1 of the same */
  hr_work* work;   /* a barrier of rank 0 */
  char* folder;
  const char* path; /* of a file in the folder, which does not exist */
} every_handle;

/* `check` is called with a node of a custom operator, when its type is inferred. */
every_handle open_every_handle(void (*check)(hr_op* op));
void close_every_handle(every_handle* all);

#endif
