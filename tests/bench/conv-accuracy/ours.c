// Rounding errors of convolutions: rms(error) / rms(result), over a sample of the elements.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "side.h"

enum { kSamples = 2000 };

// Square images and kernels, padded by half a kernel.
typedef struct Conv {
  int64_t kernel, stride, inputs, outputs, size, batch, out;
} Conv;

typedef struct Values {
  size_t count;
  float* data;
} Values;

// The tensors of one convolution; y, dx and dw are what was computed.
typedef struct Tensors {
  Values x, w, dy, y, dx, dw;
} Tensors;

static uint32_t state = 1;
static uint32_t Random(void) { return (state = state * 1664525 + 1013904223) >> 8; }

static const char* Fill(size_t count, Values* out) {
  out->count = count;
  out->data = malloc(sizeof(float) * count);
  if (out->data == NULL) return "no memory for a tensor";
  for (size_t i = 0; i < count; ++i) out->data[i] = (float)Random() / (1 << 23) - 1;
  return NULL;
}

static const char* Make(const Conv* c, Tensors* t) {
  size_t x = (size_t)(c->batch * c->inputs * c->size * c->size);
  size_t y = (size_t)(c->batch * c->outputs * c->out * c->out);
  size_t w = (size_t)(c->outputs * c->inputs * c->kernel * c->kernel);
  BENCH_DO(Fill(x, &t->x));
  BENCH_DO(Fill(w, &t->w));
  BENCH_DO(Fill(y, &t->dy));
  BENCH_DO(Fill(y, &t->y));
  BENCH_DO(Fill(x, &t->dx));
  return Fill(w, &t->dw);
}

static void Free(Tensors* t) {
  Values* all[] = {&t->x, &t->w, &t->dy, &t->y, &t->dx, &t->dw};
  for (int i = 0; i < 6; ++i) free(all[i]->data);
}

// Signature "all": inputs x, w and dy, outputs y, dx and dw.
static const char* Build(hr_graph* graph, const Conv* c) {
  const char* const names[] = {"x", "w", "dy", "y", "dx", "dw"};
  const int64_t dims[][4] = {{c->batch, c->inputs, c->size, c->size},
                             {c->outputs, c->inputs, c->kernel, c->kernel},
                             {c->batch, c->outputs, c->out, c->out}};
  char attributes[200];
  hr_value v[6], weighted;
  long long pad = (long long)c->kernel / 2, stride = (long long)c->stride;
  snprintf(attributes, sizeof attributes, "pads=%lld,%lld,%lld,%lld strides=%lld,%lld", pad, pad,
           pad, pad, stride, stride);
  for (int i = 0; i < 3; ++i) {
    BENCH_TRY(hr_graph_input(graph, names[i], HR_FLOAT32, 4, dims[i], NULL, &v[i]));
    BENCH_TRY(hr_graph_signature_input(graph, "all", names[i], v[i]));
  }
  BENCH_TRY(hr_graph_op(graph, "Conv", attributes, 2, v, 1, &v[3]));
  BENCH_TRY(hr_graph_op(graph, "Mul", NULL, 2, (hr_value[]){v[3], v[2]}, 1, &weighted));
  BENCH_TRY(hr_graph_add_gradients(graph, weighted, 2, v, &v[4]));
  for (int i = 3; i < 6; ++i) {
    BENCH_TRY(hr_graph_signature_output(graph, "all", names[i], v[i]));
  }
  return NULL;
}

static const char* Bind(hr_call* call, const char* name, const int64_t* dims, const Values* from) {
  hr_tensor* tensor;
  BENCH_TRY(hr_tensor_wrap(HR_FLOAT32, 4, dims, from->data, sizeof(float) * from->count, NULL, NULL,
                           &tensor));
  const char* error = bench_error(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
  return error;
}

static const char* Call(hr_call* call, const Conv* c, const Tensors* t) {
  BENCH_DO(Bind(call, "x", (int64_t[]){c->batch, c->inputs, c->size, c->size}, &t->x));
  BENCH_DO(Bind(call, "w", (int64_t[]){c->outputs, c->inputs, c->kernel, c->kernel}, &t->w));
  BENCH_DO(Bind(call, "dy", (int64_t[]){c->batch, c->outputs, c->out, c->out}, &t->dy));
  BENCH_TRY(hr_call_output(call, "y", t->y.data, sizeof(float) * t->y.count));
  BENCH_TRY(hr_call_output(call, "dx", t->dx.data, sizeof(float) * t->dx.count));
  BENCH_TRY(hr_call_output(call, "dw", t->dw.data, sizeof(float) * t->dw.count));
  BENCH_TRY(hr_call_run(call, NULL));
  return NULL;
}

static const char* Compute(hr_env* env, const Conv* c, const Tensors* t) {
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  BENCH_TRY(hr_graph_create(env, &graph));
  BENCH_DO(Build(graph, c));
  BENCH_TRY(hr_model_from_graph(graph, &model));
  BENCH_TRY(hr_session_create(model, NULL, NULL, &session));
  BENCH_TRY(hr_call_create(session, "all", &call));
  const char* error = Call(call, c, t);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_graph_release(graph);
  return error;
}

// The input row or column that tap k of output o reads, or -1.
static int64_t Reads(const Conv* c, int64_t o, int64_t k) {
  int64_t in = o * c->stride + k - c->kernel / 2;
  return in < c->size ? in : -1;
}

// The element of y, dx or dw at place `at`, exactly enough.
static double Forward(const Conv* c, const Tensors* t, size_t at) {
  int64_t column = (int64_t)at % c->out, row = (int64_t)at / c->out % c->out;
  int64_t o = (int64_t)at / (c->out * c->out) % c->outputs;
  int64_t n = (int64_t)at / (c->out * c->out * c->outputs);
  const float* w = t->w.data + o * c->inputs * c->kernel * c->kernel;
  double sum = 0;
  for (int64_t i = 0; i < c->inputs; ++i) {
    const float* x = t->x.data + (n * c->inputs + i) * c->size * c->size;
    for (int64_t r = 0; r < c->kernel; ++r) {
      for (int64_t s = 0; s < c->kernel; ++s, ++w) {
        int64_t ir = Reads(c, row, r), is = Reads(c, column, s);
        if (ir >= 0 && is >= 0) sum += (double)x[ir * c->size + is] * *w;
      }
    }
  }
  return sum;
}

static double Data(const Conv* c, const Tensors* t, size_t at) {
  int64_t column = (int64_t)at % c->size, row = (int64_t)at / c->size % c->size;
  int64_t i = (int64_t)at / (c->size * c->size) % c->inputs;
  int64_t n = (int64_t)at / (c->size * c->size * c->inputs);
  double sum = 0;
  for (int64_t o = 0; o < c->outputs; ++o) {
    const float* dy = t->dy.data + (n * c->outputs + o) * c->out * c->out;
    const float* w = t->w.data + (o * c->inputs + i) * c->kernel * c->kernel;
    for (int64_t r = 0; r < c->kernel; ++r) {
      for (int64_t s = 0; s < c->kernel; ++s, ++w) {
        int64_t y = row + c->kernel / 2 - r, x = column + c->kernel / 2 - s;
        if (y < 0 || x < 0 || y % c->stride != 0 || x % c->stride != 0) continue;
        y /= c->stride, x /= c->stride;
        if (y < c->out && x < c->out) sum += (double)dy[y * c->out + x] * *w;
      }
    }
  }
  return sum;
}

static double Weights(const Conv* c, const Tensors* t, size_t at) {
  int64_t s = (int64_t)at % c->kernel, r = (int64_t)at / c->kernel % c->kernel;
  int64_t i = (int64_t)at / (c->kernel * c->kernel) % c->inputs;
  int64_t o = (int64_t)at / (c->kernel * c->kernel * c->inputs);
  double sum = 0;
  for (int64_t n = 0; n < c->batch; ++n) {
    const float* x = t->x.data + (n * c->inputs + i) * c->size * c->size;
    const float* dy = t->dy.data + (n * c->outputs + o) * c->out * c->out;
    for (int64_t row = 0; row < c->out; ++row) {
      for (int64_t column = 0; column < c->out; ++column, ++dy) {
        int64_t ir = Reads(c, row, r), is = Reads(c, column, s);
        if (ir >= 0 && is >= 0) sum += (double)x[ir * c->size + is] * *dy;
      }
    }
  }
  return sum;
}

static double Error(const Conv* c, const Tensors* t, const Values* got,
                    double (*element)(const Conv*, const Tensors*, size_t)) {
  double errors = 0, squares = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    size_t at = ((size_t)Random() << 24 | Random()) % got->count;
    double want = element(c, t, at), error = (double)got->data[at] - want;
    errors += error * error;
    squares += want * want;
  }
  return sqrt(errors / squares);
}

static const char* Run(const char* name, int repeats, double* values) {
  static hr_env* env;
  Conv c;
  Tensors t = {0};
  char what[16];
  if (sscanf(name,
             "%" SCNd64 "x%*d/%" SCNd64 "-%" SCNd64 "x%" SCNd64 "-%" SCNd64 "-batch%" SCNd64
             "-%15s",
             &c.kernel, &c.stride, &c.inputs, &c.outputs, &c.size, &c.batch, what) != 7) {
    return "expected a case such as 3x3/1-64x128-16-batch16-forward";
  }
  c.out = (c.size - 1) / c.stride + 1;
  if (env == NULL) BENCH_DO(bench_env(&env));
  const char* error = Make(&c, &t);
  if (error == NULL) error = Compute(env, &c, &t);
  if (error == NULL) {
    double value = strcmp(what, "forward") == 0 ? Error(&c, &t, &t.y, Forward)
                   : strcmp(what, "data") == 0  ? Error(&c, &t, &t.dx, Data)
                                                : Error(&c, &t, &t.dw, Weights);
    for (int i = 0; i < repeats; ++i) values[i] = value;
  }
  Free(&t);
  return error;
}

int main(void) { return bench_serve(Run); }
