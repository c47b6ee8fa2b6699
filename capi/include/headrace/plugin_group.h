/* The table of a plugin that has groups of its own, such as NCCL: it performs whole collectives on
 * memory that it reaches better than the library does. EXPERIMENTAL, see plugin.h.
 *
 * A native group stands beside a group of the library, which forms it, does what the native one
 * does not support, and watches over the ranks. Sessions use it for the groups that are bound to
 * them (hr_session_bind_group), if all ranks have loaded the plugin.
 *
 * Threads: one thread at a time makes the calls that concern a group, but for `abort`, which comes
 * from any thread. Only `create` and `wait` may wait.
 */
#ifndef HEADRACE_PLUGIN_GROUP_H_
#define HEADRACE_PLUGIN_GROUP_H_

#include "headrace/comm.h"
#include "headrace/plugin.h"
#include "headrace/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What identifies a native group while its ranks meet. */
enum { HR_PLUGIN_GROUP_ID_BYTES = 128 };

/* Memory that an operation reads or writes; `data` is NULL if this rank needs none. */
typedef struct hr_plugin_memory {
  void* data;
  int32_t device_type; /* as DLPack's: 1 is the host */
  int32_t device_index;
  void* registration; /* NULL: it is not registered */
} hr_plugin_memory;

/* An operation. All ranks post the same ones in the same order. */
typedef struct hr_plugin_operation {
  size_t struct_size;
  hr_operation_kind kind;
  hr_dtype dtype;
  uint64_t count; /* as in hr_operation */
  hr_reduce_op op;
  int32_t peer;
  uint32_t tag;
  double factor;
  hr_plugin_memory input;
  hr_plugin_memory output;
  /* The native handle of a stream: the operation begins after what is queued there, and what is
   * queued later comes after the operation. NULL: it begins at once. */
  void* stream;
} hr_plugin_operation;

typedef struct hr_plugin_group hr_plugin_group;
typedef struct hr_plugin_work hr_plugin_work;

typedef struct hr_plugin_group_table {
  size_t struct_size;
  const char* name; /* ranks use native groups together if they have the same name */

  /* Writes what identifies a new group. Rank 0 calls it and tells the others. */
  hr_status* (*create_id)(void* self, uint8_t id[HR_PLUGIN_GROUP_ID_BYTES]);
  /* Makes this rank a member; returns when all ranks are, and fails after `timeout_nanos`. */
  hr_status* (*create)(void* self, const uint8_t id[HR_PLUGIN_GROUP_ID_BYTES], int32_t rank,
                       int32_t size, int64_t timeout_nanos, hr_plugin_group** out);
  /* Called when none of its operations is in flight. */
  void (*release)(hr_plugin_group* group);
  /* Returns 1 if the group performs the operation, else 0: the library's group does it then. The
   * answer must be the same on all ranks. */
  int32_t (*supports)(const hr_plugin_group* group, const hr_plugin_operation* operation);
  /* Starts an operation. Its memory is in use until `finish`. */
  hr_status* (*post)(hr_plugin_group* group, const hr_plugin_operation* operation,
                     hr_plugin_work** out);
  /* Return 1 if the operation has ended, else 0; `wait` after `timeout_nanos` at the latest. */
  int32_t (*test)(hr_plugin_work* work);
  int32_t (*wait)(hr_plugin_work* work, int64_t timeout_nanos);
  /* Returns the result of an operation that has ended, and releases it. Called once. */
  hr_status* (*finish)(hr_plugin_work* work);
  /* Ends what is in flight on this rank with HR_ABORTED, within a moment, and makes every later
   * operation fail. */
  void (*abort)(hr_plugin_group* group);
} hr_plugin_group_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_GROUP_H_ */
