/* The host's allocator fails at every place where it is asked: each time the call reports it, has
 * changed nothing and leaves nothing behind, and goes well when memory is there again. */
#include "models.h"

static const int64_t kImages[4] = {8, 1, 12, 12};

typedef struct world {
  hr_env* env;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_dataset* data;
  hr_tensor *x, *labels;
  const char* folder;
  hr_tensor* out;
} world;

/* Fails the n-th allocation of `attempt` for every n, first that one alone, then all from it on.
 * `undo` takes back what a success made. */
static void fail_each(const char* what, world* w, hr_status* (*attempt)(world*),
                      void (*undo)(world*)) {
  for (int all = 0; all < 2; ++all) {
    int failures = 0, hit = 1;
    for (long n = 0; hit; ++n) {
      long before = host_live_bytes();
      fail_host_allocations(n, all);
      hr_status* status = attempt(w);
      hit = host_allocation_failed();
      fail_host_allocations(-1, 0);
      if (status == NULL) {
        undo(w);
        continue;
      }
      FAILS(status, HR_RESOURCE_EXHAUSTED, "bytes");
      EXPECT(hit && host_live_bytes() == before);
      ++failures;
    }
    printf("  %s: failed at %d allocations\n", what, failures);
    EXPECT(failures > 0);
  }
  CHECK(attempt(w));
  undo(w);
}

static void keep(world* w) { (void)w; }

/* ---- Loading ---- */

static hr_status* load_whole(world* w) {
  const hr_load_options options = {.struct_size = sizeof options, .read_whole_file = 1};
  return hr_model_load(w->env, in_folder(w->folder, "model.hrg"), &options, &w->model);
}

static hr_status* load_unaligned(world* w) {
  static _Alignas(64) char bytes[1 << 20];
  FILE* file = fopen(in_folder(w->folder, "model.hrg"), "rb");
  EXPECT(file != NULL);
  size_t size = fread(bytes + 1, 1, sizeof bytes - 1, file);
  fclose(file);
  return hr_model_load_memory(w->env, bytes + 1, size, NULL, NULL, NULL, &w->model);
}

static hr_status* read_file(void* path, uint64_t offset, void* out, size_t bytes) {
  FILE* file = fopen(path, "rb");
  int failed = fseek(file, (long)offset, SEEK_SET) != 0 || fread(out, 1, bytes, file) != bytes;
  fclose(file);
  return failed ? hr_status_create(HR_UNAVAILABLE, path) : NULL;
}

static hr_status* load_callback(world* w) {
  char* path = (char*)in_folder(w->folder, "model.hrg");
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL && fseek(file, 0, SEEK_END) == 0);
  uint64_t size = (uint64_t)ftell(file);
  fclose(file);
  const hr_reader reader = {
      .struct_size = sizeof reader, .context = path, .total_bytes = size, .read = read_file};
  return hr_model_load_callback(w->env, &reader, NULL, &w->model);
}

static void unload(world* w) { hr_model_release(w->model); }

static void test_load(hr_env* env) {
  char* folder = make_folder();
  world w = {.env = env, .folder = folder};
  save_lenet(env, in_folder(folder, "model.hrg"));
  fail_each("load, whole file", &w, load_whole, unload);
  fail_each("load from unaligned memory", &w, load_unaligned, unload);
  fail_each("load by callback", &w, load_callback, unload);
  remove_folder(folder);
}

/* ---- Running ---- */

static void open_world(world* w, hr_env* env) {
  *w = (world){.env = env, .model = make_lenet(env)};
  CHECK(hr_session_create(w->model, NULL, NULL, &w->session));
  make_examples(env, 4, kImages, &w->x, &w->labels);
}

static void close_world(world* w) {
  hr_tensor_release(w->x);
  hr_tensor_release(w->labels);
  hr_session_release(w->session);
  hr_model_release(w->model);
}

static hr_status* create(world* w) { return hr_session_create(w->model, NULL, NULL, &w->session); }
static void uncreate(world* w) { hr_session_release(w->session); }

/* A call's first run: plan, arena, writable variables, outputs. */
static hr_status* first_run(world* w) {
  hr_session* session;
  hr_call* call;
  hr_status* status = hr_session_create(w->model, NULL, NULL, &session);
  if (status != NULL) return status;
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind(call, "x", w->x));
  CHECK(hr_call_bind(call, "labels", w->labels));
  status = hr_call_bind_scalar(call, "rate", 0.01);
  if (status == NULL) status = hr_call_run(call, NULL);
  if (status == NULL) EXPECT(hr_session_step(session) == 1);
  hr_call_release(call);
  hr_session_release(session);
  return status;
}

/* The same call fails, and then trains on. */
static void test_first_run(hr_env* env) {
  world w;
  open_world(&w, env);
  hr_session_release(w.session);
  fail_each("session", &w, create, uncreate);
  fail_each("first run", &w, first_run, keep);
  CHECK(hr_session_create(w.model, NULL, NULL, &w.session));
  hr_tensor *before, *after;
  CHECK(hr_session_get_variable(w.session, "fc1/weight", NULL, &before));
  for (long n = 0;; ++n) {
    hr_call* call;
    CHECK(hr_call_create(w.session, "train", &call));
    CHECK(hr_call_bind(call, "x", w.x));
    CHECK(hr_call_bind(call, "labels", w.labels));
    CHECK(hr_call_bind_scalar(call, "rate", 0.01));
    fail_host_allocations(n, 0);
    hr_status* status = hr_call_run(call, NULL);
    fail_host_allocations(-1, 0);
    int done = status == NULL;
    if (!done) {
      FAILS(status, HR_RESOURCE_EXHAUSTED, "bytes");
      CHECK(hr_session_get_variable(w.session, "fc1/weight", NULL, &after));
      EXPECT(memcmp(hr_tensor_data(before), hr_tensor_data(after), hr_tensor_bytes(after)) == 0);
      hr_tensor_release(after);
      CHECK(hr_call_run(call, NULL)); /* the same call, with memory */
      hr_tensor_release(before);
      CHECK(hr_session_get_variable(w.session, "fc1/weight", NULL, &before));
    }
    hr_call_release(call);
    hr_session_trim(w.session);
    if (done) break;
  }
  hr_tensor_release(before);
  close_world(&w);
}

static hr_status* run_once(world* w) {
  const char *feeds[1] = {"x"}, *fetches[1] = {"scores"};
  const hr_tensor* x = w->x;
  return hr_session_run(w->session, 1, feeds, &x, 1, fetches, 0, NULL, NULL, &w->out);
}

static hr_status* get_variable(world* w) {
  return hr_session_get_variable(w->session, "fc1/weight", NULL, &w->out);
}

static void drop_out(world* w) { hr_tensor_release(w->out); }

static void test_later_runs(hr_env* env) {
  world w;
  open_world(&w, env);
  CHECK(run_once(&w));
  hr_tensor* expected = w.out;
  fail_each("later run", &w, run_once, drop_out);
  fail_each("reading a variable", &w, get_variable, drop_out);
  CHECK(run_once(&w));
  EXPECT(memcmp(hr_tensor_data(w.out), hr_tensor_data(expected), hr_tensor_bytes(expected)) == 0);
  hr_tensor_release(w.out);
  hr_tensor_release(expected);
  close_world(&w);
}

/* ---- Checkpoints and exports ---- */

static hr_status* save(world* w) { return hr_session_save(w->session, w->folder, NULL, NULL); }

static hr_status* export(world* w) {
  const char* signature = "infer";
  return hr_session_export(w->session, in_folder(w->folder, "served.hrg"), 1, &signature, NULL,
                           NULL);
}

/* Into a new session, whose variables are still the model's. */
static hr_status* restore(world* w) {
  hr_session* session;
  hr_tensor *before, *after;
  hr_status* status = hr_session_create(w->model, NULL, NULL, &session);
  if (status != NULL) return status;
  status = hr_session_get_variable(session, "fc1/weight", NULL, &before);
  if (status == NULL) {
    status = hr_session_restore(session, w->folder, NULL, NULL, NULL);
    fail_host_allocations(-1, 0);
    CHECK(hr_session_get_variable(session, "fc1/weight", NULL, &after));
    int same = memcmp(hr_tensor_data(before), hr_tensor_data(after), hr_tensor_bytes(after)) == 0;
    EXPECT(same == (status != NULL));
    EXPECT(hr_session_step(session) == (status == NULL ? 1 : 0));
    hr_tensor_release(after);
    hr_tensor_release(before);
  }
  hr_session_release(session);
  return status;
}

static void test_checkpoints(hr_env* env) {
  char* folder = make_folder();
  world w;
  open_world(&w, env);
  w.folder = folder;
  CHECK(hr_call_create(w.session, "train", &w.call));
  CHECK(hr_call_bind(w.call, "x", w.x));
  CHECK(hr_call_bind(w.call, "labels", w.labels));
  CHECK(hr_call_bind_scalar(w.call, "rate", 0.01));
  CHECK(hr_call_run(w.call, NULL));
  hr_call_release(w.call);
  fail_each("save", &w, save, keep);
  fail_each("export", &w, export, keep);
  fail_each("restore", &w, restore, keep);
  close_world(&w);
  remove_folder(folder);
}

/* ---- Data ---- */

static void put_idx(const char* path, const unsigned char* header, size_t header_bytes,
                    size_t bytes) {
  FILE* file = fopen(path, "wb");
  EXPECT(file != NULL && fwrite(header, 1, header_bytes, file) == header_bytes);
  for (size_t i = 0; i < bytes; ++i) fputc((int)(i % 7), file);
  EXPECT(fclose(file) == 0);
}

static hr_status* open_data(world* w) {
  char uri[8192];
  snprintf(uri, sizeof uri, "idx:%s/train?batch=2&shuffle=1", w->folder);
  return hr_dataset_open(w->env, uri, &w->data);
}

static void close_data(world* w) { hr_dataset_release(w->data); }

static hr_status* next(world* w) {
  hr_tensor* batch[2];
  hr_status* status = open_data(w);
  if (status != NULL) return status;
  status = hr_dataset_next(w->data, NULL, batch);
  if (status == NULL) {
    hr_tensor_release(batch[0]);
    hr_tensor_release(batch[1]);
  }
  hr_dataset_release(w->data);
  return status;
}

static void test_data(hr_env* env) {
  const unsigned char images[16] = {0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 4};
  const unsigned char labels[8] = {0, 0, 8, 1, 0, 0, 0, 5};
  char* folder = make_folder();
  world w = {.env = env, .folder = folder};
  put_idx(in_folder(folder, "train-images-idx3-ubyte"), images, sizeof images, 5 * 4 * 4);
  put_idx(in_folder(folder, "train-labels-idx1-ubyte"), labels, sizeof labels, 5);
  fail_each("data set", &w, open_data, close_data);
  fail_each("batch", &w, next, keep);
  remove_folder(folder);
}

/* ---- Tensors outlive everything ---- */

static void test_tensors_outlive_their_env(hr_env* env) {
  const int64_t dims[2] = {4, FEATURES};
  long before = host_live_bytes();
  hr_env* own = make_env(1);
  hr_model* model = make_mlp(own);
  hr_session* session;
  world w = {.env = own};
  hr_dlpack* exported;
  (void)env;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  make_examples(own, 2, dims, &w.x, &w.labels);
  w.session = session;
  CHECK(run_once(&w));
  hr_session_release(session);
  hr_model_release(model);
  hr_env_release(own);
  CHECK(hr_tensor_to_dlpack(w.x, &exported));
  hr_tensor_release(w.x);
  hr_tensor_release(w.labels);
  EXPECT(((float*)hr_tensor_data(w.out))[0] == ((float*)hr_tensor_data(w.out))[0]);
  hr_tensor_release(w.out);
  EXPECT(host_live_bytes() > before);
  exported->deleter(exported);
  EXPECT(host_live_bytes() == before);
}

const test tests[] = {{"load", test_load},
                      {"first run", test_first_run},
                      {"later runs", test_later_runs},
                      {"checkpoints", test_checkpoints},
                      {"data", test_data},
                      {"tensors outlive their env", test_tensors_outlive_their_env},
                      {NULL, NULL}};
