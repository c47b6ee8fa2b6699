/* Plugins: backends, transports, native groups, converters and decoders in shared objects of their
 * own.
 *
 * EXPERIMENTAL: until CUDA and UCX have proven this interface, any release may change it. The
 * versions of host and plugin must be equal.
 *
 * A plugin is a shared object, libheadrace_NAME.so, that exports one function, hr_plugin_entry. It
 * does not link libheadrace: it uses only types and constants of the headers, and calls the host
 * through the table that the entry gets. Each env that loads the plugin calls the entry once and
 * gets an instance of its own. The shared object stays loaded until the process ends.
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
 * Tables begin with struct_size. Functions of both sides may be called from any thread unless their
 * description says otherwise. The receiver of an hr_status* owns it. No function of either side may
 * throw an exception.
 */
#ifndef HEADRACE_PLUGIN_H_
#define HEADRACE_PLUGIN_H_

#include "headrace/base.h"
#include "headrace/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the plugin headers. It grows with every change. */
#define HR_PLUGIN_VERSION 7

#if defined(__cplusplus)
#define HR_PLUGIN_EXPORT extern "C" HR_EXPORT
#else
#define HR_PLUGIN_EXPORT HR_EXPORT
#endif

struct hr_plugin_backend_table;   /* plugin_backend.h */
struct hr_plugin_transport_table; /* plugin_transport.h */
struct hr_plugin_converter_table; /* plugin_converter.h */
struct hr_plugin_decoder_table;   /* plugin_decoder.h */
struct hr_plugin_group_table;     /* plugin_group.h */

/* The functions that the host offers. The table lives until the plugin's `release` has returned. */
typedef struct hr_plugin_host {
  size_t struct_size;
  uint32_t version; /* HR_PLUGIN_VERSION of the host */
  /* The members above are the same in every version. */

  void* context; /* the first argument of the functions that take a context */

  /* Failures. `node` is the name of the graph's node that failed, or NULL. Texts are copied. */
  hr_status* (*make_status)(hr_code code, const char* message, const char* node);
  hr_code (*status_code)(const hr_status* status);
  const char* (*status_message)(const hr_status* status);
  const char* (*status_node)(const hr_status* status); /* "" if no node is to blame */
  void (*release_status)(hr_status* status);

  /* Host memory, from the env's allocator. `alignment` is a power of two. `allocate` returns NULL
   * if there is no memory left. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* data, size_t bytes, size_t alignment);

  void (*log)(void* context, hr_log_level level, const char* message);
  int64_t (*now_nanos)(void* context); /* the env's monotonic clock */
} hr_plugin_host;

/* The plugin's description of itself. The entry fills it, and the host reads it once after the
 * entry has returned. What it points to must live until `release` is called. */
typedef struct hr_plugin {
  size_t struct_size; /* set by the host */
  uint32_t version;   /* HR_PLUGIN_VERSION of the plugin */
  const char* name;
  /* The members above are the same in every version. */

  void* self; /* the argument of the tables' functions that take `self` */
  /* Called once, after everything that came from the plugin has been released. It is not called if
   * the entry failed. May be NULL. */
  void (*release)(void* self);

  /* The tables of what the plugin has; NULL for what it does not have. */
  const struct hr_plugin_backend_table* backend;
  const struct hr_plugin_transport_table* transport;
  const struct hr_plugin_converter_table* converter;
  const struct hr_plugin_decoder_table* decoder;
  const struct hr_plugin_group_table* group;
} hr_plugin;

/* The type of the entry. If something is missing on this machine, it returns HR_UNAVAILABLE with a
 * sentence that says what; the program continues without the plugin. */
typedef hr_status* (*hr_plugin_entry_function)(const hr_plugin_host* host, hr_plugin* out);

/* Sets the name and version of the plugin, and returns 1 if the host's interface is the one that
 * the plugin was built for, else 0. An entry calls it first, and returns NULL at once if the result
 * is 0. */
static inline int hr_plugin_matches(const hr_plugin_host* host, hr_plugin* out, const char* name) {
  out->version = HR_PLUGIN_VERSION;
  out->name = name;
  return host->version == HR_PLUGIN_VERSION;
}

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_H_ */
