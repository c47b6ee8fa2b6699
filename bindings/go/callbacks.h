// What the Go files share with C: the headers, the types of the functions that C calls in Go, and
// helpers that call functions of C by their address, which Go cannot.
#ifndef HEADRACE_GO_CALLBACKS_H_
#define HEADRACE_GO_CALLBACKS_H_

#include <headrace/headrace.h>
#include <stdlib.h>

// cgo writes no const in the prototypes of functions that it exports; through these names it does.
typedef const char hrgo_text;
typedef const int64_t hrgo_dim;
typedef const hr_status hrgo_status;
typedef const hr_train_report hrgo_report;
typedef const char* const hrgo_name;
typedef const double hrgo_number;
typedef void (*hrgo_task)(void* context, int task);

void hrgo_release(void* context);

void hrgo_log(void* context, hr_log_level level, hrgo_text* message);
int64_t hrgo_now(void* context);
void* hrgo_allocate(void* context, size_t bytes, size_t alignment);
void hrgo_deallocate(void* context, void* data, size_t bytes, size_t alignment);
void hrgo_parallel_for(void* context, int32_t tasks, int32_t threads, hrgo_task fn,
                       void* fn_context);

hr_status* hrgo_read(void* context, uint64_t offset, void* out, size_t bytes);
void hrgo_done(void* context, hrgo_status* status);

hr_status* hrgo_next(void* context, int64_t examples, size_t field_count, hr_tensor** out,
                     int32_t* out_end);
hr_status* hrgo_seek(void* context, int64_t epoch, int64_t first_example);
hr_status* hrgo_step(void* context, hrgo_report* report, int32_t* out_stop);
hr_status* hrgo_evaluate(void* context, hrgo_report* report, size_t count, hrgo_name* names,
                         hrgo_number* values);
void hrgo_message(void* context, hrgo_text* message);

hr_status* hrgo_get(void* context, hrgo_text* key, char* value, size_t capacity, int64_t* out_size);
hr_status* hrgo_compare_and_swap(void* context, hrgo_text* key, hrgo_text* expected,
                                 size_t expected_size, hrgo_text* desired, size_t desired_size,
                                 int32_t* out_swapped);
hr_status* hrgo_remove(void* context, hrgo_text* key);

hr_status* hrgo_infer(void* context, hr_op* op);
hr_status* hrgo_compute(void* context, hr_op* op);
hr_status* hrgo_gradient(void* context, hr_op* op);
void hrgo_op_task(void* context, int task);

static inline void hrgo_call_task(hrgo_task fn, void* context, int task) { fn(context, task); }
static inline void hrgo_delete(hr_dlpack* managed) {
  if (managed->deleter != NULL) managed->deleter(managed);
}

#endif  // HEADRACE_GO_CALLBACKS_H_
