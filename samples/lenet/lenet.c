/* LeNet on Fashion-MNIST: builds the graph, trains it, saves a checkpoint, exports a file to serve,
 * and lets a new process load that file and measure it. Everything goes through the public C API.
 */
#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <headrace/headrace.h>

/* Prints a failure and ends the program. */
static void check(hr_status* status, const char* doing) {
  if (status == NULL) return;
  fprintf(stderr, "lenet: %s: %s: %s", doing, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  if (hr_status_node(status)[0] != '\0') fprintf(stderr, " (node '%s')", hr_status_node(status));
  fputc('\n', stderr);
  exit(1);
}
#define TRY(call) check((call), #call)

/* Says why the system refused and ends the program. */
static void fail(const char* what) {
  fprintf(stderr, "lenet: %s: %s\n", what, strerror(errno));
  exit(1);
}

typedef struct options {
  int epochs, batch, threads, seed;
  const char *data, *out, *json, *serve;
} options;

/* ---- The model ------------------------------------------------------------------------------- */

static hr_value op(hr_graph* graph, const char* name, const char* attributes, hr_value input) {
  hr_value out;
  TRY(hr_graph_op(graph, name, attributes, 1, &input, 1, &out));
  return out;
}

static hr_value op2(hr_graph* graph, const char* name, hr_value a, hr_value b) {
  hr_value inputs[2] = {a, b}, out;
  TRY(hr_graph_op(graph, name, NULL, 2, inputs, 1, &out));
  return out;
}

static hr_value block(hr_graph* graph, const char* name, hr_value x, int64_t channels) {
  TRY(hr_graph_conv2d(graph, name, x, channels, 5, NULL, &x));
  return op(graph, "MaxPool", "kernel_shape=2,2 strides=2,2", op(graph, "Relu", NULL, x));
}

static hr_graph* build(hr_env* env) {
  const int64_t image_dims[4] = {-1, 1, 28, 28}, label_dims[1] = {-1};
  const char* symbols[4] = {"batch", NULL, NULL, NULL};
  hr_graph* graph;
  hr_value images, labels, rate, x, loss;
  TRY(hr_graph_create(env, &graph));
  TRY(hr_graph_input(graph, "images", HR_FLOAT32, 4, image_dims, symbols, &images));
  TRY(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, symbols, &labels));
  TRY(hr_graph_input(graph, "learning_rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  x = block(graph, "conv2", block(graph, "conv1", images, 20), 50);
  TRY(hr_graph_dense(graph, "fc1", x, 500, &x));
  TRY(hr_graph_dense(graph, "fc2", op(graph, "Relu", NULL, x), 10, &x));
  loss = op2(graph, "SoftmaxCrossEntropyLoss", x, labels);
  hr_value best = op(graph, "ArgMax", "axis=1 keepdims=0", x);
  hr_value correct = op(graph, "ReduceSum", "keepdims=0",
                        op(graph, "Cast", "to=1", op2(graph, "Equal", best, labels)));

  TRY(hr_graph_signature_input(graph, "train", "images", images));
  TRY(hr_graph_signature_input(graph, "train", "labels", labels));
  TRY(hr_graph_signature_input(graph, "train", "learning_rate", rate));
  TRY(hr_graph_signature_output(graph, "train", "loss", loss));
  TRY(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  TRY(hr_graph_signature_input(graph, "eval", "images", images));
  TRY(hr_graph_signature_input(graph, "eval", "labels", labels));
  TRY(hr_graph_signature_output(graph, "eval", "loss", loss));
  TRY(hr_graph_signature_output(graph, "eval", "correct", correct));
  TRY(hr_graph_signature_input(graph, "infer", "images", images));
  TRY(hr_graph_signature_output(graph, "infer", "scores", op(graph, "Softmax", "axis=1", x)));
  return graph;
}

/* ---- Several processes ------------------------------------------------------------------------
 */

/* The group of all processes, if a launcher has started this one as one of several; else NULL. */
typedef struct job {
  hr_group* world;
  int min_ranks, max_ranks; /* 0: ranks that die end the training */
} job;

static const char kGroup[] = "workers"; /* what the graph calls it */

static job join(hr_env* env) {
  job out = {.world = NULL};
  hr_launch* launch;
  TRY(hr_launch_from_environment(&launch));
  out.min_ranks = hr_launch_min_ranks(launch);
  out.max_ranks = hr_launch_max_ranks(launch);
  const int many = hr_launch_size(launch) > 1 || out.max_ranks > 1;
  hr_launch_release(launch);
  hr_status* status = many ? hr_group_create(env, NULL, NULL, &out.world) : NULL;
  if (hr_status_code(status) == HR_OUT_OF_RANGE) { /* it was to join others, which have finished */
    puts("the training is over");
    exit(0);
  }
  TRY(status);
  return out;
}

/* They change when ranks die or come. */
static int rank_of(const job* j) { return j->world == NULL ? 0 : hr_group_rank(j->world); }
static int size_of(const job* j) { return j->world == NULL ? 1 : hr_group_size(j->world); }

/* ---- Training and serving ---------------------------------------------------------------------
 */

/* Processes of one machine share its processors. */
static int threads_of(const options* o) {
  const char* ranks = getenv("LOCAL_WORLD_SIZE");
  const int share = ranks == NULL ? 0 : (int)sysconf(_SC_NPROCESSORS_ONLN) / atoi(ranks);
  if (o->threads != 0 || ranks == NULL) return o->threads;
  return share < 1 ? 1 : share;
}

static hr_env* make_env(const options* o) {
  hr_env_options env_options = {.struct_size = sizeof env_options, .threads = threads_of(o)};
  hr_env* env;
  TRY(hr_env_create(&env_options, &env));
  return env;
}

static hr_dataset* open_data(hr_env* env, const options* o, const char* split, const char* query) {
  char uri[16384] = "idx:";
  hr_dataset* data;
  size_t end = strlen(uri);
  for (const char* c = o->data; *c != '\0' && end < sizeof uri - 512; ++c) {
    /* These two mean something in an address. */
    end += (size_t)snprintf(uri + end, 4, *c == '%' || *c == '?' ? "%%%02X" : "%c", *c);
  }
  snprintf(uri + end, sizeof uri - end, "/%s?%s", split, query);
  TRY(hr_dataset_open(env, uri, &data));
  return data;
}

/* The bar begins with the first step, when it is known from where training goes on. */
typedef struct watch {
  const options* options;
  hr_dataset* data;
  int size; /* of the group, for which `progress` counts the steps */
  int64_t epoch_steps;
  const job* job;
  const char* folder; /* of events */
  hr_session* session;
  hr_summary* events;
  hr_progress* progress;
} watch;

/* For TensorBoard: the graph, and images as the model gets them. */
static void write_beginning(hr_summary* events, hr_model* model, hr_dataset* test) {
  hr_tensor* batch[2]; /* images, labels */
  TRY(hr_summary_graph(events, model));
  TRY(hr_dataset_next(test, NULL, batch)); /* an evaluation begins a pass of its own */
  TRY(hr_summary_images(events, "images", 0, batch[0], 8));
  hr_tensor_release(batch[0]);
  hr_tensor_release(batch[1]);
  TRY(hr_summary_flush(events));
}

/* Histograms of what is trained, but for the optimizer's state. */
static void write_weights(const watch* w, int64_t step) {
  for (size_t i = 0; i < hr_session_variable_count(w->session); ++i) {
    const char* name = hr_session_variable_name(w->session, i);
    hr_tensor* values;
    char tag[256];
    if (strstr(name, "/momentum") != NULL) continue;
    snprintf(tag, sizeof tag, "weights/%s", name);
    TRY(hr_session_get_variable(w->session, name, NULL, &values));
    TRY(hr_summary_histogram(w->events, tag, step, values));
    hr_tensor_release(values);
  }
}

/* The step that will be the last: the more ranks, the fewer are left. */
static int64_t last_step(const watch* w, int64_t step) {
  hr_text* position;
  long long epoch, example;
  TRY(hr_dataset_position(w->data, &position));
  if (sscanf(hr_text_data(position), "{\"epoch\":%lld,\"example\":%lld", &epoch, &example) != 2) {
    epoch = example = 0;
  }
  hr_text_release(position);
  return step + (w->options->epochs - epoch) * hr_dataset_batches(w->data) -
         example / (w->options->batch * w->size);
}

static hr_status* on_step(void* context, const hr_train_report* report, int32_t* out_stop) {
  (void)out_stop;
  watch* w = context;
  int64_t counted = report->examples;
  if (rank_of(w->job) != 0) return NULL;                              /* rank 0 speaks for all */
  if (w->events == NULL) TRY(hr_summary_open(w->folder, &w->events)); /* it is another one now */
  if (w->size != size_of(w->job)) {                                   /* ranks have died or come */
    hr_progress_release(w->progress);
    w->progress = NULL;
    w->size = size_of(w->job);
  }
  if (w->progress == NULL) {
    const int64_t last = last_step(w, report->step);
    TRY(hr_progress_create("train", "images", report->step, last, &w->progress));
    counted = 0; /* the step was done before the clock of the bar began */
  }
  hr_progress_update(w->progress, report->step, counted * size_of(w->job), "loss", report->loss);
  if (report->step % w->epoch_steps == 0) write_weights(w, report->step);
  return NULL;
}

static void on_message(void* context, const char* message) {
  watch* w = context;
  if (rank_of(w->job) != 0) return;
  if (w->progress != NULL) {
    hr_progress_message(w->progress, message);
  } else {
    fprintf(stderr, "%s\n", message);
  }
}

/* Loads the exported file and measures it on the test images. */
static int serve(const options* o) {
  hr_env* env = make_env(o);
  hr_model* model;
  hr_session* session;
  hr_train_report report = {.struct_size = sizeof report};
  TRY(hr_model_load(env, o->serve, NULL, &model));
  TRY(hr_session_create(model, NULL, NULL, &session));
  hr_dataset* test = open_data(env, o, "test", "batch=500");
  TRY(hr_evaluate(session, "eval", test, NULL, &report));
  printf("%.4f\n", report.evaluation_accuracy);
  hr_dataset_release(test);
  hr_session_release(session);
  hr_model_release(model);
  hr_env_release(env);
  return 0;
}

/* Starts this program to serve a file; what it prints can be read from the descriptor. No shell
 * stands between, so names may hold any character. */
static pid_t start_serving(const char* program, const options* o, const char* file, int* out) {
  extern char** environ;
  char threads[16];
  snprintf(threads, sizeof threads, "%d", o->threads);
  char* arguments[] = {(char*)program, "--serve",   (char*)file, "--data",
                       (char*)o->data, "--threads", threads,     NULL};
  int ends[2];
  pid_t child;
  posix_spawn_file_actions_t actions;
  if (pipe(ends) != 0) fail("a pipe");
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  if ((errno = posix_spawnp(&child, program, &actions, NULL, arguments, environ)) != 0)
    fail(program);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  *out = ends[0];
  return child;
}

/* The accuracy that a new process of this program measures. */
static double serve_elsewhere(const char* program, const options* o, const char* file) {
  double accuracy = -1;
  int out, status;
  pid_t child = start_serving(program, o, file, &out);
  FILE* printed = fdopen(out, "r");
  int read = fscanf(printed, "%lf", &accuracy);
  fclose(printed);
  if (waitpid(child, &status, 0) != child || status != 0 || read != 1) {
    fprintf(stderr, "lenet: serving '%s' in a new process failed\n", file);
    exit(1);
  }
  return accuracy;
}

static void json_string(FILE* out, const char* key, const char* text) {
  fprintf(out, "\"%s\": \"", key);
  for (; *text != '\0'; ++text) {
    unsigned char c = (unsigned char)*text;
    if (c < ' ') {
      fprintf(out, "\\u%04x", c);
    } else {
      if (c == '"' || c == '\\') fputc('\\', out);
      fputc(c, out);
    }
  }
  fputc('"', out);
}

/* Before hours of training, not after them. */
static void check_folder_of(const char* option, const char* file) {
  const char* slash = strrchr(file, '/');
  char* folder = slash == NULL ? strdup(".") : strndup(file, (size_t)(slash + 1 - file));
  if (access(folder, W_OK) != 0) {
    fprintf(stderr, "lenet: --%s: cannot write '%s': %s; name a folder that is there\n", option,
            file, strerror(errno));
    exit(1);
  }
  free(folder);
}

/* `names` and `files`: four of them. */
static void write_json(const options* o, double accuracy, const hr_train_report* report,
                       const char* const* names, const char* const* files) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  FILE* out = fopen(o->json, "w");
  if (out == NULL) fail(o->json);
  fprintf(out, "{\"test_accuracy\": %.4f, ", accuracy);
  if (report->examples != 0) {
    fprintf(out, "\"images_per_second\": %.0f, ", report->examples_per_second);
  } else {
    fputs("\"images_per_second\": null, ", out);
  }
  fprintf(out, "\"peak_rss_bytes\": %lld, \"epochs\": %lld, \"files\": {",
          (long long)usage.ru_maxrss * 1024, (long long)report->epoch);
  for (int i = 0; i < 4; ++i) {
    if (i > 0) fputs(", ", out);
    json_string(out, names[i], files[i]);
  }
  fputs("}}\n", out);
  if (fclose(out) != 0) fail(o->json);
}

/* Makes a folder and those above it. */
static void make_folders(const char* path) {
  char prefix[4096];
  for (size_t i = 1; i <= strlen(path) && i < sizeof prefix; ++i) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(prefix, path, i);
    prefix[i] = '\0';
    if (mkdir(prefix, 0777) != 0 && errno != EEXIST) fail(prefix);
  }
}

static void say_nothing_was_left(const options* o, const hr_train_report* report,
                                 const char* checkpoints) {
  printf(
      "Nothing was left to train: '%s' has %lld epoch%s already, --epochs asks for %d. Give\n"
      "more --epochs to go on; remove that folder or name another --out to begin afresh.\n",
      checkpoints, (long long)report->epoch, report->epoch == 1 ? "" : "s", o->epochs);
}

/* Where a training leaves what it makes. */
typedef struct files {
  char model[4096], checkpoints[4096], events[4096], served[4096];
} files;

static files files_of(const options* o) {
  files f;
  snprintf(f.model, sizeof f.model, "%s/lenet.hrg", o->out);
  snprintf(f.checkpoints, sizeof f.checkpoints, "%s/checkpoints", o->out);
  snprintf(f.events, sizeof f.events, "%s/tensorboard", o->out);
  snprintf(f.served, sizeof f.served, "%s/lenet-serve.hrg", o->out);
  return f;
}

/* Exports the model, has a new process measure it, and says what came of it. */
static void tell(const char* program, const options* o, hr_session* session,
                 const hr_train_report* report) {
  const files f = files_of(o);
  if (report->examples == 0) say_nothing_was_left(o, report, f.checkpoints);
  const char* served[2] = {"infer", "eval"};
  TRY(hr_session_export(session, f.served, 2, served, NULL, NULL));
  double accuracy = serve_elsewhere(program, o, f.served);
  printf("test accuracy  %.4f after %lld epoch%s, measured by a new process on %s\n", accuracy,
         (long long)report->epoch, report->epoch == 1 ? "" : "s", f.served);
  if (report->examples != 0) printf("speed          %.0f images/s\n", report->examples_per_second);
  printf("graph          %s\ncheckpoints    %s\n", f.model, f.checkpoints);
  printf("tensorboard    tensorboard --logdir %s\n", f.events);
  if (o->json != NULL) {
    const char* names[4] = {"model", "checkpoints", "tensorboard", "export"};
    const char* files[4] = {f.model, f.checkpoints, f.events, f.served};
    write_json(o, accuracy, report, names, files);
  }
}

static int train(const char* program, const options* o) {
  const files f = files_of(o);
  char query[256];

  make_folders(o->out);
  if (o->json != NULL) check_folder_of("json", o->json);
  hr_env* env = make_env(o);
  const job job = join(env);
  hr_graph* graph = build(env);
  if (job.world != NULL) TRY(hr_graph_distribute(graph, "train", kGroup, "mirrored"));
  if (rank_of(&job) == 0) TRY(hr_graph_save(graph, f.model, NULL));

  hr_model* model;
  hr_session* session;
  hr_session_options session_options = {.struct_size = sizeof session_options,
                                        .seed = (uint64_t)o->seed};
  TRY(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  TRY(hr_session_create(model, &session_options, NULL, &session));
  /* Each rank gets its part of every batch. */
  snprintf(query, sizeof query, "batch=%d&shuffle=1&seed=%d&repeat=%d&prefetch=2&shard=%d/%d",
           o->batch, o->seed, o->epochs, rank_of(&job), size_of(&job));
  hr_dataset* data = open_data(env, o, "train", query);
  snprintf(query, sizeof query, "batch=500&shard=%d/%d", rank_of(&job), size_of(&job));
  hr_dataset* test = open_data(env, o, "test", query);

  int64_t epoch_steps = hr_dataset_batches(data);
  watch watching = {.options = o,
                    .data = data,
                    .epoch_steps = epoch_steps,
                    .job = &job,
                    .folder = f.events,
                    .session = session};
  /* hr_train binds the group of an elastic training. */
  if (job.world != NULL && job.max_ranks == 0) {
    TRY(hr_session_bind_group(session, kGroup, job.world, NULL));
  }
  if (rank_of(&job) == 0) {
    TRY(hr_summary_open(f.events, &watching.events));
    write_beginning(watching.events, model, test);
  }
  const char* scalar_names[1] = {"learning_rate"};
  const double scalars[1] = {0.05};
  hr_train_options train_options = {.struct_size = sizeof train_options,
                                    .train_data = data,
                                    .eval_data = test,
                                    .scalar_count = 1,
                                    .scalar_names = scalar_names,
                                    .scalars = scalars,
                                    .checkpoint_directory = f.checkpoints,
                                    .event_directory = f.events,
                                    .eval_steps = epoch_steps,
                                    .on_step = on_step,
                                    .on_message = on_message,
                                    .context = &watching,
                                    .bound_group = job.world != NULL ? kGroup : NULL,
                                    .elastic_group = job.max_ranks > 0 ? job.world : NULL,
                                    .min_ranks = job.min_ranks,
                                    .max_ranks = job.max_ranks};
  hr_train_report report = {.struct_size = sizeof report};
  TRY(hr_train(session, &train_options, NULL, &report));
  report.examples_per_second *= size_of(&job);
  hr_progress_release(watching.progress);
  hr_summary_release(watching.events);
  hr_dataset_release(test);
  hr_dataset_release(data);
  if (rank_of(&job) == 0) tell(program, o, session, &report);
  hr_session_release(session);
  hr_model_release(model);
  hr_group_release(job.world);
  hr_env_release(env);
  return 0;
}

/* ---- Command line ------------------------------------------------------------------------------
 */

static void usage(FILE* out) {
  fputs(
      "usage: samples/lenet/run [options]\n\n"
      "Trains LeNet on Fashion-MNIST, saves a checkpoint, exports a file to serve, and measures "
      "that\n"
      "file in a new process. Started again with the same --out it goes on from the checkpoint.\n\n"
      "  --epochs N     passes over the 60,000 images (2)\n"
      "  --batch N      images a step, of each rank (64)\n"
      "  --ranks N      processes that train together (1)\n"
      "  --threads N    threads that compute (as many as processors)\n"
      "  --seed N       of initial values and shuffling (1)\n"
      "  --data DIR     folder with the four IDX files (/usr/share/datasets/fashion-mnist)\n"
      "  --out DIR      where files go (out/lenet)\n"
      "  --json FILE    write results there\n"
      "  --help         this text\n",
      out);
}

static int number(const char* option, const char* text, int least) {
  char* end;
  long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < least || value > 1000000000) {
    fprintf(stderr, "lenet: --%s takes a whole number of at least %d, got '%s'\n", option, least,
            text);
    exit(2);
  }
  return (int)value;
}

int main(int argc, char** argv) {
  options o = {.epochs = 2,
               .batch = 64,
               .threads = 0,
               .seed = 1,
               .data = "/usr/share/datasets/fashion-mnist",
               .out = "out/lenet"};
  enum { EPOCHS = 256, BATCH, THREADS, SEED, DATA, OUT, JSON, SERVE, HELP };
  static const struct option known[] = {{"epochs", required_argument, NULL, EPOCHS},
                                        {"batch", required_argument, NULL, BATCH},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"seed", required_argument, NULL, SEED},
                                        {"data", required_argument, NULL, DATA},
                                        {"out", required_argument, NULL, OUT},
                                        {"json", required_argument, NULL, JSON},
                                        {"serve", required_argument, NULL, SERVE},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (c) {
      case EPOCHS: o.epochs = number("epochs", optarg, 1); break;
      case BATCH: o.batch = number("batch", optarg, 1); break;
      case THREADS: o.threads = number("threads", optarg, 0); break;
      case SEED: o.seed = number("seed", optarg, 0); break;
      case DATA: o.data = optarg; break;
      case OUT: o.out = optarg; break;
      case JSON: o.json = optarg; break;
      case SERVE: o.serve = optarg; break;
      case HELP: usage(stdout); return 0;
      default: usage(stderr); return 2;
    }
  }
  if (optind != argc) {
    fprintf(stderr, "lenet: unexpected argument '%s'\n", argv[optind]);
    usage(stderr);
    return 2;
  }
  return o.serve != NULL ? serve(&o) : train(argv[0], &o);
}
