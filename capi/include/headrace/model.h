/* Models: loaded, verified, immutable graphs. */
#ifndef HEADRACE_MODEL_H_
#define HEADRACE_MODEL_H_

#include "headrace/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Thread-safe. Sessions keep their model alive, so it may be released first. */
typedef struct hr_model hr_model;

typedef struct hr_load_options {
  size_t struct_size;
  /* Read the file into memory instead of mapping it. A mapped file that somebody truncates while it
   * is in use raises SIGBUS, in any program; reading is proof against that, and slower. */
  int32_t read_whole_file;
  /* Verify the tensors' checksums, which loading alone does not look at. */
  int32_t verify_checksums;
  /* Take operators that this library does not know: the model can be described and viewed, and
   * sessions of it fail as the load would have. */
  int32_t inspect_only;
} hr_load_options;

/* Maps and verifies a .hrg file; the weights are not read. options NULL: defaults. */
HR_API hr_status* hr_model_load(hr_env* env, const char* path, const hr_load_options* options,
                                hr_model** out);
/* The same from memory, which must stay unchanged until release(context) is called. With release
 * NULL the host keeps it until the last model, session and tensor of it is gone. */
HR_API hr_status* hr_model_load_memory(hr_env* env, const void* data, size_t bytes,
                                       void (*release)(void* context), void* context,
                                       const hr_load_options* options, hr_model** out);
/* The same through a function that reads `bytes` at `offset` and returns 0, or another number for
 * failure. It is called only during the load. */
HR_API hr_status* hr_model_load_callback(hr_env* env, uint64_t total_bytes,
                                         int (*read)(void* context, uint64_t offset, void* out,
                                                     size_t bytes),
                                         void* context, const hr_load_options* options,
                                         hr_model** out);
/* The graph as it is now; it may grow further afterwards without changing the model. */
HR_API hr_status* hr_model_from_graph(const hr_graph* graph, hr_model** out);
HR_API void hr_model_release(hr_model* model);

/* Signatures with types, variables, graphs, operators and metadata, as JSON. */
HR_API hr_status* hr_model_describe(const hr_model* model, hr_text** out);

/* Which nodes a text shows. */
typedef struct hr_graph_view {
  size_t struct_size;
  const char* signature; /* what this signature needs of the main graph; NULL: all */
  uint32_t graph;        /* 0: the main one; others are numbered as hr_model_describe lists them */
} hr_graph_view;

/* A graph with its nodes, as JSON ("nodes": name, op, inputs, outputs, attributes; "values": name,
 * type) or for Graphviz ("dot"). view NULL: all of the main graph. */
HR_API hr_status* hr_model_view(const hr_model* model, const char* format,
                                const hr_graph_view* view, hr_text** out);
/* hr_model_view with the view NULL. */
HR_API hr_status* hr_model_graph_text(const hr_model* model, const char* format, hr_text** out);

/* Of what parts a .hrg file consists, as JSON: format version, sizes, segments, checksums. Verifies
 * no more than it needs; works where loading fails for an operator that this library lacks. */
HR_API hr_status* hr_model_file_describe(const char* path, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_MODEL_H_ */
