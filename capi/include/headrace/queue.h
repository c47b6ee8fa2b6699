/* Queues of completions: a thread of the host learns which runs and operations have ended, without
 * a callback.
 *
 *   hr_queue* queue;
 *   hr_queue_create(env, &queue);
 *   hr_run_enqueue(run, queue, 7);                 or hr_work_enqueue(work, queue, 7)
 *   hr_completion done = {.struct_size = sizeof done};
 *   hr_queue_wait(queue, NULL, &done);             done.key is 7, done.failure is NULL
 */
#ifndef HEADRACE_QUEUE_H_
#define HEADRACE_QUEUE_H_

#include "headrace/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Thread-safe: any number of threads may take from a queue, each completion goes to one of them.
 * The order is that in which the runs and operations have ended. The queue may be released at any
 * time; completions that nobody has taken are dropped, and runs and operations go on. It keeps its
 * env alive. */
typedef struct hr_queue hr_queue;

/* What has ended. */
typedef struct hr_completion {
  size_t struct_size;
  uint64_t key;                   /* the one that was given with the run or the operation */
  HR_NULLABLE hr_status* failure; /* NULL: it has succeeded; the caller releases it */
} hr_completion;

HR_API hr_status* hr_queue_create(hr_env* env, hr_queue** out);
HR_API void hr_queue_release(hr_queue* queue);
/* Takes the oldest completion if there is one, and sets *out_found to 1; else to 0. Does not wait.
 */
HR_API hr_status* hr_queue_poll(hr_queue* queue, hr_completion* out, int32_t* out_found);
/* Takes the oldest completion, and waits for one within `limits` (NULL: none). A status that this
 * function returns is about the wait; the failure of what has ended is in *out. */
HR_API hr_status* hr_queue_wait(hr_queue* queue, const hr_limits* limits, hr_completion* out);
/* Returns a file descriptor for poll(), epoll or kqueue, which is readable while the queue has
 * completions. It belongs to the queue: do not read or close it. HR_UNIMPLEMENTED: the system has
 * no such descriptors; HR_RESOURCE_EXHAUSTED: there is none left. */
HR_API hr_status* hr_queue_descriptor(hr_queue* queue, int32_t* out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_QUEUE_H_ */
