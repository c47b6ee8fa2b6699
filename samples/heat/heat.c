/* Heat spreads over a plate: dataflow beyond learning. The heat equation du/dt = k (d2u/dx2 +
 * d2u/dy2), in explicit steps (FTCS: forward in time, centred in space), is a Loop whose body is a
 * convolution. Two spots and an edge are held at their temperatures. Draws the plate as a PNG.
 *
 *   heat [--size N] [--steps N] [--frames N] [--out FILE] [--save FILE] [--check] */
#include <headrace/headrace.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

#define TRY(call)                                               \
  do {                                                          \
    hr_status* status = (call);                                 \
    if (status != NULL) {                                       \
      fprintf(stderr, "heat: %s\n", hr_status_message(status)); \
      exit(1);                                                  \
    }                                                           \
  } while (0)

/* k dt / dx^2: at most 1/4, or the steps are unstable. */
static const float kDiffusion = 0.2f;
/* The Laplacian in second order: what flows in from four neighbours. */
static const float kLaplacian[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0};

typedef struct options {
  int64_t size, steps, frames;
  const char *out, *save;
  int check;
} options;

static void usage(FILE* to) {
  fputs(
      "usage: heat [--size N] [--steps N] [--frames N] [--out FILE] [--save FILE] [--check]\n\n"
      "  --size N    the plate has N x N points (default 200)\n"
      "  --steps N   steps of time (default 4000)\n"
      "  --frames N  tell how it goes N times (default 8)\n"
      "  --out FILE  the picture (default heat.png)\n"
      "  --save FILE also save the graph, such as heat.hrg\n"
      "  --check     compare with plain loops\n",
      to);
}

static int64_t number(const char* option, const char* text, int64_t most) {
  char* end;
  const long long value = text == NULL ? 0 : strtoll(text, &end, 10);
  if (text == NULL || *text == 0 || *end != 0 || value < 1 || value > most) {
    fprintf(stderr, "heat: %s expects a number from 1 to %lld, got '%s'\n", option, (long long)most,
            text == NULL ? "nothing" : text);
    exit(2);
  }
  return value;
}

static const char* file(const char* option, const char* text) {
  if (text != NULL) return text;
  fprintf(stderr, "heat: %s expects a file, got nothing\n", option);
  exit(2);
}

static options parse(int argc, char** argv) {
  options o = {.size = 200, .steps = 4000, .frames = 8, .out = "heat.png"};
  for (int i = 1; i < argc; ++i) {
    const char* next = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--help") == 0) {
      usage(stdout);
      exit(0);
    } else if (strcmp(argv[i], "--check") == 0) {
      o.check = 1;
      continue;
    } else if (strcmp(argv[i], "--size") == 0) {
      o.size = number("--size", next, 10000);
    } else if (strcmp(argv[i], "--steps") == 0) {
      o.steps = number("--steps", next, 1000000000);
    } else if (strcmp(argv[i], "--frames") == 0) {
      o.frames = number("--frames", next, 100000);
    } else if (strcmp(argv[i], "--out") == 0) {
      o.out = file("--out", next);
    } else if (strcmp(argv[i], "--save") == 0) {
      o.save = file("--save", next);
    } else {
      fprintf(stderr, "heat: unknown option '%s'\n", argv[i]);
      usage(stderr);
      exit(2);
    }
    ++i;
  }
  return o;
}

/* ---- The graph ---- */

static hr_value op(hr_graph* graph, const char* name, const char* attributes, hr_value a,
                   hr_value b) {
  hr_value out;
  TRY(hr_graph_op(graph, name, attributes, 2, (hr_value[]){a, b}, 1, &out));
  return out;
}

static hr_value plate_input(hr_graph* graph, const char* name) {
  const char* const symbols[4] = {NULL, NULL, "height", "width"};
  hr_value out;
  TRY(hr_graph_input(graph, name, HR_FLOAT32, 4, (int64_t[]){1, 1, -1, -1}, symbols, &out));
  TRY(hr_graph_signature_input(graph, "run", name, out));
  return out;
}

/* (step, condition, field, flow) -> (condition, field + flow * laplacian(field)). `flow` is 0 where
 * the temperature is held. */
static hr_graph* step_body(hr_env* env) {
  hr_graph* body;
  hr_tensor* laplacian;
  hr_value step, go, kernel, still;
  TRY(hr_graph_create(env, &body));
  TRY(hr_graph_input(body, "step", HR_INT64, 0, NULL, NULL, &step));
  TRY(hr_graph_signature_input(body, "run", "step", step));
  TRY(hr_graph_input(body, "go", HR_BOOL, 0, NULL, NULL, &go));
  TRY(hr_graph_signature_input(body, "run", "go", go));
  const hr_value field = plate_input(body, "field"), flow = plate_input(body, "flow");
  TRY(hr_tensor_create(env, HR_FLOAT32, 4, (int64_t[]){1, 1, 3, 3}, &laplacian));
  memcpy(hr_tensor_data(laplacian), kLaplacian, sizeof kLaplacian);
  TRY(hr_graph_constant(body, "laplacian", laplacian, &kernel));
  hr_tensor_release(laplacian);
  const hr_value curvature = op(body, "Conv", "pads=1,1,1,1", field, kernel);
  const hr_value next = op(body, "Add", NULL, field, op(body, "Mul", NULL, flow, curvature));
  TRY(hr_graph_op(body, "Identity", NULL, 1, &go, 1, &still));
  TRY(hr_graph_signature_output(body, "run", "go", still));
  TRY(hr_graph_signature_output(body, "run", "field", next));
  return body;
}

/* Signature "run": (steps, field, flow) -> field. */
static hr_graph* heat_graph(hr_env* env) {
  hr_graph *graph, *body = step_body(env);
  hr_body loop;
  hr_value steps, out;
  TRY(hr_graph_create(env, &graph));
  TRY(hr_graph_body(graph, body, "run", &loop));
  hr_graph_release(body);
  TRY(hr_graph_input(graph, "steps", HR_INT64, 0, NULL, NULL, &steps));
  TRY(hr_graph_signature_input(graph, "run", "steps", steps));
  const hr_value field = plate_input(graph, "field"), flow = plate_input(graph, "flow");
  TRY(hr_graph_loop(graph, steps, HR_NONE, loop, 1, &field, 1, &flow, 1, &out));
  TRY(hr_graph_signature_output(graph, "run", "field", out));
  return graph;
}

/* ---- The plate ---- */

static int within(int64_t x, int64_t y, double cx, double cy, double radius, int64_t size) {
  const double dx = (double)x / (double)size - cx, dy = (double)y / (double)size - cy;
  return dx * dx + dy * dy < radius * radius;
}

/* Cold, but for a hot spot, a cooler one and a hot edge, which are held; so is the rim. */
static void prepare(int64_t size, float* field, float* flow) {
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const int rim = x == 0 || y == 0 || x == size - 1 || y == size - 1;
      const int hot = within(x, y, 0.3, 0.35, 0.07, size);
      const int mild = within(x, y, 0.7, 0.6, 0.1, size);
      const int edge = y == size - 1 && x > size / 4 && x < 3 * size / 4;
      field[y * size + x] = hot || edge ? 1.0f : mild ? 0.6f : 0.0f;
      flow[y * size + x] = rim || hot || mild ? 0.0f : kDiffusion;
    }
  }
}

/* The same in plain loops; returns the largest difference. */
static double difference(int64_t size, int64_t steps, const float* result) {
  const size_t count = (size_t)(size * size);
  float* u = malloc(3 * count * sizeof *u);
  float *next = u + count, *flow = u + 2 * count;
  double worst = 0;
  prepare(size, u, flow);
  for (int64_t i = 0; i < steps; ++i) {
    memcpy(next, u, count * sizeof *u);
    for (int64_t y = 1; y < size - 1; ++y) {
      for (int64_t x = 1; x < size - 1; ++x) {
        const float* at = u + y * size + x;
        const float curvature = at[-1] + at[1] + at[-size] + at[size] - 4 * at[0];
        next[y * size + x] = at[0] + flow[y * size + x] * curvature;
      }
    }
    memcpy(u, next, count * sizeof *u);
  }
  for (size_t i = 0; i < count; ++i) worst = fmax(worst, fabs((double)u[i] - (double)result[i]));
  free(u);
  return worst;
}

static double mean(const float* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += (double)values[i];
  return sum / (double)count;
}

/* ---- The run ---- */

/* Steps in `frames` runs; the field comes out in the memory of `field`. */
static void simulate(hr_session* session, const options* o, hr_tensor* field, hr_tensor* flow) {
  hr_call* call;
  int64_t steps = 0, done = 0;
  hr_tensor* count;
  TRY(hr_tensor_wrap(HR_INT64, 0, NULL, &steps, sizeof steps, NULL, NULL, &count));
  TRY(hr_call_create(session, "run", &call));
  TRY(hr_call_bind(call, "steps", count));
  TRY(hr_call_bind(call, "flow", flow));
  for (int64_t frame = 1; frame <= o->frames; ++frame) {
    hr_tensor* after;
    const int64_t until = o->steps * frame / o->frames;
    steps = until - done;
    if (steps == 0) continue;
    done = until;
    TRY(hr_call_bind(call, "field", field));
    TRY(hr_call_run(call, NULL));
    TRY(hr_call_result(call, "field", &after));
    memcpy(hr_tensor_data(field), hr_tensor_data(after), hr_tensor_bytes(field));
    printf("step %lld: mean temperature %.4f\n", (long long)done,
           mean(hr_tensor_data(after), o->size * o->size));
    hr_tensor_release(after);
  }
  hr_call_release(call);
  hr_tensor_release(count);
}

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  const int64_t dims[4] = {1, 1, o.size, o.size};
  hr_env* env;
  hr_model* model;
  hr_session* session;
  hr_tensor *field, *flow;
  TRY(hr_env_create(NULL, &env));
  hr_graph* graph = heat_graph(env);
  if (o.save != NULL) TRY(hr_graph_save(graph, o.save, NULL));
  TRY(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  TRY(hr_session_create(model, NULL, NULL, &session));
  TRY(hr_tensor_create(env, HR_FLOAT32, 4, dims, &field));
  TRY(hr_tensor_create(env, HR_FLOAT32, 4, dims, &flow));
  prepare(o.size, hr_tensor_data(field), hr_tensor_data(flow));
  simulate(session, &o, field, flow);
  if (write_picture(o.out, o.size, o.size, hr_tensor_data(field)) != 0) {
    fprintf(stderr, "heat: could not write '%s'\n", o.out);
    return 1;
  }
  printf("drawn in %s\n", o.out);
  int wrong = 0;
  if (o.check) {
    const double off = difference(o.size, o.steps, hr_tensor_data(field));
    printf("largest difference from plain loops: %.2e\n", off);
    wrong = off > 1e-4;
  }
  hr_tensor_release(field);
  hr_tensor_release(flow);
  hr_session_release(session);
  hr_model_release(model);
  hr_env_release(env);
  return wrong;
}
