/* Sessions with exact_sums run no Winograd convolution: where the values are small multiples of
 * 1/8, every sum of products is exact, and so are a convolution and its gradients. */
#include "support.h"

enum { kBatch = 16, kIn = 20, kOut = 50, kSize = 12, kKernel = 5, kResult = kSize - kKernel + 1 };
static float x[kBatch][kIn][kSize][kSize], w[kOut][kIn][kKernel][kKernel];
static float dy[kBatch][kOut][kResult][kResult], y[kBatch][kOut][kResult][kResult];
static float dw[kOut][kIn][kKernel][kKernel];

static void fill(float* values, size_t count, size_t prime) {
  for (size_t i = 0; i < count; ++i) values[i] = (float)((int)(i * prime % 17) - 8) / 8;
}

/* "all": y = conv(x, w) and the gradient of w where that of y is dy. */
static hr_model* make_model(hr_env* env) {
  const int64_t x_dims[] = {kBatch, kIn, kSize, kSize}, w_dims[] = {kOut, kIn, kKernel, kKernel};
  const int64_t y_dims[] = {kBatch, kOut, kResult, kResult};
  hr_graph* graph;
  hr_model* model;
  hr_value in[2], seed, out, weighted, gradient;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 4, x_dims, NULL, &in[0]));
  CHECK(hr_graph_input(graph, "w", HR_FLOAT32, 4, w_dims, NULL, &in[1]));
  CHECK(hr_graph_input(graph, "dy", HR_FLOAT32, 4, y_dims, NULL, &seed));
  CHECK(hr_graph_op(graph, "Conv", NULL, 2, in, 1, &out));
  const hr_value product[] = {out, seed};
  CHECK(hr_graph_op(graph, "Mul", NULL, 2, product, 1, &weighted));
  CHECK(hr_graph_add_gradients(graph, weighted, 1, &in[1], &gradient));
  CHECK(hr_graph_signature_input(graph, "all", "x", in[0]));
  CHECK(hr_graph_signature_input(graph, "all", "w", in[1]));
  CHECK(hr_graph_signature_input(graph, "all", "dy", seed));
  CHECK(hr_graph_signature_output(graph, "all", "y", out));
  CHECK(hr_graph_signature_output(graph, "all", "dw", gradient));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

static void bind(hr_call* call, const char* name, const int64_t* dims, void* data, size_t bytes) {
  hr_tensor* tensor;
  CHECK(hr_tensor_wrap(HR_FLOAT32, 4, dims, data, bytes, NULL, NULL, &tensor));
  CHECK(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
}

/* Runs it into y and dw; whether a kernel of the plan is Winograd's. */
static int run_has_winograd(hr_model* model, int exact_sums) {
  hr_session_options options = {.struct_size = sizeof options, .exact_sums = exact_sums};
  hr_session* session;
  hr_call* call;
  hr_text* plan;
  CHECK(hr_session_create(model, &options, NULL, &session));
  CHECK(hr_call_create(session, "all", &call));
  bind(call, "x", (const int64_t[]){kBatch, kIn, kSize, kSize}, x, sizeof x);
  bind(call, "w", (const int64_t[]){kOut, kIn, kKernel, kKernel}, w, sizeof w);
  bind(call, "dy", (const int64_t[]){kBatch, kOut, kResult, kResult}, dy, sizeof dy);
  CHECK(hr_call_output(call, "y", y, sizeof y));
  CHECK(hr_call_output(call, "dw", dw, sizeof dw));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_call_describe(call, &plan));
  int found = strstr(hr_text_data(plan), "winograd") != NULL;
  hr_text_release(plan);
  hr_call_release(call);
  hr_session_release(session);
  return found;
}

static double y_at(int n, int o, int row, int column) {
  double sum = 0;
  for (int c = 0; c < kIn; ++c) {
    for (int r = 0; r < kKernel; ++r) {
      for (int s = 0; s < kKernel; ++s) sum += (double)x[n][c][row + r][column + s] * w[o][c][r][s];
    }
  }
  return sum;
}

static double dw_at(int o, int c, int r, int s) {
  double sum = 0;
  for (int n = 0; n < kBatch; ++n) {
    for (int row = 0; row < kResult; ++row) {
      for (int column = 0; column < kResult; ++column) {
        sum += (double)x[n][c][row + r][column + s] * dy[n][o][row][column];
      }
    }
  }
  return sum;
}

/* Elements of the last run that are not what they should be. */
static int wrong_elements(void) {
  int wrong = 0;
  for (int i = 0; i < kBatch * kOut; ++i) {
    int n = i / kOut, o = i % kOut, row = i % kResult, column = i / 3 % kResult;
    wrong += y[n][o][row][column] != y_at(n, o, row, column);
  }
  for (int i = 0; i < kOut * kIn; ++i) {
    int o = i / kIn, c = i % kIn, r = i % kKernel, s = i / 7 % kKernel;
    wrong += dw[o][c][r][s] != dw_at(o, c, r, s);
  }
  return wrong;
}

static void test_exact_sums(hr_env* env) {
  fill(&x[0][0][0][0], sizeof x / sizeof(float), 3);
  fill(&w[0][0][0][0], sizeof w / sizeof(float), 5);
  fill(&dy[0][0][0][0], sizeof dy / sizeof(float), 7);
  hr_model* model = make_model(env);
  EXPECT(run_has_winograd(model, 0));
  EXPECT(wrong_elements() > 0);
  EXPECT(!run_has_winograd(model, 1));
  EXPECT(wrong_elements() == 0);
  hr_model_release(model);
}

const test tests[] = {
    {"sessions with exact_sums have no Winograd convolution", test_exact_sums},
    {NULL, NULL},
};
