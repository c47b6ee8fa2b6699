/* The table of a plugin that reads models of another format, such as ONNX. EXPERIMENTAL, see
 * plugin.h. */
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

typedef struct hr_plugin_converter_table {
  size_t struct_size;
  /* The endings of the files that it reads, such as ".onnx", followed by NULL. */
  const char* const* endings;
  /* `self` is hr_plugin.self. Several threads may convert at the same time. `to` is left as it was
   * if the conversion fails; the failure names all that cannot be converted. */
  hr_status* (*convert)(void* self, const hr_plugin_conversion* what);
} hr_plugin_converter_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_CONVERTER_H_ */
