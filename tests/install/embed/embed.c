/* A host: builds a graph, runs it, and exits 0 when 1 + 2 = 3. With "tcp" as its argument: when
 * there is TCP; with "no-tcp": when there is none, a sentence and the log say so, and groups go on
 * without. */
#include <headrace/headrace.h>
#include <stdio.h>
#include <string.h>

static int Check(hr_status* status) {
  if (status == NULL) return 1;
  fprintf(stderr, "%s\n", hr_status_message(status));
  hr_status_release(status);
  return 0;
}
#define TRY(call) \
  if (!Check(call)) return 1

/* Counts the messages about the plugin that is not there. */
static void Log(void* context, hr_log_level level, const char* message) {
  if (level == HR_LOG_INFO && strstr(message, "libheadrace_net.so")) ++*(int*)context;
}

static int Communicate(hr_env* env, const char* how, const int* logged) {
  hr_group_options options = {.struct_size = sizeof options, .size = 1, .transport = "tcp"};
  hr_group* group;
  hr_status* status = hr_group_create(env, &options, NULL, &group);
  if (strcmp(how, "tcp") == 0) {
    if (!Check(status)) return 0;
    hr_group_release(group);
    return 1;
  }
  const int said = *logged == 1 && status != NULL &&
                   strstr(hr_status_message(status), "libheadrace_net.so") != NULL;
  hr_status_release(status);
  options.transport = "auto";
  if (!said || !Check(hr_group_create(env, &options, NULL, &group))) return 0;
  hr_group_release(group);
  return *logged == 1; /* once */
}

int main(int argc, char** argv) {
  hr_env* env;
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_value values[2], sum;
  float result = 0;
  int logged = 0;
  const hr_log_sink log = {.struct_size = sizeof log, .context = &logged, .write = Log};
  const hr_env_options options = {.struct_size = sizeof options, .log = &log};

  TRY(hr_env_create(&options, &env));
  TRY(hr_graph_create(env, &graph));
  TRY(hr_graph_input(graph, "a", HR_FLOAT32, 0, NULL, NULL, &values[0]));
  TRY(hr_graph_input(graph, "b", HR_FLOAT32, 0, NULL, NULL, &values[1]));
  TRY(hr_graph_op(graph, "Add", NULL, 2, values, 1, &sum));
  TRY(hr_graph_signature_input(graph, "add", "a", values[0]));
  TRY(hr_graph_signature_input(graph, "add", "b", values[1]));
  TRY(hr_graph_signature_output(graph, "add", "sum", sum));
  TRY(hr_model_from_graph(graph, &model));
  TRY(hr_session_create(model, NULL, NULL, &session));
  TRY(hr_call_create(session, "add", &call));
  TRY(hr_call_bind_scalar(call, "a", 1));
  TRY(hr_call_bind_scalar(call, "b", 2));
  TRY(hr_call_output(call, "sum", &result, sizeof result));
  TRY(hr_call_run(call, NULL));
  if (argc > 1 && !Communicate(env, argv[1], &logged)) return 1;
  printf("%s says 1 + 2 = %g\n", hr_version_text(), result);

  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_graph_release(graph);
  hr_env_release(env);
  return result == 3 ? 0 : 1;
}
