/* Layouts and kernels of convolutions: what plans say of them, what a developer pins, and a table
 * of the machine's costs. */
#include "nodes.h"

#include <inttypes.h>

enum { kBatch = 16, kChannels = 40, kSize = 16 };

static hr_model* make_model(hr_env* env) {
  const int64_t dims[] = {kBatch, kChannels, kSize, kSize};
  hr_graph* graph;
  hr_model* model;
  hr_value x, y;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 4, dims, NULL, &x));
  CHECK(hr_graph_conv2d(graph, "conv", x, kChannels, 3, "pads=1,1,1,1", &y));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "y", y));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

/* The plan, or the failure to make one. */
static hr_status* describe_by(hr_env* env, const hr_session_options* options, hr_text** out) {
  const int64_t dims[] = {kBatch, kChannels, kSize, kSize};
  hr_model* model = make_model(env);
  hr_session* session;
  hr_call* call;
  hr_tensor* x;
  hr_status* status = hr_session_create(model, options, NULL, &session);
  hr_model_release(model);
  if (status != NULL) return status;
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 4, dims, &x));
  CHECK(hr_call_bind(call, "x", x));
  status = hr_call_describe(call, out);
  hr_tensor_release(x);
  hr_call_release(call);
  hr_session_release(session);
  return status;
}

static hr_status* describe(hr_env* env, const char* pin, hr_text** out) {
  const hr_session_options options = {.struct_size = sizeof options, .pin = pin};
  return describe_by(env, &options, out);
}

static int plan_has(hr_env* env, const char* pin, const char* words) {
  hr_text* plan;
  CHECK(describe(env, pin, &plan));
  const int found = strstr(hr_text_data(plan), words) != NULL;
  hr_text_release(plan);
  return found;
}

static void test_choice(hr_env* env) {
  EXPECT(plan_has(env, NULL, "\"choice\":{\"layout\":\"batch_blocked\",\"method\":\"winograd\""));
  EXPECT(plan_has(env, NULL, "\"runner_up\":{\"layout\":"));
  EXPECT(plan_has(env, NULL, "\"pinned\":false,\"together\":1"));
}

static void test_pins(hr_env* env) {
  EXPECT(plan_has(env, "layout=channels_last kernel=direct", "\"kernel\":\"conv_channels_last\""));
  EXPECT(plan_has(env, "layout=channels_last", "\"pinned\":true"));
  EXPECT(plan_has(env, "layout=plain kernel=portable", "\"kernel\":\"conv\""));
  EXPECT(plan_has(env, " kernel=direct  layout=batch_blocked ", "conv_batch_blocked_direct"));
  EXPECT(plan_has(env, "layout=batch_blocked kernel=winograd", "conv_batch_blocked_winograd"));
  hr_text* plan;
  for (const char* const* wrong = (const char*[]){"layout", "layout=square", "kernel=", "size=3",
                                                  "layout=plain,kernel=direct", NULL};
       *wrong != NULL; ++wrong) {
    FAILS(describe(env, *wrong, &plan), HR_INVALID_ARGUMENT,
          "pin takes words such as layout=plain");
  }
}

static void test_exact_sums_forbid_pinned_kernels(hr_env* env) {
  const char* const layouts[] = {"layout=batch_blocked kernel=winograd",
                                 "layout=channels_last kernel=winograd"};
  for (int i = 0; i < 2; ++i) {
    const hr_session_options exact = {
        .struct_size = sizeof exact, .exact_sums = 1, .pin = layouts[i]};
    hr_text* plan;
    CHECK(describe_by(env, &exact, &plan));
    EXPECT(strstr(hr_text_data(plan), "winograd") == NULL);
    hr_text_release(plan);
  }
}

/* ---- Tables ---- */

static const char* machine_of(hr_env* env) {
  static char machine[200];
  hr_text* described;
  CHECK(hr_env_describe(env, &described));
  const char* at = strstr(hr_text_data(described), "\"description\":\"");
  EXPECT(at != NULL);
  EXPECT(sscanf(at + strlen("\"description\":\""), "%199[^\"]", machine) == 1);
  hr_text_release(described);
  return machine;
}

static void write_table(const char* path, const char* machine, const char* lines, int damage) {
  char text[1000];
  snprintf(text, sizeof text, "headrace costs 1\nmachine %s\n%s", machine, lines);
  uint64_t hash = 0xcbf29ce484222325;
  for (const char* c = text; *c != '\0'; ++c) hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
  FILE* file = fopen(path, "w");
  EXPECT(file != NULL);
  fprintf(file, "%scheck %016" PRIx64 "\n", text, hash + (uint64_t)damage);
  EXPECT(fclose(file) == 0);
}

static hr_env* env_with(const char* cost_table) {
  const hr_env_options options = {
      .struct_size = sizeof options, .threads = 1, .cost_table = cost_table};
  hr_env* env;
  CHECK(hr_env_create(&options, &env));
  return env;
}

static void refuses(const char* cost_table, hr_code code, const char* words) {
  const hr_env_options options = {.struct_size = sizeof options, .cost_table = cost_table};
  hr_env* env;
  FAILS(hr_env_create(&options, &env), code, words);
}

static void test_tables(hr_env* env) {
  char* folder = make_folder();
  char path[4200];
  const char* machine = machine_of(env);
  snprintf(path, sizeof path, "%s", in_folder(folder, "costs"));
  refuses(path, HR_NOT_FOUND, path);
  /* Where blocks of images take 50 times as long, they are not chosen. */
  write_table(path, machine, "winograd 50\ndirect 50\n", 0);
  hr_env* slow = env_with(path);
  EXPECT(!plan_has(slow, NULL, "\"choice\":{\"layout\":\"batch_blocked\""));
  hr_env_release(slow);
  write_table(path, machine, "channels_last 1.5\nportable 2\ncopies 0.9\n", 0);
  hr_env* same = env_with(path);
  EXPECT(plan_has(same, NULL, "\"choice\":{\"layout\":\"batch_blocked\""));
  hr_env_release(same);
  /* The environment's is for programs that name none. */
  write_table(path, machine, "winograd 50\ndirect 50\n", 0);
  EXPECT(setenv("HEADRACE_COSTS", path, 1) == 0);
  hr_env* by_variable = env_with(NULL);
  EXPECT(!plan_has(by_variable, NULL, "\"choice\":{\"layout\":\"batch_blocked\""));
  hr_env_release(by_variable);
  EXPECT(setenv("HEADRACE_COSTS", "/nowhere/costs", 1) == 0);
  hr_env_release(env_with(path));
  EXPECT(unsetenv("HEADRACE_COSTS") == 0);
  write_table(path, "portable kernels, abacus", "", 0);
  refuses(path, HR_FAILED_PRECONDITION, "of a machine with 'portable kernels, abacus'");
  write_table(path, machine, "winograd 2\n", 1);
  refuses(path, HR_DATA_LOSS, "its checksum differs");
  write_table(path, machine, "winograd 1e9\n", 0);
  refuses(path, HR_DATA_LOSS, "expected a number from 0.01 to 100");
  write_table(path, machine, "winograd nan\n", 0);
  refuses(path, HR_DATA_LOSS, "expected a number from 0.01 to 100");
  write_table(path, machine, "wino 2\n", 0);
  refuses(path, HR_DATA_LOSS, "a line 'wino', which is unknown");
  FILE* file = fopen(path, "w");
  EXPECT(file != NULL && fputs("conv,1\n", file) >= 0 && fclose(file) == 0);
  refuses(path, HR_DATA_LOSS, "does not begin with");
  file = fopen(path, "w");
  EXPECT(file != NULL && fputs("headrace costs 1\n", file) >= 0 && fclose(file) == 0);
  refuses(path, HR_DATA_LOSS, "has no checksum");
  remove_folder(folder);
}

const test tests[] = {
    {"plans say why a convolution runs as it does", test_choice},
    {"layouts and kernels are pinned", test_pins},
    {"exact_sums forbids kernels that are pinned", test_exact_sums_forbid_pinned_kernels},
    {"a table of costs is followed, and refused if it is wrong", test_tables},
    {NULL, NULL},
};
