/* A network of which each of three processes has a layer: values go forward by messages, gradients
 * back, and all layers learn what they learn in one process. */
#include "bodies.h"
#include "comm_support.h"
#include "trainers.h"

enum { BATCH = 4, WIDTH = 5, STEPS = 20 };

static const char* const kWeights[3] = {"w0", "w1", "w2"};

typedef struct stage {
  hr_graph* graph;
  hr_session* session;
  hr_call* call;
} stage;

static hr_value train_input(hr_graph* graph, const char* name, int rank, const int64_t* dims) {
  hr_value out;
  CHECK(hr_graph_input(graph, name, HR_FLOAT64, (size_t)rank, dims, NULL, &out));
  CHECK(hr_graph_signature_input(graph, "train", name, out));
  return out;
}

static stage finish(hr_graph* graph, hr_value loss) {
  const hr_value rate = train_input(graph, "rate", 0, NULL);
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  stage out = {.graph = graph, .session = session_of(graph)};
  CHECK(hr_call_create(out.session, "train", &out.call));
  CHECK(hr_call_bind_scalar(out.call, "rate", 0.1));
  return out;
}

static hr_value layer(hr_graph* graph, hr_value x, hr_value w) {
  return op(graph, "Tanh", NULL, 1, op(graph, "MatMul", NULL, 2, x, w));
}

static hr_value mean_square(hr_graph* graph, hr_value y) {
  return op(graph, "ReduceMean", "keepdims=0", 1, op(graph, "Mul", NULL, 2, y, y));
}

static hr_value weight_of(hr_env* env, hr_graph* graph, int i) {
  return weight(env, graph, kWeights[i], WIDTH, WIDTH, i);
}

static stage make_whole(hr_env* env) {
  const int64_t dims[2] = {BATCH, WIDTH};
  hr_graph* graph = new_graph(env);
  hr_value h = train_input(graph, "x", 2, dims);
  for (int i = 0; i < 3; ++i) h = layer(graph, h, weight_of(env, graph, i));
  return finish(graph, mean_square(graph, h));
}

/* Rank r has layer r. */
static stage make_stage(hr_env* env, int rank) {
  const int64_t dims[2] = {BATCH, WIDTH};
  hr_graph* graph = new_graph(env);
  const hr_value w = weight_of(env, graph, rank);
  hr_value in, out;
  char text[100];
  if (rank == 0) {
    in = train_input(graph, "x", 2, dims);
  } else {
    snprintf(text, sizeof text, "group=g from=%d dtype=11 shape=%d,%d", rank - 1, BATCH, WIDTH);
    CHECK(hr_graph_op(graph, "headrace.comm.Recv", text, 1, &w, 1, &in));
  }
  out = layer(graph, in, w);
  if (rank == 2) return finish(graph, mean_square(graph, out));
  snprintf(text, sizeof text, "group=g to=%d", rank + 1);
  CHECK(hr_graph_op(graph, "headrace.comm.Send", text, 1, &out, 1, &out));
  return finish(graph, out);
}

static double run(hr_env* env, stage* s, int step, int has_x) {
  const int64_t dims[2] = {BATCH, WIDTH};
  double x[BATCH * WIDTH], loss = 0;
  hr_tensor* tensor;
  for (int i = 0; i < BATCH * WIDTH; ++i) x[i] = 0.01 * (double)((7 * i + 13 * step) % 101) - 0.5;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT64, 2, dims, x, sizeof x, &tensor));
  if (has_x) CHECK(hr_call_bind(s->call, "x", tensor));
  CHECK(hr_call_output(s->call, "loss", &loss, sizeof loss));
  CHECK(hr_call_run(s->call, NULL));
  hr_tensor_release(tensor);
  return loss;
}

static void expect_same_weight(hr_session* a, hr_session* b, const char* name) {
  hr_tensor *x, *y;
  CHECK(hr_session_get_variable(a, name, NULL, &x));
  CHECK(hr_session_get_variable(b, name, NULL, &y));
  for (int i = 0; i < WIDTH * WIDTH; ++i) {
    expect_close(((const double*)hr_tensor_data(x))[i], ((const double*)hr_tensor_data(y))[i]);
  }
  hr_tensor_release(x);
  hr_tensor_release(y);
}

static void rank_pipeline(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world);
  stage whole = make_whole(env), own = make_stage(env, rank);
  CHECK(hr_session_bind_group(own.session, "g", world, NULL));
  for (int i = 0; i < STEPS; ++i) {
    const double wanted = run(env, &whole, i, 1), loss = run(env, &own, i, rank == 0);
    expect_close(loss, rank == 2 ? wanted : 0);
    expect_same_weight(own.session, whole.session, kWeights[rank]);
  }
  hr_call_release(own.call);
  hr_call_release(whole.call);
  hr_session_release(own.session);
  hr_session_release(whole.session);
  hr_group_release(world);
}
PROCESSES(pipeline, 3, "")

static void test_unknown_shape(hr_env* env) {
  const int64_t dims[2] = {-1, WIDTH};
  hr_graph* graph = new_graph(env);
  const hr_value x = train_input(graph, "x", 2, dims);
  const hr_value out = layer(graph, x, weight_of(env, graph, 0));
  hr_value sent;
  CHECK(hr_graph_op(graph, "headrace.comm.Send", "group=g to=1", 1, &out, 1, &sent));
  const hr_value rate = train_input(graph, "rate", 0, NULL);
  FAILS(hr_graph_minimize(graph, "train", sent, "sgd", rate), HR_UNIMPLEMENTED, "known shape");
  hr_graph_release(graph);
}

const test tests[] = {TEST(pipeline), TEST(unknown_shape), RANK(pipeline), {NULL, NULL}};
