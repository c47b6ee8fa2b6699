/* The host ends waits by its function `interrupted`, and goes on with the same objects. */
#include <pthread.h>

#include "comm_support.h"
#include "gate.h"
#include "models.h"
#include "patience.h"

enum { WIDTH = 1 << 18 };

static void* run_held(void* call) {
  CHECK(hr_call_run(call, NULL));
  return NULL;
}

static void waits_for_a_session(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, make_folder());
  const char* fetches[1] = {"sum"};
  const char* signatures[1] = {"look"};
  hr_tensor *value, *sum;
  hr_call* look;
  pthread_t thread;
  CHECK(hr_session_get_variable(c.session, "a", NULL, &value));
  CHECK(hr_call_create(c.session, "look", &look));
  hold_at(1);
  EXPECT(pthread_create(&thread, NULL, run_held, c.step) == 0);
  wait_until_held();
  INTERRUPTED(hr_call_run(look, &limits));
  INTERRUPTED(hr_session_run(c.session, 0, NULL, NULL, 1, fetches, 0, NULL, &limits, &sum));
  INTERRUPTED(hr_session_get_variable(c.session, "a", &limits, &sum));
  INTERRUPTED(hr_session_set_variable(c.session, "a", value, &limits));
  INTERRUPTED(hr_session_save(c.session, c.folder, NULL, &limits));
  INTERRUPTED(
      hr_session_export(c.session, in_folder(c.folder, "x.hrg"), 1, signatures, NULL, &limits));
  EXPECT(count_entries(c.folder) == 2); /* nothing was written */
  let_go();
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(hr_session_save(c.session, c.folder, NULL, NULL));
  hold_at(1);
  EXPECT(pthread_create(&thread, NULL, run_held, c.step) == 0);
  wait_until_held();
  INTERRUPTED(hr_session_restore(c.session, c.folder, NULL, &limits, NULL));
  let_go();
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(hr_session_restore(c.session, c.folder, NULL, NULL, NULL));
  EXPECT(hr_session_step(c.session) == 1);
  CHECK(hr_call_run(c.step, NULL));
  hr_tensor_release(value);
  hr_call_release(look);
  remove_folder(c.folder);
  close_counting(&c);
  hr_env_release(env);
}

static void waits_for_initial_values(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_model* mlp = make_mlp(env); /* its weights are random */
  hr_session* session;
  pthread_t thread;
  hold_at(1);
  EXPECT(pthread_create(&thread, NULL, run_held, c.step) == 0);
  wait_until_held();
  INTERRUPTED(hr_session_create(mlp, NULL, &limits, &session));
  let_go();
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(hr_session_create(mlp, NULL, NULL, &session));
  hr_session_release(session);
  hr_model_release(mlp);
  close_counting(&c);
  hr_env_release(env);
}

static void a_wait_for_a_run_can_be_repeated(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_run* run;
  hold_at(1);
  CHECK(hr_call_start(c.step, NULL, &run));
  wait_until_held();
  INTERRUPTED(hr_run_wait(run, &limits));
  EXPECT(!hr_run_test(run));
  let_go();
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
  EXPECT(hr_session_step(c.session) == 1);
  close_counting(&c);
  hr_env_release(env);
}

static void a_token_may_go_while_its_run_goes_on(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_cancel* cancel;
  hr_run* run;
  CHECK(hr_cancel_create(&cancel));
  const hr_limits limits = {.struct_size = sizeof limits, .cancel = cancel};
  hold_at(1);
  CHECK(hr_call_start(c.step, &limits, &run));
  wait_until_held();
  hr_cancel_release(cancel);
  let_go();
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
  close_counting(&c);
  hr_env_release(env);
}

/* ---- Groups ---- */

static void the_group_outlives_an_interrupted_wait(hr_env* env) {
  pair p = open_pair(env, NULL);
  float x[2] = {1, 2}, y[2] = {0, 0}, got = 0;
  const float sent = 7;
  hr_work *mine, *other;
  CHECK(hr_all_reduce_start(p.group[0], x, y, 2, HR_FLOAT32, HR_SUM, &mine));
  INTERRUPTED(hr_work_wait(mine, &limits));
  EXPECT(!hr_work_test(mine));
  CHECK(hr_all_reduce_start(p.group[1], x, x, 2, HR_FLOAT32, HR_SUM, &other));
  CHECK(hr_work_wait(mine, NULL));
  CHECK(hr_work_wait(other, NULL));
  EXPECT(y[0] == 2 && y[1] == 4);
  hr_work_release(mine);
  hr_work_release(other);
  INTERRUPTED(hr_recv(p.group[0], &got, 1, HR_FLOAT32, 1, 5, &limits)); /* has no effect */
  CHECK(hr_send_start(p.group[1], &sent, 1, HR_FLOAT32, 0, 5, &other));
  CHECK(hr_recv(p.group[0], &got, 1, HR_FLOAT32, 1, 5, NULL));
  CHECK(hr_work_wait(other, NULL));
  hr_work_release(other);
  EXPECT(got == 7 && hr_group_status(p.group[0]) == NULL);
  close_pair(&p);
}

static void a_meeting_can_be_interrupted(hr_env* env) {
  hr_group* group;
  hr_store* store;
  CHECK(hr_store_open(env, "memory:", &store));
  const hr_group_options options = {.struct_size = sizeof options, .size = 2, .store = store};
  INTERRUPTED(hr_group_create(env, &options, &limits, &group));
  INTERRUPTED(hr_group_join(env, &options, &limits, &group));
  hr_store_release(store);
}

/* ---- Operations that nobody can wait for again: the group ends, the host goes on ---- */

enum { COUNT = 1 << 20 }; /* too large to be on its way at once */
static float in[2 * COUNT], out[2 * COUNT];

static hr_status* perform(hr_group* g, int way, const hr_limits* limits) {
  const hr_operation operation = {
      .struct_size = sizeof operation, .kind = HR_OPERATION_BARRIER, .dtype = HR_FLOAT32};
  hr_group* part;
  switch (way) {
    case 0: return hr_barrier(g, limits);
    case 1: return hr_broadcast(g, in, out, COUNT, HR_FLOAT32, 1, limits);
    case 2: return hr_reduce(g, in, out, COUNT, HR_FLOAT32, HR_SUM, 0, limits);
    case 3: return hr_all_reduce(g, in, out, COUNT, HR_FLOAT32, HR_SUM, limits);
    case 4: return hr_gather(g, in, out, COUNT, HR_FLOAT32, 0, limits);
    case 5: return hr_all_gather(g, in, out, COUNT, HR_FLOAT32, limits);
    case 6: return hr_scatter(g, in, out, COUNT, HR_FLOAT32, 1, limits);
    case 7: return hr_reduce_scatter(g, in, out, COUNT, HR_FLOAT32, HR_SUM, limits);
    case 8: return hr_all_to_all(g, in, out, COUNT, HR_FLOAT32, limits);
    case 9: return hr_send(g, in, COUNT, HR_FLOAT32, 1, 3, limits);
    case 10: return hr_group_run(g, &operation, limits);
    default: return hr_group_split(g, 0, 0, limits, &part);
  }
}

static void every_operation_can_be_interrupted(hr_env* env) {
  const hr_group_options over_tcp = {.transport = "tcp"};
  for (int way = 0; way < 12; ++way) {
    pair p = open_pair(env, &over_tcp);
    INTERRUPTED_AS(perform(p.group[0], way, &limits), "");
    close_pair(&p);
  }
  pair p = open_pair(env, NULL); /* the host and its env are well */
  close_pair(&p);
}

typedef struct member {
  hr_env* env;
  hr_group_options options;
  hr_group* group;
} member;

static void* meet_others(void* context) {
  member* m = context;
  CHECK(hr_group_create(m->env, &m->options, NULL, &m->group));
  return NULL;
}

/* The last rank ends the group, the first shrinks it, and the one between does not come. */
static void regrouping_can_be_interrupted(hr_env* env) {
  member members[3];
  pthread_t threads[3];
  hr_store* store;
  hr_group* next;
  CHECK(hr_store_open(env, "memory:", &store));
  for (int rank = 0; rank < 3; ++rank) {
    members[rank] = (member){.env = env};
    members[rank].options = (hr_group_options){
        .struct_size = sizeof(hr_group_options), .rank = rank, .size = 3, .store = store};
    EXPECT(pthread_create(&threads[rank], NULL, meet_others, &members[rank]) == 0);
  }
  for (int rank = 0; rank < 3; ++rank) EXPECT(pthread_join(threads[rank], NULL) == 0);
  INTERRUPTED(hr_group_grow(members[0].group, 4, &limits, &next));
  CHECK(hr_group_abort(members[2].group, "enough"));
  FAILS(hr_barrier(members[0].group, NULL), HR_ABORTED, "enough");
  INTERRUPTED(hr_group_shrink(members[0].group, &limits, &next));
  for (int rank = 0; rank < 3; ++rank) hr_group_release(members[rank].group);
  hr_store_release(store);
}

static void short_calls_do_not_ask(hr_env* env) {
  counting c = open_counting(env, 4, NULL);
  patience waiter = fresh_patience();
  const hr_limits limits = interrupted_by(&waiter);
  const double until = seconds_now() + 0.3;
  int runs = 0;
  for (; seconds_now() < until; ++runs) CHECK(hr_call_run(c.step, &limits));
  EXPECT(runs > 10 && waiter.asked == 0);
  close_counting(&c);
}

static int ask_once_more(void* context) { return ++*(int*)context == 3; }

/* A training is many short runs, none of which lasts until the host is asked. */
static void a_training_can_be_interrupted(hr_env* env) {
  static const char* const names[1] = {"rate"};
  static const double rates[1] = {0.01};
  const int64_t dims[2] = {40, FEATURES};
  const hr_dataset_options forever = {.struct_size = sizeof forever, .batch = 8, .repeat = -1};
  hr_model* model = make_mlp(env);
  hr_session* session;
  int asked = 0;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_dataset* data = make_dataset(env, 2, dims, &forever);
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .max_steps = 100000000,
                                    .scalar_count = 1,
                                    .scalar_names = names,
                                    .scalars = rates};
  const hr_limits limits = {
      .struct_size = sizeof limits, .interrupted = ask_once_more, .context = &asked};
  const double begin = seconds_now();
  FAILS(hr_train(session, &options, &limits, NULL), HR_CANCELLED, "interrupted");
  EXPECT(asked == 3);
  EXPECT(seconds_now() - begin < 5); /* 0.15 on an idle machine */
  EXPECT(hr_session_step(session) > 0);
  hr_dataset_release(data);
  hr_session_release(session);
  hr_model_release(model);
}

const test tests[] = {
    {"a training can be interrupted", a_training_can_be_interrupted},
    {"waits for a session", waits_for_a_session},
    {"waits for initial values", waits_for_initial_values},
    {"a wait for a run can be repeated", a_wait_for_a_run_can_be_repeated},
    {"a token may go while its run goes on", a_token_may_go_while_its_run_goes_on},
    {"the group outlives an interrupted wait", the_group_outlives_an_interrupted_wait},
    {"a meeting can be interrupted", a_meeting_can_be_interrupted},
    {"every operation can be interrupted", every_operation_can_be_interrupted},
    {"regrouping can be interrupted", regrouping_can_be_interrupted},
    {"short calls do not ask", short_calls_do_not_ask},
    {NULL, NULL}};
