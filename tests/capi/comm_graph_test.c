/* The operators of headrace.comm in graphs: what they compute on each rank, their gradients, and
 * what is refused. The loss is the sum of y * c, so the gradient of y is c. */
#include <math.h>

#include "comm_support.h"
#include "models.h"
#include "nodes.h"

enum { RANKS = 3, N = 6, MOST = N * RANKS };

/* What rank r feeds: x, and c, the gradient of y. */
static float x_of(int rank, int i) { return (float)(100 * (rank + 1) + i); }
static float c_of(int rank, int i) { return (float)(rank + 1) * (float)(1 + i % 5); }

typedef float (*expected)(int rank, int i);

typedef struct operator_case {
  const char* name;
  const char* attributes;
  int outputs; /* elements of y */
  expected y;
  expected dx; /* NULL: no gradient */
} operator_case;

static float sum_x(int rank, int i) {
  (void)rank;
  return x_of(0, i) + x_of(1, i) + x_of(2, i);
}
static float sum_c(int rank, int i) {
  (void)rank;
  return c_of(0, i) + c_of(1, i) + c_of(2, i);
}
static float mean_x(int rank, int i) { return sum_x(rank, i) / RANKS; }
static float mean_c(int rank, int i) { return sum_c(rank, i) / RANKS; }
static float largest_x(int rank, int i) {
  (void)rank;
  return x_of(2, i);
}
static float sum_on_1(int rank, int i) { return rank == 1 ? sum_x(rank, i) : 0; }
static float c_of_1(int rank, int i) {
  (void)rank;
  return c_of(1, i);
}
static float x_of_2(int rank, int i) {
  (void)rank;
  return x_of(2, i);
}
static float sum_c_on_2(int rank, int i) { return rank == 2 ? sum_c(rank, i) : 0; }
static float gathered(int rank, int i) {
  (void)rank;
  return x_of(i / N, i % N);
}
static float scattered_c(int rank, int i) { return sum_c(rank, rank * N + i); }
static float block_of_sum(int rank, int i) { return sum_x(rank, rank * (N / RANKS) + i); }
static float block_of_mean(int rank, int i) { return block_of_sum(rank, i) / RANKS; }
static float gathered_c(int rank, int i) {
  (void)rank;
  return c_of(i / (N / RANKS), i % (N / RANKS));
}
static float gathered_c_mean(int rank, int i) { return gathered_c(rank, i) / RANKS; }
static float exchanged_x(int rank, int i) {
  const int block = N / RANKS;
  return x_of(i / block, rank * block + i % block);
}
static float exchanged_c(int rank, int i) {
  const int block = N / RANKS;
  return c_of(i / block, rank * block + i % block);
}

static float sum_before(int rank, int i) {
  float sum = 0;
  for (int r = 0; r < rank; ++r) sum += x_of(r, i);
  return sum;
}

static const operator_case kCases[] = {
    {"AllReduce", "group=g", N, sum_x, sum_c},
    {"AllReduce", "group=g op=average", N, mean_x, mean_c},
    {"AllReduce", "group=g op=max", N, largest_x, NULL},
    {"Reduce", "group=g root=1", N, sum_on_1, c_of_1},
    {"Broadcast", "group=g root=2", N, x_of_2, sum_c_on_2},
    {"AllGather", "group=g ranks=3", N* RANKS, gathered, scattered_c},
    {"ReduceScatter", "group=g ranks=3", N / RANKS, block_of_sum, gathered_c},
    {"ReduceScatter", "group=g ranks=3 op=average", N / RANKS, block_of_mean, gathered_c_mean},
    {"AllToAll", "group=g ranks=3", N, exchanged_x, exchanged_c},
    {"Exscan", "group=g", N, sum_before, NULL},
};

static hr_value comm_op(hr_graph* graph, const char* name, const char* attributes, hr_value x) {
  char text[60];
  snprintf(text, sizeof text, "headrace.comm.%s", name);
  return op(graph, text, attributes, 1, x);
}

static hr_value input(hr_graph* graph, const char* name, int64_t elements) {
  hr_value out;
  CHECK(hr_graph_input(graph, name, HR_FLOAT32, 1, &elements, NULL, &out));
  CHECK(hr_graph_signature_input(graph, "run", name, out));
  return out;
}

static void feed(hr_env* env, hr_call* call, const char* name, int64_t elements, expected values,
                 int rank) {
  float data[MOST];
  hr_tensor* tensor;
  for (int i = 0; i < elements; ++i) data[i] = values(rank, i);
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, &elements, data, 4 * (size_t)elements, &tensor));
  CHECK(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
}

static void expect_output(hr_call* call, const char* name, int elements, expected wanted,
                          int rank) {
  hr_tensor* tensor;
  CHECK(hr_call_result(call, name, &tensor));
  const float* got = hr_tensor_data(tensor);
  EXPECT(hr_tensor_bytes(tensor) == 4 * (size_t)elements);
  for (int i = 0; i < elements; ++i) EXPECT(fabsf(got[i] - wanted(rank, i)) < 1e-3f);
  hr_tensor_release(tensor);
}

static void try_operator(hr_env* env, hr_group* world, const operator_case* c) {
  const int rank = hr_group_rank(world);
  hr_graph* graph;
  hr_call* call;
  CHECK(hr_graph_create(env, &graph));
  const hr_value x = input(graph, "x", N), weights = input(graph, "c", c->outputs);
  /* Another use of x, and of y, so that neither is the operation's alone. */
  const hr_value y = comm_op(graph, c->name, c->attributes, op(graph, "Neg", "", 1, x));
  const hr_value negated = op(graph, "Neg", "", 1, y);
  const hr_value loss =
      op(graph, "ReduceSum", "keepdims=0", 1, op(graph, "Mul", "", 2, negated, weights));
  hr_value dx = HR_NONE;
  CHECK(hr_graph_signature_output(graph, "run", "y", negated));
  if (c->dx != NULL) {
    CHECK(hr_graph_add_gradients(graph, loss, 1, &x, &dx));
    CHECK(hr_graph_signature_output(graph, "run", "dx", dx));
  }
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "g", world, NULL));
  CHECK(hr_call_create(session, "run", &call));
  feed(env, call, "x", N, x_of, rank);
  feed(env, call, "c", c->outputs, c_of, rank);
  for (int i = 0; i < 3; ++i) CHECK(hr_call_run(call, NULL));
  const int is_max = c->y == largest_x; /* of -x it is the smallest x */
  if (is_max) {
    hr_tensor* tensor;
    CHECK(hr_call_result(call, "y", &tensor));
    for (int i = 0; i < N; ++i) EXPECT(((const float*)hr_tensor_data(tensor))[i] == x_of(0, i));
    hr_tensor_release(tensor);
  } else {
    expect_output(call, "y", c->outputs, c->y, rank);
    if (c->dx != NULL) expect_output(call, "dx", N, c->dx, rank);
  }
  hr_call_release(call);
  hr_session_release(session);
}

static void rank_operators(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) try_operator(env, world, &kCases[i]);
  hr_group_release(world);
}
PROCESSES(operators, RANKS, "")

/* Each rank sends to the next; a barrier; several tensors in one operation, one of them an input,
 * one a constant, one used elsewhere. */
static void rank_messages(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world);
  char to[60], from[100];
  hr_graph* graph;
  hr_value received, sums[3];
  CHECK(hr_graph_create(env, &graph));
  const hr_value x = input(graph, "x", N);
  snprintf(to, sizeof to, "group=g to=%d tag=7", (rank + 1) % RANKS);
  snprintf(from, sizeof from, "group=g from=%d tag=7 dtype=1 shape=%d", (rank + RANKS - 1) % RANKS,
           N);
  CHECK(hr_graph_op(graph, "headrace.comm.Send", to, 1, &x, 0, NULL));
  CHECK(hr_graph_op(graph, "headrace.comm.Recv", from, 0, NULL, 1, &received));
  CHECK(hr_graph_op(graph, "headrace.comm.Barrier", "group=g", 0, NULL, 0, NULL));
  const hr_value twice = op(graph, "Add", "", 2, x, x);
  const hr_value three[3] = {x, twice, received};
  CHECK(hr_graph_op(graph, "headrace.comm.AllReduce", "group=g", 3, three, 3, sums));
  CHECK(hr_graph_signature_output(graph, "run", "received", received));
  CHECK(hr_graph_signature_output(graph, "run", "twice", twice));
  CHECK(hr_graph_signature_output(graph, "run", "sum", sums[0]));
  CHECK(hr_graph_signature_output(graph, "run", "sum of received", sums[2]));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "g", world, NULL));
  hr_call* call;
  CHECK(hr_call_create(session, "run", &call));
  feed(env, call, "x", N, x_of, rank);
  CHECK(hr_call_run(call, NULL));
  expect_output(call, "received", N, x_of, (rank + RANKS - 1) % RANKS);
  expect_output(call, "sum of received", N, sum_x, rank);
  hr_call_release(call);
  hr_session_release(session);
  hr_group_release(world);
}
PROCESSES(messages, RANKS, "")

/* Several tensors in one operation: an input, one that is used elsewhere, one that nothing else
 * has. */
static void rank_together(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world);
  hr_graph* graph;
  hr_call* call;
  hr_value sums[3];
  CHECK(hr_graph_create(env, &graph));
  const hr_value x = input(graph, "x", N);
  const hr_value seen = op(graph, "Neg", "", 1, x), own = op(graph, "Add", "", 2, x, x);
  const hr_value three[3] = {x, seen, own};
  CHECK(hr_graph_op(graph, "headrace.comm.AllReduce", "group=g", 3, three, 3, sums));
  CHECK(hr_graph_op(graph, "headrace.comm.Barrier", "group=g", 0, NULL, 0, NULL));
  CHECK(hr_graph_signature_output(graph, "run", "seen", op(graph, "Neg", "", 1, seen)));
  CHECK(hr_graph_signature_output(graph, "run", "sum", sums[0]));
  CHECK(hr_graph_signature_output(graph, "run", "minus", op(graph, "Neg", "", 1, sums[1])));
  CHECK(hr_graph_signature_output(graph, "run", "half", op(graph, "Sub", "", 2, sums[2], sums[0])));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "g", world, NULL));
  CHECK(hr_call_create(session, "run", &call));
  feed(env, call, "x", N, x_of, rank);
  for (int i = 0; i < 2; ++i) CHECK(hr_call_run(call, NULL));
  expect_output(call, "seen", N, x_of, rank);
  expect_output(call, "sum", N, sum_x, rank);
  expect_output(call, "minus", N, sum_x, rank);
  expect_output(call, "half", N, sum_x, rank);
  hr_call_release(call);
  hr_session_release(session);
  hr_group_release(world);
}
PROCESSES(together, RANKS, "")

/* ---- What is refused ---- */

static void rank_wrong_size(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  hr_graph* graph;
  hr_call* call;
  hr_value y;
  CHECK(hr_graph_create(env, &graph));
  const hr_value x = input(graph, "x", N);
  CHECK(hr_graph_op(graph, "headrace.comm.AllGather", "group=g ranks=3", 1, &x, 1, &y));
  CHECK(hr_graph_signature_output(graph, "run", "y", y));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "g", world, NULL));
  CHECK(hr_call_create(session, "run", &call));
  feed(env, call, "x", N, x_of, 0);
  /* The one that finds it first tells the other. */
  char text[600];
  failure_text(hr_call_run(call, NULL), text, sizeof text);
  EXPECT(strstr(text, "a group of 3 ranks") != NULL);
  hr_call_release(call);
  hr_session_release(session);
  hr_group_release(world);
}
PROCESSES(wrong_size, 2, "")

static void refuse(hr_graph* graph, const char* name, const char* attributes, hr_value x,
                   const char* words) {
  char text[60];
  hr_value y;
  snprintf(text, sizeof text, "headrace.comm.%s", name);
  FAILS(hr_graph_op(graph, text, attributes, 1, &x, 1, &y), HR_INVALID_ARGUMENT, words);
}

static void test_refused(hr_env* env) {
  hr_graph* graph;
  hr_value y;
  CHECK(hr_graph_create(env, &graph));
  const hr_value x = input(graph, "x", N);
  refuse(graph, "AllReduce", "op=sum", x, "group");
  refuse(graph, "AllReduce", "group=g op=mean", x, "average");
  refuse(graph, "AllGather", "group=g ranks=0", x, "1 or more");
  refuse(graph, "ReduceScatter", "group=g ranks=4", x, "4 ranks");
  refuse(graph, "AllToAll", "group=g ranks=5", x, "5 ranks");
  FAILS(hr_graph_op(graph, "headrace.comm.Recv", "group=g from=0 dtype=99 shape=2", 0, NULL, 1, &y),
        HR_INVALID_ARGUMENT, "dtype");
  hr_graph_release(graph);
}

const test tests[] = {
    TEST(operators), TEST(messages), TEST(together), TEST(wrong_size), TEST(refused),
    RANK(operators), RANK(messages), RANK(together), RANK(wrong_size), {NULL, NULL},
};
