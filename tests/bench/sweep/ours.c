// Our side of the sweep: the networks of models/networks_torch.py, from their ONNX files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "side.h"

enum { kMostBatch = 64, kDims = 8 };
static const double kSeconds = 0.4;  // of a measurement

// The cell that was asked for last; only its model is in memory.
typedef struct Cell {
  char name[64];
  hr_env* env;
  hr_call* call;
  int training, count;  // `count` calls make a measurement; 0: not known yet
} Cell;

static void PathOf(const char* network, const char* what, char (*path)[512]) {
  snprintf(*path, sizeof *path, "%s/%s-%s", bench_scratch(), network, what);
}

// The graph of NETWORK-MODE.onnx, converted as one would for the purpose.
static const char* Convert(hr_env* env, const char* network, int training, hr_graph** out) {
  char from[512], to[512];
  hr_model* model;
  hr_convert_options options = {
      .struct_size = sizeof options, .constants = !training, .simplify = 1};
  PathOf(network, training ? "train.onnx" : "infer.onnx", &from);
  snprintf(to, sizeof to, "%s/%s-%d.hrg", bench_scratch(), network, (int)getpid());
  BENCH_TRY(hr_model_convert(env, from, to, &options, NULL, NULL));
  const char* error = bench_error(hr_model_load(env, to, NULL, &model));
  remove(to);  // what is mapped stays
  BENCH_DO(error);
  error = bench_error(hr_graph_from_model(model, out));
  hr_model_release(model);
  return error;
}

// The optimizer, without the end of its line, and its learning rate.
static const char* ReadOptimizer(const char* network, char (*optimizer)[100], double* rate) {
  char path[512];
  PathOf(network, "optimizer.txt", &path);
  FILE* file = fopen(path, "r");
  if (file == NULL) return "no file says how the network is trained";
  int read = fscanf(file, "%99[^\n] %lf", *optimizer, rate);
  fclose(file);
  return read == 2 ? NULL : "expected an optimizer and a learning rate";
}

// Adds the signature "train" with an output "loss".
static const char* AddTraining(hr_graph* graph, size_t label_rank, const char* optimizer) {
  const int64_t open[kDims] = {-1, -1, -1, -1, -1, -1, -1, -1};
  hr_value x, labels, rate, scores, loss;
  BENCH_TRY(hr_graph_find_value(graph, "x", &x));
  BENCH_TRY(hr_graph_find_value(graph, "scores", &scores));
  BENCH_TRY(hr_graph_input(graph, "labels", HR_INT64, label_rank, open, NULL, &labels));
  BENCH_TRY(hr_graph_input(graph, "learning_rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  BENCH_TRY(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (hr_value[]){scores, labels}, 1,
                        &loss));
  BENCH_TRY(hr_graph_minimize(graph, "train", loss, optimizer, rate));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "x", x));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "labels", labels));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "learning_rate", rate));
  BENCH_TRY(hr_graph_signature_output(graph, "train", "loss", loss));
  return NULL;
}

static void ReleaseTensor(void* tensor) { hr_tensor_release(tensor); }

// The first `batch` of the examples in NETWORK-WHAT.pb.
static const char* Load(hr_env* env, const char* network, const char* what, int batch,
                        hr_tensor** out) {
  char path[512], file[40];
  hr_tensor* all;
  int64_t dims[kDims];
  snprintf(file, sizeof file, "%s.pb", what);
  PathOf(network, file, &path);
  BENCH_TRY(hr_tensor_load(env, path, &all, NULL));
  size_t rank = hr_tensor_rank(all);
  if (rank < 1 || rank > kDims) return "expected a tensor of 1 to 8 dimensions";
  memcpy(dims, hr_tensor_dims(all), rank * sizeof *dims);
  dims[0] = dims[0] / kMostBatch * batch;
  BENCH_TRY(hr_tensor_wrap(hr_tensor_dtype(all), rank, dims, hr_tensor_data(all),
                           hr_tensor_bytes(all) / kMostBatch * (size_t)batch, ReleaseTensor, all,
                           out));
  return NULL;
}

static const char* MakeCall(const hr_graph* graph, const char* signature, hr_call** out) {
  hr_model* model;
  hr_session* session;
  BENCH_TRY(hr_model_from_graph(graph, &model));
  const char* error = bench_error(hr_session_create(model, NULL, NULL, &session));
  hr_model_release(model);
  BENCH_DO(error);
  error = bench_error(hr_call_create(session, signature, out));
  hr_session_release(session);
  return error;
}

static const char* Bind(hr_call* call, const char* name, hr_tensor* tensor) {
  const char* error = bench_error(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
  return error;
}

static const char* Start(Cell* cell, const char* network, int batch) {
  hr_graph* graph;
  hr_tensor *x, *labels;
  char optimizer[100];
  double rate;
  BENCH_DO(Convert(cell->env, network, cell->training, &graph));
  BENCH_DO(Load(cell->env, network, "x", batch, &x));
  if (cell->training) {
    BENCH_DO(ReadOptimizer(network, &optimizer, &rate));
    BENCH_DO(Load(cell->env, network, "labels", batch, &labels));
    BENCH_DO(AddTraining(graph, hr_tensor_rank(labels), optimizer));
  }
  BENCH_DO(MakeCall(graph, cell->training ? "train" : "infer", &cell->call));
  hr_graph_release(graph);
  BENCH_DO(Bind(cell->call, "x", x));
  if (!cell->training) return NULL;
  BENCH_DO(Bind(cell->call, "labels", labels));
  BENCH_TRY(hr_call_bind_scalar(cell->call, "learning_rate", rate));
  return NULL;
}

// Values that the others have to agree with: the losses of the first `count` steps, or `count`
// elements of the scores.
static const char* Check(const Cell* cell, int count, double* values) {
  hr_tensor* result;
  for (int i = 0; i < count; ++i) {
    if (i == 0 || cell->training) BENCH_TRY(hr_call_run(cell->call, NULL));
    BENCH_TRY(hr_call_result(cell->call, cell->training ? "loss" : "scores", &result));
    int64_t at = hr_tensor_elements(result) * i / count;
    values[i] = ((const float*)hr_tensor_data(result))[cell->training ? 0 : at];
    hr_tensor_release(result);
  }
  return NULL;
}

static const char* Time(Cell* cell, double* value) {
  if (cell->count == 0) {
    double once;
    BENCH_DO(bench_seconds_each(bench_run_call, cell->call, 1, 1, &once));
    cell->count = once < kSeconds ? (int)(kSeconds / once) : 1;
  }
  BENCH_DO(bench_seconds_each(bench_run_call, cell->call, cell->count, 1, value));
  *value *= 1e3;
  return NULL;
}

// "NETWORK/MODE/BATCH/WHAT"
static const char* Split(const char* name, char (*network)[32], char (*mode)[16], int* batch,
                         char (*what)[16]) {
  int fields = sscanf(name, "%31[^/]/%15[^/]/%d/%15s", *network, *mode, batch, *what);
  if (fields != 4 || *batch < 1 || *batch > kMostBatch) {
    return "expected NETWORK/MODE/BATCH/WHAT with a batch from 1 to 64";
  }
  return NULL;
}

// Makes it the cell of `name`, whose last `ignored` characters do not count.
static const char* Switch(Cell* cell, const char* name, size_t ignored, const char* network,
                          const char* mode, int batch) {
  size_t length = strlen(name) - ignored;
  if (strlen(cell->name) == length && strncmp(cell->name, name, length) == 0) return NULL;
  if (cell->call != NULL) hr_call_release(cell->call);
  *cell = (Cell){.env = cell->env, .training = strcmp(mode, "train") == 0};
  bench_forget_peak();
  BENCH_DO(Start(cell, network, batch));
  snprintf(cell->name, sizeof cell->name, "%.*s", (int)length, name);
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static Cell cell;
  char network[32], mode[16], what[16];
  int batch;
  BENCH_DO(Split(name, &network, &mode, &batch, &what));
  if (cell.env == NULL) BENCH_DO(bench_env(&cell.env));
  BENCH_DO(Switch(&cell, name, strlen(what), network, mode, batch));
  if (strcmp(what, "check") == 0) return Check(&cell, repeats, values);
  for (int i = 0; i < repeats; ++i) {
    if (strcmp(what, "peak") == 0) {
      values[i] = bench_peak_resident_bytes();
    } else {
      BENCH_DO(Time(&cell, &values[i]));
    }
  }
  return NULL;
}

int main(void) { return bench_serve(Run); }
