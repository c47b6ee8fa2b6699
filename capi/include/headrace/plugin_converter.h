/* The table of a plugin that reads and writes models of another format, such as ONNX. EXPERIMENTAL,
 * see plugin.h. */
#ifndef HEADRACE_PLUGIN_CONVERTER_H_
#define HEADRACE_PLUGIN_CONVERTER_H_

#include "headrace/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be converted. It lives until `convert` has returned. */
typedef struct hr_plugin_conversion {
  size_t struct_size;
  const char* from;  /* path of a file of the plugin's format */
  const char* to;    /* path of the .hrg file, which is replaced */
  int32_t constants; /* 1: weights become constants instead of variables */
  void* context;     /* the first argument of the functions below */
  /* Returns 1 if the conversion must end; asked by the converting thread at least every 100 ms. */
  int32_t (*stopped)(void* context);
  /* Takes the report, see hr_model_convert; called once if the conversion succeeds. */
  void (*report)(void* context, const char* json);
} hr_plugin_conversion;

/* What is to be written. It lives until `write` has returned. */
typedef struct hr_plugin_writing {
  size_t struct_size;
  const char* from;      /* path of a .hrg file */
  const char* to;        /* path of a file of the plugin's format, which is replaced */
  const char* signature; /* NULL: the plugin chooses, see hr_export_options */
  int32_t external_data; /* 1: tensors go to a file beside `to` */
  void* context;         /* the first argument of the functions below */
  /* As in hr_plugin_conversion; the report is that of hr_model_export. */
  int32_t (*stopped)(void* context);
  void (*report)(void* context, const char* json);
} hr_plugin_writing;

/* A tensor that a plugin has read: dense, row-major. All pointers are valid during the call. */
typedef struct hr_plugin_read_tensor {
  size_t struct_size;
  const char* name; /* "" if the file gives none */
  int32_t dtype;    /* hr_dtype */
  size_t rank;
  const int64_t* dims;
  const void* data;
  size_t bytes;
} hr_plugin_read_tensor;

typedef struct hr_plugin_converter_table {
  size_t struct_size;
  /* The endings of the models that it reads and writes, such as ".onnx", and of the tensors that it
   * reads, such as ".pb", each list followed by NULL. */
  const char* const* endings;
  const char* const* tensor_endings;
  /* `self` is hr_plugin.self. Several threads may call the functions at the same time. `to` is left
   * as it was if the conversion fails; the failure names all that cannot be converted. */
  hr_status* (*convert)(void* self, const hr_plugin_conversion* what);
  /* The other direction, for files with one of the endings. */
  hr_status* (*write)(void* self, const hr_plugin_writing* what);
  /* Reads the file `path`, which has one tensor of the plugin's format and nothing else, and calls
   * `take` once, whose failure is passed on. */
  hr_status* (*read_tensor)(void* self, const char* path, void* context,
                            hr_status* (*take)(void* context, const hr_plugin_read_tensor*));
} hr_plugin_converter_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_CONVERTER_H_ */
