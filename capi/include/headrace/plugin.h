/* Plugins: backends and transports in shared objects of their own.
 *
 * EXPERIMENTAL: until CUDA and UCX have proven this interface, any release may change it; versions
 * are matched exactly.
 *
 * A plugin is a shared object, libheadrace_NAME.so, that exports one function, hr_plugin_entry. It
 * never links libheadrace: of the headers it uses types and constants alone, and everything it
 * wants of the host stands in the table that it is given. Each env that loads the plugin calls the
 * entry once and gets an instance of its own; the shared object stays loaded until the process
 * ends.
 *
 *   static hr_status* open(void* self, ...);
 *
 *   HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
 *     if (!hr_plugin_matches(host, out, "toy")) return NULL;   (the host tells the user why)
 *     out->self = ...;
 *     out->release = ...;
 *     out->backend = &table;
 *     return NULL;
 *   }
 *
 * Tables begin with struct_size. Functions of either side may be called from any thread unless they
 * say otherwise. Every hr_status* that crosses belongs to who receives it. No exception may cross.
 */
#ifndef HEADRACE_PLUGIN_H_
#define HEADRACE_PLUGIN_H_

#include "headrace/base.h"
#include "headrace/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change of the plugins' headers. */
#define HR_PLUGIN_VERSION 2

#if defined(__cplusplus)
#define HR_PLUGIN_EXPORT extern "C" HR_API
#else
#define HR_PLUGIN_EXPORT HR_API
#endif

struct hr_backend_table;   /* plugin_backend.h */
struct hr_transport_table; /* plugin_transport.h */

/* What the host offers. Lives until the plugin's release was called. */
typedef struct hr_plugin_host {
  size_t struct_size;
  uint32_t version; /* HR_PLUGIN_VERSION of the host */
  /* The members up to here stay as they are in every version. */

  void* context; /* the first argument of those functions that take one */

  /* Failures. `node` is the name of the graph's node that is to blame, or NULL. Texts are copied.
   */
  hr_status* (*make_status)(hr_code code, const char* message, const char* node);
  hr_code (*status_code)(const hr_status* status);
  const char* (*status_message)(const hr_status* status);
  const char* (*status_node)(const hr_status* status); /* "" where none applies */
  void (*release_status)(hr_status* status);

  /* Host memory, of the program's own allocator where it gave one. NULL where there is none left;
   * alignment is a power of two. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* data, size_t bytes, size_t alignment);

  void (*log)(void* context, hr_log_level level, const char* message);
  int64_t (*now_nanos)(void* context); /* monotonic */
} hr_plugin_host;

/* What the plugin is. Filled by the entry, read once when that returns; what it points to stays
 * until `release`. */
typedef struct hr_plugin {
  size_t struct_size; /* set by the host */
  uint32_t version;   /* HR_PLUGIN_VERSION of the plugin */
  const char* name;
  /* The members up to here stay as they are in every version. */

  void* self; /* the first argument of the tables' functions that make the first objects */
  /* Called once, after everything made from the plugin has been released. Not after an entry that
   * failed. May be NULL. */
  void (*release)(void* self);

  /* What it has; NULL otherwise. */
  const struct hr_backend_table* backend;
  const struct hr_transport_table* transport;
} hr_plugin;

/* The entry's type. A failure says in one sentence what is missing on this machine, with
 * HR_UNAVAILABLE; programs run on without the plugin. */
typedef hr_status* (*hr_plugin_entry_function)(const hr_plugin_host* host, hr_plugin* out);

/* The first line of an entry: notes who the plugin is, and says whether the host's interface is the
 * one that the plugin was built for. Where it is not, the entry returns NULL at once. */
static inline int hr_plugin_matches(const hr_plugin_host* host, hr_plugin* out, const char* name) {
  out->version = HR_PLUGIN_VERSION;
  out->name = name;
  return host->version == HR_PLUGIN_VERSION;
}

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_H_ */
