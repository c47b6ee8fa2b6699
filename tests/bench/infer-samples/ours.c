// Our side: the models of the samples, from their ONNX files.
#include <string.h>

#include "cells.h"

enum { kMostInputs = 8, kMostName = 128 };

typedef struct Names {
  size_t input_count;
  char inputs[kMostInputs][kMostName], output[kMostName];  // all inputs, and the first output
} Names;

static Names names;  // of the model that was loaded last

static const char* FindNames(const hr_graph* graph, const char* signature) {
  size_t index;
  hr_signature_info info = {.struct_size = sizeof info};
  BENCH_TRY(hr_graph_find_signature(graph, signature, &index));
  BENCH_TRY(hr_graph_get_signature(graph, index, &info));
  if (info.input_count > kMostInputs) return "too many inputs";
  names.input_count = info.input_count;
  for (size_t i = 0; i < info.input_count; ++i) {
    snprintf(names.inputs[i], kMostName, "%s", info.input_names[i]);
  }
  snprintf(names.output, kMostName, "%s", info.output_names[0]);
  return NULL;
}

static const char* BindInput(hr_env* env, hr_call* call, const char* model, int batch,
                             const char* name) {
  char path[1024];
  hr_tensor* input;
  snprintf(path, sizeof path, "%s/%s-%d-%s.pb", bench_scratch(), model, batch, name);
  BENCH_TRY(hr_tensor_load(env, path, &input, NULL));
  return bench_bind_tensor(call, name, input);
}

static const char* Start(hr_env* env, const char* model, const char* mode, int batch,
                         hr_call** out) {
  hr_graph* graph;
  BENCH_DO(bench_converted(env, model, mode, 1, &graph));
  BENCH_DO(FindNames(graph, mode));
  BENCH_DO(bench_call_of(graph, mode, out));
  for (size_t i = 0; i < names.input_count; ++i) {
    BENCH_DO(BindInput(env, *out, model, batch, names.inputs[i]));
  }
  return NULL;
}

static const char* Check(hr_call* call, const char* mode, int count, double* values) {
  (void)mode;
  BENCH_TRY(hr_call_run(call, NULL));
  return bench_elements(call, names.output, count, values);
}

int main(void) { return bench_serve_cells(Start, Check); }
