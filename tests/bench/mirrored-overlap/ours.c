// A training step of an MLP between N "hosts" at 1 Gbit/s, as a multiple of what it must take at
// least: forward + max(backward, 2X(N-1)/(N rate)) + the transfer of the last bucket; or in
// milliseconds. Forward and backward are measured by the same processes in the same run, all at
// once and without a group. mlp.py has the same network.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/hosts.h"

enum { kInputs = 784, kClasses = 10, kHidden = 3, kBatch = 2048 };
enum { kTimeout = 60, kWarm = 2, kSteps = 4 };
// Bytes a second of payload; see harness/shaped.py.
static const double kRate = 1e9 / 8 * (1500 - 40 - 12) / (1500 + 14);

static struct {
  int width, overlap;  // of the case, which all ranks know before they start
  int starts;          // each meets at another place
  char model[32];      // of the case, with -off
  int milliseconds;    // what is asked for
  int size;
  hr_group* group;
  hr_call *eval, *alone, *together;
} self;

static hr_value Op(hr_graph* graph, const char* name, const char* attributes, hr_value x) {
  hr_value out = HR_NONE;
  hr_status_release(hr_graph_op(graph, name, attributes, 1, &x, 1, &out));
  return out;
}

static const char* Signature(hr_graph* graph, const char* name, hr_value x, hr_value labels,
                             hr_value loss) {
  BENCH_TRY(hr_graph_signature_input(graph, name, "x", x));
  BENCH_TRY(hr_graph_signature_input(graph, name, "labels", labels));
  BENCH_TRY(hr_graph_signature_output(graph, name, "loss", loss));
  return NULL;
}

static const char* Rate(hr_env* env, hr_graph* graph, hr_value* out) {
  hr_tensor* tensor;
  BENCH_TRY(hr_tensor_create(env, HR_FLOAT32, 0, NULL, &tensor));
  *(float*)hr_tensor_data(tensor) = 1e-4f;
  BENCH_TRY(hr_graph_constant(graph, "rate", tensor, out));
  hr_tensor_release(tensor);
  return NULL;
}

// "eval" computes the loss, "train" a step.
static const char* Build(hr_env* env, int communicates, hr_graph** out) {
  const int64_t dims[2] = {kBatch, kInputs};
  hr_value x, labels, loss, rate, both[2];
  char name[16];
  BENCH_TRY(hr_graph_create(env, out));
  BENCH_TRY(hr_graph_input(*out, "x", HR_FLOAT32, 2, dims, NULL, &x));
  BENCH_TRY(hr_graph_input(*out, "labels", HR_INT64, 1, dims, NULL, &labels));
  both[0] = x;
  for (int i = 0; i <= kHidden; ++i) {
    snprintf(name, sizeof name, "fc%d", i);
    BENCH_TRY(hr_graph_dense(*out, name, both[0], self.width, &both[0]));
    both[0] = Op(*out, "Relu", NULL, both[0]);
  }
  BENCH_TRY(hr_graph_dense(*out, "scores", both[0], kClasses, &both[0]));
  both[1] = labels;
  BENCH_TRY(hr_graph_op(*out, "SoftmaxCrossEntropyLoss", NULL, 2, both, 1, &loss));
  BENCH_DO(Rate(env, *out, &rate));
  BENCH_DO(Signature(*out, "eval", x, labels, loss));
  BENCH_DO(Signature(*out, "train", x, labels, loss));
  BENCH_TRY(hr_graph_minimize(*out, "train", loss, "sgd", rate));
  if (!communicates) return NULL;
  // A bucket for each layer.
  BENCH_TRY(hr_graph_distribute(
      *out, "train", "workers",
      self.overlap ? "mirrored bucket=4194304" : "mirrored bucket=4194304 overlap=off"));
  return NULL;
}

static const char* Bind(hr_env* env, hr_session* session, const char* signature, hr_call** out) {
  const int64_t dims[2] = {kBatch, kInputs};
  hr_tensor *x, *labels;
  BENCH_TRY(hr_call_create(session, signature, out));
  BENCH_TRY(hr_tensor_create(env, HR_FLOAT32, 2, dims, &x));
  BENCH_TRY(hr_tensor_create(env, HR_INT64, 1, dims, &labels));
  for (int64_t i = 0; i < hr_tensor_elements(x); ++i)
    ((float*)hr_tensor_data(x))[i] = (float)(i * 7919 % 256) / 255;
  for (int64_t i = 0; i < kBatch; ++i) ((int64_t*)hr_tensor_data(labels))[i] = i % kClasses;
  BENCH_TRY(hr_call_bind(*out, "x", x));
  BENCH_TRY(hr_call_bind(*out, "labels", labels));
  hr_tensor_release(x);
  hr_tensor_release(labels);
  return NULL;
}

static const char* Open(hr_env* env, int communicates, hr_session** session) {
  const hr_session_options options = {.struct_size = sizeof options, .seed = 1};
  hr_graph* graph;
  hr_model* model;
  BENCH_DO(Build(env, communicates, &graph));
  BENCH_TRY(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  BENCH_TRY(hr_session_create(model, &options, NULL, session));
  hr_model_release(model);
  return NULL;
}

static const char* Join(int rank, int size) {
  hr_env* env;
  hr_session *apart, *joined;
  char store[512], address[32];
  const hr_env_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  snprintf(store, sizeof store, "file:%s/overlap-%d-%d", bench_scratch(), (int)getppid(),
           self.starts);
  hosts_address(rank, address, sizeof address);
  const hr_group_options options = {.struct_size = sizeof options,
                                    .rank = rank,
                                    .size = size,
                                    .store_url = store,
                                    .transport = "tcp",
                                    .address = address,
                                    .trusted_fabric = 1,
                                    .timeout_nanos = kTimeout * 1000000000ll};
  unsetenv("HEADRACE_SECRET");
  self.size = size;
  bench_bind(rank, size);
  BENCH_TRY(hr_env_create(&one_thread, &env));
  BENCH_TRY(hr_group_create(env, &options, NULL, &self.group));
  BENCH_DO(Open(env, 0, &apart));
  BENCH_DO(Open(env, 1, &joined));
  BENCH_TRY(hr_session_bind_group(joined, "workers", self.group, NULL));
  BENCH_DO(Bind(env, apart, "eval", &self.eval));
  BENCH_DO(Bind(env, apart, "train", &self.alone));
  return Bind(env, joined, "train", &self.together);
}

// Seconds of a run, the slowest rank's.
static const char* Time(hr_call* call, double* seconds) {
  for (int i = 0; i < kWarm; ++i) BENCH_TRY(hr_call_run(call, NULL));
  BENCH_TRY(hr_barrier(self.group, NULL));
  const double begin = bench_now();
  for (int i = 0; i < kSteps; ++i) BENCH_TRY(hr_call_run(call, NULL));
  *seconds = (bench_now() - begin) / kSteps;
  BENCH_TRY(hr_all_reduce(self.group, seconds, seconds, 1, HR_FLOAT64, HR_MAX, NULL));
  return NULL;
}

static double Transfer(double elements) {
  return 2 * 4 * elements * (self.size - 1) / self.size / kRate;
}

static const char* Step(double* value) {
  double forward, step, together;
  BENCH_DO(Time(self.eval, &forward));
  BENCH_DO(Time(self.alone, &step));
  BENCH_DO(Time(self.together, &together));
  const double width = self.width, last = kInputs * width + width;
  const double all = last + kHidden * (width * width + width) + (width + 1) * kClasses;
  const double backward = step - forward, transfer = Transfer(all);
  const double least = forward + (backward > transfer ? backward : transfer) + Transfer(last);
  if (getenv("BENCH_VERBOSE") != NULL) {
    fprintf(stderr, "forward %.1f ms, backward %.1f, transfer %.1f, last %.1f, together %.1f\n",
            1e3 * forward, 1e3 * backward, 1e3 * transfer, 1e3 * Transfer(last), 1e3 * together);
  }
  *value = self.milliseconds ? 1e3 * together : together / least;
  return NULL;
}

// "n2-25MB", "n2-25MB-off", "n2-25MB-ms", "n2-25MB-off-ms"
static const char* Run(const char* name, int repeats, double* values) {
  int size, megabytes;
  char rest[8] = "", model[32];
  if (sscanf(name, "n%d-%dMB%7s", &size, &megabytes, rest) < 2 || size < 2 || size > HOSTS_MAX)
    return "expected nN-XMB, perhaps with -off and -ms, and 2 to 16 ranks";
  self.overlap = strstr(rest, "-off") == NULL;
  self.width = megabytes >= 100 ? 2832 : 1354;  // three layers of width x width and one of inputs
  snprintf(model, sizeof model, "n%d-%d-%d", size, megabytes, self.overlap);
  const int milliseconds = strstr(rest, "-ms") != NULL;
  if (strcmp(model, self.model) != 0 || milliseconds != self.milliseconds) {
    hosts_stop();
    ++self.starts;
    self.milliseconds = milliseconds;
    snprintf(self.model, sizeof self.model, "%s", model);
    BENCH_DO(hosts_start(size, 1, Join, Step));
  }
  for (int i = 0; i < repeats; ++i) BENCH_DO(hosts_measure(&values[i]));
  return NULL;
}

int main(void) { return bench_serve(Run); }
