/* A host: builds a graph, runs it, and exits 0 when 1 + 2 = 3. */
#include <headrace/headrace.h>
#include <stdio.h>

static int Check(hr_status* status) {
  if (status == NULL) return 1;
  fprintf(stderr, "%s\n", hr_status_message(status));
  hr_status_release(status);
  return 0;
}
#define TRY(call) \
  if (!Check(call)) return 1

int main(void) {
  hr_env* env;
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_value values[2], sum;
  float result = 0;

  TRY(hr_env_create(NULL, &env));
  TRY(hr_graph_create(env, &graph));
  TRY(hr_graph_input(graph, "a", HR_FLOAT32, 0, NULL, NULL, &values[0]));
  TRY(hr_graph_input(graph, "b", HR_FLOAT32, 0, NULL, NULL, &values[1]));
  TRY(hr_graph_op(graph, "Add", NULL, 2, values, 1, &sum));
  TRY(hr_graph_signature_input(graph, "add", "a", values[0]));
  TRY(hr_graph_signature_input(graph, "add", "b", values[1]));
  TRY(hr_graph_signature_output(graph, "add", "sum", sum));
  TRY(hr_model_from_graph(graph, &model));
  TRY(hr_session_create(model, NULL, &session));
  TRY(hr_call_create(session, "add", &call));
  TRY(hr_call_bind_scalar(call, "a", 1));
  TRY(hr_call_bind_scalar(call, "b", 2));
  TRY(hr_call_output(call, "sum", &result, sizeof result));
  TRY(hr_call_run(call, NULL));
  printf("%s says 1 + 2 = %g\n", hr_version_text(), result);

  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_graph_release(graph);
  hr_env_release(env);
  return result == 3 ? 0 : 1;
}
