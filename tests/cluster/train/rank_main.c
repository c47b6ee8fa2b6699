/* One rank of a training, which kills or freezes itself in a given state:
 *   train_rank FOLDER STATE STEP VICTIM SIGNAL DELAY_MICROSECONDS RESTORED DIVIDED
 * STATE is one of those in `kStates`; VICTIM is the number that the launcher gave to the process.
 * Trains with checkpoints in FOLDER/checkpoints, elastically if the launcher says so, and appends a
 * line to FOLDER/ends: rank, size, step, epoch, a hash of what all ranks have alike, and the loss
 * over all examples. If DIVIDED is 1, ranks divide the optimizer's state. A fault happens once in a
 * FOLDER. FOLDER/fault has its time and the group's epoch, and FOLDER/next
 * those of the first step that is made in a later epoch. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <headrace/headrace.h>

enum { EXAMPLES = 240, FEATURES = 8, HIDDEN = 2048, CLASSES = 4, BATCH = 8, EPOCHS = 2 };

enum { MEET, FORWARD, BETWEEN, LAST, AFTER, UPDATE, SAVE, RESTORE, JOIN, NEVER };
static const char* const kStates[] = {"meet",   "forward", "between", "last", "after",
                                      "update", "save",    "restore", "join", "never"};

static void check(hr_status* status, const char* what) {
  if (status == NULL) return;
  fprintf(stderr, "train_rank: %s: %s: %s\n", what, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  exit(1);
}
#define TRY(call) check((call), #call)

static struct {
  const char* folder;
  int state, victim, signal, restored, divided;
  long long step, delay;
  int number, joins; /* of this process */
  int elastic, min_ranks, max_ranks;
  pthread_mutex_t ending;
  int ended; /* the training has: a fault would no longer disturb it */
  hr_session* session;
  hr_group* world;
} me = {.ending = PTHREAD_MUTEX_INITIALIZER};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* That of a process that joins is at least 1. */
static unsigned long long epoch(void) {
  return me.world == NULL ? (unsigned long long)me.joins : hr_group_epoch(me.world);
}

/* The first that asks for a file makes it; it has the time and the epoch. */
static int take(const char* name) {
  char path[4096], text[64];
  snprintf(path, sizeof path, "%s/%s", me.folder, name);
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return 0;
  snprintf(text, sizeof text, "%.6f %llu\n", now(), epoch());
  const int written = write(file, text, strlen(text)) > 0;
  close(file);
  return written;
}

static int exists(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", me.folder, name);
  return access(path, F_OK) == 0;
}

/* Whether the fault has happened in an earlier epoch. */
static int is_behind(void) {
  char path[4096];
  double time;
  unsigned long long then = 0;
  snprintf(path, sizeof path, "%s/fault", me.folder);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const int read = fscanf(file, "%lf %llu", &time, &then);
  fclose(file);
  return read == 2 && epoch() > then;
}

static void fail_now(const char* file) {
  pthread_mutex_lock(&me.ending);
  if (!me.ended && take(file)) kill(getpid(), me.signal);
  pthread_mutex_unlock(&me.ending);
}

/* Waits for all ranks: each has then met its fault, or will never meet it. */
static void end_training(void) {
  pthread_mutex_lock(&me.ending);
  me.ended = 1;
  pthread_mutex_unlock(&me.ending);
  TRY(hr_barrier(me.world, NULL));
}

static void fail_on_time(union sigval unused) {
  (void)unused;
  fail_now("fault");
}

/* In `delay` microseconds, wherever the process is by then. */
static void fail_later(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = fail_on_time};
  struct itimerspec time = {
      .it_value = {(time_t)(me.delay / 1000000), (long)(me.delay % 1000000) * 1000 + 1}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &time, NULL) != 0)
    exit(1);
}

static int is_victim(void) { return me.number == me.victim && !exists("fault"); }

/* ---- An operator that gives back its input, and may be the place of the fault ---- */

static void arrive(int place) {
  if (me.number != me.victim || me.joins || exists("fault")) return;
  if (hr_session_step(me.session) + 1 != me.step) return;
  if (me.state == JOIN && place == FORWARD && !exists("first")) {
    fail_now("first");
  } else if (me.state == place) {
    fail_now("fault");
  } else if (me.state == LAST && place == BETWEEN) {
    fail_later();
  } else if (me.state == SAVE && place == (me.divided ? BETWEEN : UPDATE)) {
    fail_later();
  }
}

static hr_status* infer_same(void* context, hr_op* op) {
  (void)context;
  return hr_op_set_output_like(op, 0, 0);
}

static hr_status* pass_through(void* context, hr_op* op) {
  const hr_op_tensor *in = hr_op_input_tensor(op, 0), *out = hr_op_output_tensor(op, 0);
  size_t bytes = sizeof(float);
  (void)context;
  for (size_t i = 0; i < in->rank; ++i) bytes *= (size_t)in->dims[i];
  if (me.session != NULL) arrive((int)hr_op_int(op, "place", NEVER));
  memcpy(out->data, in->data, bytes);
  return NULL;
}

static hr_status* pass_back(void* context, hr_op* op) {
  hr_value gradient = hr_op_output_gradient(op, 0);
  char place[32];
  (void)context;
  snprintf(place, sizeof place, "place=%d", BETWEEN);
  TRY(hr_op_add(op, "test.Place", place, 1, &gradient, 1, &gradient));
  return hr_op_set_gradient(op, 0, gradient);
}

static void add_operator(hr_env* env) {
  static const hr_operator_attribute attributes[1] = {
      {sizeof(hr_operator_attribute), "place", HR_ATTRIBUTE_INT, 1}};
  const hr_operator op = {.struct_size = sizeof op,
                          .name = "test.Place",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .min_outputs = 1,
                          .max_outputs = 1,
                          .attribute_count = 1,
                          .attributes = attributes,
                          .infer = infer_same,
                          .compute = pass_through,
                          .gradient = pass_back};
  TRY(hr_env_add_operator(env, &op));
}

/* ---- The model: two layers, each with an optimizer of its own ---- */

static const char* const kWeights[4] = {"fc2/weight", "fc2/bias", "fc1/weight", "fc1/bias"};

static hr_value op1(hr_graph* graph, const char* name, const char* attributes, hr_value x) {
  hr_value out;
  TRY(hr_graph_op(graph, name, attributes, 1, &x, 1, &out));
  return out;
}

static hr_value place(hr_graph* graph, int where, hr_value x) {
  char attributes[32];
  snprintf(attributes, sizeof attributes, "place=%d", where);
  return op1(graph, "test.Place", attributes, x);
}

static hr_value constant(hr_env* env, hr_graph* graph, const char* name, float number) {
  hr_tensor* tensor;
  hr_value out;
  TRY(hr_tensor_create(env, HR_FLOAT32, 0, NULL, &tensor));
  *(float*)hr_tensor_data(tensor) = number;
  TRY(hr_graph_constant(graph, name, tensor, &out));
  hr_tensor_release(tensor);
  return out;
}

/* The update of one layer, by gradients each of which is a place, unless they are divided: such an
 * operator takes them whole. */
static void update(hr_graph* graph, const char* optimizer, hr_value rate,
                   const hr_variable* variables, const hr_value* gradients) {
  hr_value mean[2];
  for (int i = 0; i < 2; ++i) {
    mean[i] = me.divided ? gradients[i] : place(graph, AFTER, gradients[i]);
  }
  TRY(hr_graph_apply_gradients(graph, "train", optimizer, rate, 2, variables, mean));
}

/* The rate of the second update is there when the first one is made: a place lies between them. */
static void minimize(hr_graph* graph, hr_value loss, hr_value rate, hr_value none) {
  hr_variable variables[4];
  hr_value gradients[4], written;
  for (int i = 0; i < 4; ++i) TRY(hr_graph_find_variable(graph, kWeights[i], &variables[i]));
  TRY(hr_graph_variable_gradients(graph, loss, 4, variables, gradients));
  update(graph, "sgd momentum=0.9", rate, variables, gradients);
  if (me.divided) return update(graph, "adam", rate, variables + 2, gradients + 2);
  TRY(hr_graph_read(graph, variables[1], &written));
  written = place(graph, UPDATE, op1(graph, "ReduceSum", "keepdims=0", written));
  TRY(hr_graph_op(graph, "Mul", NULL, 2, (hr_value[]){written, none}, 1, &written));
  TRY(hr_graph_op(graph, "Add", NULL, 2, (hr_value[]){rate, written}, 1, &rate));
  update(graph, "adam", rate, variables + 2, gradients + 2);
}

static hr_graph* build(hr_env* env) {
  const int64_t dims[2] = {-1, FEATURES};
  const char* const symbols[2] = {"batch", NULL};
  hr_graph* graph;
  hr_value x, labels, h, loss;
  TRY(hr_graph_create(env, &graph));
  TRY(hr_graph_input(graph, "x", HR_FLOAT32, 2, dims, symbols, &x));
  TRY(hr_graph_input(graph, "labels", HR_INT64, 1, dims, symbols, &labels));
  TRY(hr_graph_dense(graph, "fc1", x, HIDDEN, &h));
  h = place(graph, FORWARD, op1(graph, "Tanh", NULL, h));
  TRY(hr_graph_dense(graph, "fc2", h, CLASSES, &h));
  TRY(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (hr_value[]){h, labels}, 1, &loss));
  static const char* const signatures[2] = {"train", "eval"};
  for (int i = 0; i < 2; ++i) {
    TRY(hr_graph_signature_input(graph, signatures[i], "x", x));
    TRY(hr_graph_signature_input(graph, signatures[i], "labels", labels));
    TRY(hr_graph_signature_output(graph, signatures[i], "loss", loss));
  }
  minimize(graph, loss, constant(env, graph, "rate", 0.02f), constant(env, graph, "none", 0));
  return graph;
}

static hr_dataset* open_data(hr_env* env, int repeat, int rank, int size) {
  static const char* const names[2] = {"x", "labels"};
  const int64_t dims[2] = {EXAMPLES, FEATURES};
  const hr_dataset_options options = {.struct_size = sizeof options,
                                      .batch = BATCH,
                                      .repeat = repeat,
                                      .shuffle = 1,
                                      .seed = 3,
                                      .shard_index = rank,
                                      .shard_count = size};
  hr_tensor* tensors[2];
  hr_dataset* data;
  TRY(hr_tensor_create(env, HR_FLOAT32, 2, dims, &tensors[0]));
  TRY(hr_tensor_create(env, HR_INT64, 1, dims, &tensors[1]));
  for (int64_t i = 0; i < EXAMPLES; ++i) {
    ((int64_t*)hr_tensor_data(tensors[1]))[i] = i % CLASSES;
    for (int64_t j = 0; j < FEATURES; ++j)
      ((float*)hr_tensor_data(tensors[0]))[i * FEATURES + j] =
          (float)((i * 7 + j * (i % CLASSES)) % 11) / 11;
  }
  TRY(hr_dataset_from_tensors(env, 2, names, (const hr_tensor* const*)tensors, &options, &data));
  hr_tensor_release(tensors[0]);
  hr_tensor_release(tensors[1]);
  return data;
}

static hr_status* on_step(void* context, const hr_train_report* report, int32_t* out_stop) {
  (void)context, (void)report, (void)out_stop;
  if (is_behind()) take("next");
  /* So that a process that joins meets others that train. */
  const struct timespec pause = {.tv_nsec = 40000000};
  if (me.state == JOIN && exists("first")) nanosleep(&pause, NULL);
  return NULL;
}

static uint64_t hash_of(hr_session* session) {
  uint64_t hash = 14695981039346656037u;
  const size_t count = me.divided ? 4 : hr_session_variable_count(session);
  for (size_t i = 0; i < count; ++i) {
    hr_tensor* value;
    const char* name = me.divided ? kWeights[i] : hr_session_variable_name(session, i);
    TRY(hr_session_get_variable(session, name, NULL, &value));
    const unsigned char* bytes = hr_tensor_data(value);
    for (size_t k = 0; k < hr_tensor_bytes(value); ++k) hash = (hash ^ bytes[k]) * 1099511628211u;
    hr_tensor_release(value);
  }
  return hash;
}

static void say_end(hr_env* env, const hr_train_report* report) {
  char path[4096], line[256];
  hr_train_report all = {.struct_size = sizeof all};
  hr_dataset* data = open_data(env, 1, 0, 1);
  TRY(hr_evaluate(me.session, "eval", data, NULL, &all));
  hr_dataset_release(data);
  snprintf(path, sizeof path, "%s/ends", me.folder);
  snprintf(line, sizeof line, "%d %d %lld %lld %016llx %.6f\n", hr_group_rank(me.world),
           hr_group_size(me.world), (long long)report->step, (long long)report->epoch,
           (unsigned long long)hash_of(me.session), all.evaluation_loss);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0 || write(file, line, strlen(line)) < 0) exit(1);
  close(file);
}

static int number_of(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atoi(text);
}

static void read_arguments(char** argv) {
  me.folder = argv[1];
  for (me.state = 0; strcmp(kStates[me.state], argv[2]) != 0; ++me.state) {
    if (me.state == NEVER) exit(2);
  }
  me.step = atoll(argv[3]);
  me.victim = atoi(argv[4]);
  me.signal = atoi(argv[5]);
  me.delay = atoll(argv[6]);
  me.restored = atoi(argv[7]);
  me.divided = atoi(argv[8]);
  me.number = number_of("RANK");
  me.joins = number_of("HEADRACE_JOIN");
}

static void open_session(hr_env* env) {
  hr_graph* graph = build(env);
  hr_model* model;
  char strategy[100] = "mirrored first_bucket=1 bucket=1";
  if (me.divided) {
    snprintf(strategy, sizeof strategy, "mirrored first_bucket=1 bucket=1 zero=1 ranks=%d",
             hr_group_size(me.world));
  }
  TRY(hr_graph_distribute(graph, "train", "workers", strategy));
  TRY(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  TRY(hr_session_create(model, NULL, NULL, &me.session));
  hr_model_release(model);
}

static void train(hr_env* env, hr_train_report* report) {
  /* hr_train binds an elastic group. */
  if (!me.elastic) TRY(hr_session_bind_group(me.session, "workers", me.world, NULL));
  if (me.state == RESTORE && is_victim()) fail_later();
  hr_dataset* data = open_data(env, EPOCHS, hr_group_rank(me.world), hr_group_size(me.world));
  char checkpoints[4096];
  snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", me.folder);
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .checkpoint_directory = checkpoints,
                                    .checkpoint_steps = 5,
                                    .keep_checkpoints = 3,
                                    .max_steps = me.restored,
                                    .on_step = on_step,
                                    .group = me.world,
                                    .bound_group = "workers",
                                    .elastic_group = me.elastic ? me.world : NULL,
                                    .min_ranks = me.min_ranks,
                                    .max_ranks = me.max_ranks};
  TRY(hr_train(me.session, &options, NULL, report));
  hr_dataset_release(data);
}

/* The group of all ranks. One that comes to take part in a training that is over has nothing to do.
 */
static void meet(hr_env* env) {
  const hr_group_options group = {.struct_size = sizeof group, .silence_nanos = 500000000};
  hr_status* status = hr_group_create(env, &group, NULL, &me.world);
  if (me.joins && hr_status_code(status) == HR_OUT_OF_RANGE) exit(0);
  check(status, "hr_group_create");
}

static void read_launch(void) {
  hr_launch* launch;
  TRY(hr_launch_from_environment(&launch));
  me.min_ranks = hr_launch_min_ranks(launch);
  me.max_ranks = hr_launch_max_ranks(launch);
  me.elastic = me.max_ranks > 0;
  hr_launch_release(launch);
}

int main(int argc, char** argv) {
  if (argc != 9) return 2;
  read_arguments(argv);
  read_launch();
  const int comes_late = me.state == JOIN && me.joins;
  if ((comes_late || me.state == MEET) && is_victim()) fail_later();
  hr_env* env;
  const hr_env_options env_options = {.struct_size = sizeof env_options, .threads = 1};
  TRY(hr_env_create(&env_options, &env));
  add_operator(env);
  meet(env);
  open_session(env);
  hr_train_report report = {.struct_size = sizeof report};
  train(env, &report);
  end_training();
  say_end(env, &report);
  hr_session_release(me.session);
  hr_group_release(me.world);
  hr_env_release(env);
  return 0;
}
