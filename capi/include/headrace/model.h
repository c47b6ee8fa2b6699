/* Models: loaded, verified, immutable graphs. */
#ifndef HEADRACE_MODEL_H_
#define HEADRACE_MODEL_H_

#include "headrace/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded and verified graph. Immutable and thread-safe. Sessions keep their model alive, so the
 * model may be released first. */
typedef struct hr_model hr_model;

typedef struct hr_load_options {
  size_t struct_size;
  /* 1: read the file into memory instead of mapping it. If somebody truncates a mapped file while
   * it is in use, the process gets SIGBUS. Reading is safe against that, but slower. */
  int32_t read_whole_file;
  /* 1: verify the checksums of the tensors. A load without this does not read them. */
  int32_t verify_checksums;
  /* 1: load the model even if it has operators that this library does not know. Such a model can be
   * described and viewed; creating a session of it fails as the load would have failed. */
  int32_t inspect_only;
} hr_load_options;

/* Maps a .hrg file and verifies its structure, without reading the weights. `options` may be NULL,
 * which means defaults. */
HR_API hr_status* hr_model_load(hr_env* env, const char* path,
                                HR_NULLABLE const hr_load_options* options, hr_model** out);
/* Loads a model as hr_model_load does, from the `bytes` bytes at `data`, which must stay unchanged
 * until release(context) is called. If `release` is NULL, the host keeps the memory until the last
 * model, session and tensor that came from it is gone. `options` may be NULL. */
HR_API hr_status* hr_model_load_memory(hr_env* env, HR_KEEPS HR_BYTES(bytes) const void* data,
                                       size_t bytes, void (*release)(void* context), void* context,
                                       HR_NULLABLE const hr_load_options* options, hr_model** out);
/* A file of the host. `read` copies the `bytes` bytes at `offset` to `out`. It is called on the
 * thread that loads, during the load only; the load fails with its failure. `release` is called at
 * the end of a load that succeeds, and may be NULL. */
typedef struct hr_reader {
  size_t struct_size;
  void* context;
  uint64_t total_bytes; /* of the file */
  HR_CALLED_BY(caller)
  hr_status* (*read)(void* context, uint64_t offset, HR_BYTES(bytes) void* out, size_t bytes);
  void (*release)(void* context);
} hr_reader;
/* Loads a model as hr_model_load does, through the functions of the host. `options` may be NULL. */
HR_API hr_status* hr_model_load_callback(hr_env* env, const hr_reader* reader,
                                         HR_NULLABLE const hr_load_options* options,
                                         hr_model** out);
/* Makes a model of the graph as it is now. The graph may grow afterwards without changing the
 * model.
 */
HR_API hr_status* hr_model_from_graph(const hr_graph* graph, hr_model** out);
/* Makes a graph that goes on from the model, with all that the model has: names, constants,
 * variables, signatures, metadata and bounds. The graph shares the memory of the constants and
 * keeps a mapped file mapped. Effects that are added come after those that exist; hr_graph_prune
 * removes those that no signature needs. HR_UNIMPLEMENTED, which names them all, if the model has
 * operators that this library does not know. The model stays as it is and may be released. */
HR_API hr_status* hr_graph_from_model(const hr_model* model, hr_graph** out);
HR_API void hr_model_release(hr_model* model);

/* How a model of another format is converted. */
typedef struct hr_convert_options {
  size_t struct_size;
  /* 0: weights become variables, which can be trained. 1: they become constants. */
  int32_t constants;
  /* 1: what depends on constants alone becomes a constant if it has at most 1 MiB, and what does
   * nothing goes: copies (Identity, Dropout that does not train, casts to the same type), nodes
   * that compute what another one does, and nodes and weights that no output needs. Results stay
   * what they are. A file beside `to`, called as it with ".part" behind, is written meanwhile. 0:
   * every node stays. */
  int32_t simplify;
} hr_convert_options;

/* Converts the model in the file `from` to the .hrg file `to`, which is replaced if this succeeds
 * and left as it was otherwise. The ending of `from` says its format; ".onnx" is read by the plugin
 * "onnx", which is opened if it is needed (see hr_env_load_plugin).
 *
 * Inputs, outputs, nodes and weights keep their names, and operators the version that the file
 * states. The signature is "infer". Floating-point weights, also of nodes Constant, become
 * variables, which can be trained; statistics of BatchNormalization are frozen ones, and numbers
 * that a plan must know constants. Bytes are streamed from the mapped file and those beside it.
 *
 * HR_UNIMPLEMENTED, with one line for each thing that cannot be converted and the nearest way out;
 * HR_INVALID_ARGUMENT if the file is damaged. `options` may be NULL, which means defaults.
 * `out_report` may be NULL; it gets JSON: "producer", "opsets", "nodes", "operators" with their
 * numbers, "variables", "variable_bytes", "constant_bytes", "inputs" and "outputs", all as the file
 * has them; and if it was simplified, "simplified" with the "nodes", "variables", "variable_bytes"
 * and "constant_bytes" that are left. */
HR_API hr_status* hr_model_convert(hr_env* env, const char* from, const char* to,
                                   HR_NULLABLE const hr_convert_options* options,
                                   const hr_limits* limits, HR_NULLABLE hr_text** out_report);

/* How a model is written in another format. */
typedef struct hr_export_options {
  size_t struct_size;
  /* 1: tensors go to a file beside the model, called as it with ".data" behind. 0: they do so only
   * if the model's file would otherwise be larger than its format allows (ONNX: 2 GiB). */
  int32_t external_data;
  /* The signature that is written. NULL: "infer", or the only one. */
  HR_NULLABLE const char* signature;
} hr_export_options;

/* Writes one signature of the .hrg file `from` as a model of another format to `to`, which is
 * replaced if this succeeds and left as it was otherwise; a data file beside it is replaced just
 * before. The ending of `to` says the format; ".onnx" is written by the plugin "onnx".
 *
 * It is the inverse of hr_model_convert: names, operators with their versions and metadata stay,
 * variables and constants become initializers, and bodies name again what was captured for them.
 * ONNX has no words for what trains, communicates or changes variables, nor for bounds of sizes,
 * which are left out. Use hr_session_export first if a session has other values than the file.
 *
 * HR_UNIMPLEMENTED, with one line for each thing that cannot be written. `options` may be NULL,
 * which means defaults. `out_report` may be NULL; it gets JSON: "signature", "opsets", "operators"
 * with their numbers, "bytes", "data_file" ("" if there is none) and "data_bytes". */
HR_API hr_status* hr_model_export(hr_env* env, const char* from, const char* to,
                                  HR_NULLABLE const hr_export_options* options,
                                  const hr_limits* limits, HR_NULLABLE hr_text** out_report);

/* Reads a file with a single tensor. The ending of `path` says its format; ".pb" is an ONNX
 * TensorProto, as in ONNX's test vectors, and is read by the plugin "onnx". `out_name` may be NULL;
 * it gets the tensor's name, "" if it has none. */
HR_API hr_status* hr_tensor_load(hr_env* env, const char* path, hr_tensor** out,
                                 HR_NULLABLE hr_text** out_name);

/* Describes signatures with their types, variables, graphs, operators and metadata as JSON. */
HR_API hr_status* hr_model_describe(const hr_model* model, hr_text** out);

/* The nodes that a view shows. */
typedef struct hr_graph_view {
  size_t struct_size;
  /* The view shows what this signature needs of the main graph. NULL: all nodes. */
  HR_NULLABLE const char* signature;
  uint32_t graph; /* 0: the main graph; others have the numbers of hr_model_describe */
} hr_graph_view;

/* Writes a graph with its nodes. `format` is "json" ("nodes" with name, op, inputs, outputs and
 * attributes; "values" with name and type) or "dot" (for Graphviz). `view` may be NULL, which means
 * the whole main graph. */
HR_API hr_status* hr_model_view(const hr_model* model, const char* format,
                                HR_NULLABLE const hr_graph_view* view, hr_text** out);
/* Calls hr_model_view without a view. */
HR_API hr_status* hr_model_graph_text(const hr_model* model, const char* format, hr_text** out);

/* Describes the parts of a .hrg file as JSON: format version, sizes, segments, checksums. Verifies
 * no more than this needs, so it also works if the file has operators that this library does not
 * know. */
HR_API hr_status* hr_model_file_describe(const char* path, hr_text** out);

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_MODEL_H_ */
