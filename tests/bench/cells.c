#include "cells.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kDims = 8, kMostRuns = 1000 };
static const double kSeconds = 0.4;  // of a measurement

static struct {
  bench_start* start;
  bench_check* check;
} functions;

// The cell that was asked for last.
typedef struct Cell {
  char name[100], row[64], mode[16];
  hr_env* env;
  hr_call* call;
  int runs;  // of a measurement; 0: not known yet
} Cell;

// ROW/MODE/COLUMN/WHAT
static const char* Split(const char* name, Cell* cell, int* batch, char (*what)[16]) {
  int fields = sscanf(name, "%63[^/]/%15[^/]/%d/%15s", cell->row, cell->mode, batch, *what);
  if (fields != 4 || *batch < 1 || *batch > kMostBatch) {
    return "expected ROW/MODE/COLUMN/WHAT with a column from 1 to 64";
  }
  snprintf(cell->name, sizeof cell->name, "%s/%s/%d", cell->row, cell->mode, *batch);
  return NULL;
}

static int ByValue(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Milliseconds of a run: the median of those that fit into the time.
static const char* Time(Cell* cell, double* value) {
  double times[kMostRuns];
  if (cell->runs == 0) {
    BENCH_DO(bench_seconds_each(bench_run_call, cell->call, 1, 1, times));
    double runs = kSeconds / times[0];
    cell->runs = runs < 1 ? 1 : runs < kMostRuns ? (int)runs : kMostRuns;
  }
  BENCH_DO(bench_seconds_each(bench_run_call, cell->call, 1, cell->runs, times));
  qsort(times, (size_t)cell->runs, sizeof *times, ByValue);
  *value = 1e3 * times[cell->runs / 2];
  return NULL;
}

static const char* Answer(Cell* cell, const char* what, int repeats, double* values) {
  if (strcmp(what, "check") == 0) {
    return functions.check(cell->call, cell->mode, repeats, values);
  }
  for (int i = 0; i < repeats; ++i) {
    if (strcmp(what, "peak") == 0) {
      values[i] = bench_peak_resident_bytes();
    } else {
      BENCH_DO(Time(cell, &values[i]));
    }
  }
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static Cell cell;
  Cell asked = {.env = cell.env};
  int batch;
  char what[16];
  BENCH_DO(Split(name, &asked, &batch, &what));
  if (asked.env == NULL) BENCH_DO(bench_env(&asked.env));
  if (cell.call == NULL || strcmp(cell.name, asked.name) != 0) {
    if (cell.call != NULL) hr_call_release(cell.call);
    cell = asked;
    bench_forget_peak();
    BENCH_DO(functions.start(cell.env, cell.row, cell.mode, batch, &cell.call));
  }
  return Answer(&cell, what, repeats, values);
}

int bench_serve_cells(bench_start* start, bench_check* check) {
  functions.start = start;
  functions.check = check;
  return bench_serve(Run);
}

static void PathOf(const char* row, const char* what, const char* ending, char (*path)[512]) {
  snprintf(*path, sizeof *path, "%s/%s-%s.%s", bench_scratch(), row, what, ending);
}

const char* bench_converted(hr_env* env, const char* row, const char* mode, int constants,
                            hr_graph** out) {
  char from[512], to[512];
  hr_model* model;
  hr_convert_options options = {
      .struct_size = sizeof options, .constants = constants, .simplify = 1};
  PathOf(row, mode, "onnx", &from);
  snprintf(to, sizeof to, "%s/%s-%d.hrg", bench_scratch(), row, (int)getpid());
  BENCH_TRY(hr_model_convert(env, from, to, &options, NULL, NULL));
  const char* error = bench_error(hr_model_load(env, to, NULL, &model));
  remove(to);  // what is mapped stays
  BENCH_DO(error);
  error = bench_error(hr_graph_from_model(model, out));
  hr_model_release(model);
  return error;
}

const char* bench_open(const char* row, const char* what, FILE** out) {
  static char sentence[600];
  char path[512];
  PathOf(row, what, "txt", &path);
  *out = fopen(path, "r");
  if (*out != NULL) return NULL;
  snprintf(sentence, sizeof sentence, "cannot open %s", path);
  return sentence;
}

static void ReleaseTensor(void* tensor) { hr_tensor_release(tensor); }

const char* bench_examples(hr_env* env, const char* row, const char* what, int batch,
                           hr_tensor** out) {
  char path[512];
  hr_tensor* all;
  int64_t dims[kDims];
  PathOf(row, what, "pb", &path);
  BENCH_TRY(hr_tensor_load(env, path, &all, NULL));
  size_t rank = hr_tensor_rank(all);
  if (rank < 1 || rank > kDims) return "expected a tensor of 1 to 8 dimensions";
  memcpy(dims, hr_tensor_dims(all), rank * sizeof *dims);
  if (dims[0] % kMostBatch != 0) return "expected examples for a batch of 64";
  dims[0] = dims[0] / kMostBatch * batch;
  BENCH_TRY(hr_tensor_wrap(hr_tensor_dtype(all), rank, dims, hr_tensor_data(all),
                           hr_tensor_bytes(all) / kMostBatch * (size_t)batch, ReleaseTensor, all,
                           out));
  return NULL;
}

const char* bench_call_of(hr_graph* graph, const char* signature, hr_call** out) {
  hr_model* model;
  hr_session* session;
  BENCH_TRY(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  const hr_session_options options = {.struct_size = sizeof options,
                                      .pin = getenv("HEADRACE_BENCH_PIN")};
  const char* error = bench_error(hr_session_create(model, &options, NULL, &session));
  hr_model_release(model);
  BENCH_DO(error);
  error = bench_error(hr_call_create(session, signature, out));
  hr_session_release(session);
  return error;
}

const char* bench_bind_tensor(hr_call* call, const char* name, hr_tensor* tensor) {
  const char* error = bench_error(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
  return error;
}

int64_t bench_place(int64_t elements, int i, int count) {
  int64_t begin = elements * i / count, end = elements * (i + 1) / count;
  uint32_t turn = (uint32_t)i * 2654435769u;  // Knuth's multiplicative hashing
  return begin + (int64_t)((uint64_t)(end - begin) * turn >> 32);
}

const char* bench_elements(hr_call* call, const char* output, int count, double* values) {
  hr_tensor* result;
  BENCH_TRY(hr_call_result(call, output, &result));
  for (int i = 0; i < count; ++i) {
    int64_t at = bench_place(hr_tensor_elements(result), i, count);
    values[i] = ((const float*)hr_tensor_data(result))[at];
  }
  hr_tensor_release(result);
  return NULL;
}
