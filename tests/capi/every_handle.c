#include "every_handle.h"

#include "comm_support.h"

static void (*check_op)(hr_op* op);

static hr_status* infer(void* context, hr_op* op) {
  (void)context;
  check_op(op);
  return hr_op_set_output_like(op, 0, 0);
}

static hr_status* compute(void* context, hr_op* op) {
  (void)context, (void)op;
  return NULL;
}

/* The operator's type is inferred at once. */
static void open_graph(every_handle* all) {
  const int64_t dims[1] = {1};
  hr_value x, y;
  const hr_operator op = {.struct_size = sizeof op,
                          .name = "org.example.Check",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .min_outputs = 1,
                          .max_outputs = 1,
                          .infer = infer,
                          .compute = compute};
  CHECK(hr_env_add_operator(all->env, &op));
  CHECK(hr_graph_create(all->env, &all->graph));
  CHECK(hr_graph_input(all->graph, "input", HR_FLOAT32, 1, dims, NULL, &x));
  CHECK(hr_graph_op(all->graph, "org.example.Check", NULL, 1, &x, 1, &y));
  CHECK(hr_graph_op(all->graph, "Relu", NULL, 1, &x, 1, &y));
  CHECK(hr_graph_signature_input(all->graph, "run", "input", x));
  CHECK(hr_graph_signature_output(all->graph, "run", "output", y));
  CHECK(hr_node_spec_create("Relu", &all->node_spec));
  CHECK(hr_tensor_create(all->env, HR_FLOAT32, 1, dims, &all->tensor));
  *(float*)hr_tensor_data(all->tensor) = 1;
}

static void open_session(every_handle* all) {
  const char* const name[1] = {"input"};
  const hr_tensor* const tensor[1] = {all->tensor};
  CHECK(hr_model_from_graph(all->graph, &all->model));
  CHECK(hr_session_create(all->model, NULL, NULL, &all->session));
  CHECK(hr_call_create(all->session, "run", &all->call));
  CHECK(hr_call_bind(all->call, "input", all->tensor));
  CHECK(hr_call_start(all->call, NULL, &all->run));
  CHECK(hr_run_wait(all->run, NULL));
  CHECK(hr_queue_create(all->env, &all->queue));
  CHECK(hr_dataset_from_tensors(all->env, 1, name, tensor, NULL, &all->dataset));
  CHECK(hr_summary_open(all->folder, &all->summary));
  CHECK(hr_progress_create("every handle", "steps", 0, 1, &all->progress));
}

/* Rank 1 does nothing, so the barrier does not end. */
static void open_group(every_handle* all) {
  const pair both = open_pair(all->env, NULL);
  all->group = both.group[0];
  all->idle = both.group[1];
  CHECK(hr_barrier_start(all->group, &all->work));
  CHECK(hr_store_open(all->env, "memory:", &all->store));
  CHECK(hr_launch_from_environment(&all->launch));
}

every_handle open_every_handle(void (*check)(hr_op* op)) {
  every_handle all = {.folder = make_folder()};
  all.path = in_folder(all.folder, "missing");
  check_op = check;
  all.env = make_env(2);
  all.status = hr_status_create(HR_ABORTED, "a failure");
  CHECK(hr_env_describe(all.env, &all.text));
  CHECK(hr_cancel_create(&all.cancel));
  open_graph(&all);
  open_session(&all);
  open_group(&all);
  return all;
}

void close_every_handle(every_handle* all) {
  hr_work_release(all->work);
  hr_group_release(all->group);
  hr_group_release(all->idle);
  hr_store_release(all->store);
  hr_launch_release(all->launch);
  hr_progress_release(all->progress);
  hr_summary_release(all->summary);
  hr_dataset_release(all->dataset);
  hr_queue_release(all->queue);
  hr_run_release(all->run);
  hr_call_release(all->call);
  hr_session_release(all->session);
  hr_model_release(all->model);
  hr_tensor_release(all->tensor);
  hr_node_spec_release(all->node_spec);
  hr_graph_release(all->graph);
  hr_cancel_release(all->cancel);
  hr_text_release(all->text);
  hr_status_release(all->status);
  hr_env_release(all->env);
  remove_folder(all->folder);
}
