/* Where calls read and write: outputs bound to tensors, taken away and unbound, inputs unbound,
 * types of outputs, read-only and strided tensors. */
#include <math.h>
#include <stdint.h>

#include "models.h"

enum { BATCH = 3 };

typedef struct inference {
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_tensor* x;
} inference;

static hr_tensor* ramp(hr_env* env, int64_t rows) {
  const int64_t dims[2] = {rows, FEATURES};
  hr_tensor* x;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, dims, &x));
  for (int64_t i = 0; i < rows * FEATURES; ++i) ((float*)hr_tensor_data(x))[i] = (float)i * 0.01f;
  return x;
}

static inference open_inference(hr_env* env) {
  inference out = {.model = make_mlp(env), .x = ramp(env, BATCH)};
  CHECK(hr_session_create(out.model, NULL, NULL, &out.session));
  CHECK(hr_call_create(out.session, "infer", &out.call));
  CHECK(hr_call_bind(out.call, "x", out.x));
  return out;
}

static void close_inference(inference* it) {
  hr_tensor_release(it->x);
  hr_call_release(it->call);
  hr_session_release(it->session);
  hr_model_release(it->model);
}

static hr_tensor* scores_for(hr_env* env, int64_t rows) {
  const int64_t dims[2] = {rows, CLASSES};
  hr_tensor* out;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, dims, &out));
  memset(hr_tensor_data(out), 0xff, hr_tensor_bytes(out)); /* NaN */
  return out;
}

static int equal(const hr_tensor* a, const hr_tensor* b) {
  return hr_tensor_bytes(a) == hr_tensor_bytes(b) &&
         memcmp(hr_tensor_data(a), hr_tensor_data(b), hr_tensor_bytes(a)) == 0;
}

static void outputs_go_to_tensors(hr_env* env) {
  inference it = open_inference(env);
  hr_tensor *expected, *result, *scores = scores_for(env, BATCH), *wrong = scores_for(env, 2);
  CHECK(hr_call_run(it.call, NULL));
  CHECK(hr_call_take_result(it.call, "scores", &expected));
  CHECK(hr_call_bind_output(it.call, "scores", scores));
  CHECK(hr_call_run(it.call, NULL));
  EXPECT(equal(scores, expected));
  CHECK(hr_call_result(it.call, "scores", &result));
  EXPECT(hr_tensor_data(result) == hr_tensor_data(scores));
  hr_tensor_release(result);
  FAILS(hr_call_bind_output(it.call, "scores", wrong), HR_INVALID_ARGUMENT,
        "is float32[3, 4], the bound tensor is float32[2, 4]");
  memset(hr_tensor_data(scores), 0xff, hr_tensor_bytes(scores));
  CHECK(hr_call_run(it.call, NULL)); /* what failed has changed nothing */
  EXPECT(equal(scores, expected));
  float few[1];
  FAILS(hr_call_output(it.call, "scores", few, sizeof few), HR_INVALID_ARGUMENT, "memory has 4");
  memset(hr_tensor_data(scores), 0xff, hr_tensor_bytes(scores));
  CHECK(hr_call_run(it.call, NULL));
  EXPECT(equal(scores, expected));
  FAILS(hr_call_bind_output(it.call, "nothing", scores), HR_NOT_FOUND, "scores");
  CHECK(hr_call_bind_output(it.call, "scores", NULL));
  memset(hr_tensor_data(scores), 0, hr_tensor_bytes(scores));
  CHECK(hr_call_run(it.call, NULL));
  EXPECT(((float*)hr_tensor_data(scores))[0] == 0);
  CHECK(hr_call_result(it.call, "scores", &result));
  EXPECT(equal(result, expected));
  hr_tensor_release(result);
  hr_tensor_release(scores);
  hr_tensor_release(wrong);
  hr_tensor_release(expected);
  close_inference(&it);
}

static void a_bound_tensor_outlives_its_handle(hr_env* env) {
  inference it = open_inference(env);
  hr_tensor *scores = scores_for(env, BATCH), *result;
  const void* memory = hr_tensor_data(scores);
  CHECK(hr_call_bind_output(it.call, "scores", scores));
  hr_tensor_release(scores);
  CHECK(hr_call_run(it.call, NULL));
  CHECK(hr_call_take_result(it.call, "scores", &result)); /* and unbinds it */
  EXPECT(hr_tensor_data(result) == memory && !isnan(*(const float*)memory));
  const float kept = *(const float*)memory;
  ((float*)hr_tensor_data(it.x))[0] = 9;
  CHECK(hr_call_run(it.call, NULL));
  EXPECT(*(const float*)memory == kept);
  hr_tensor_release(result);
  close_inference(&it);
}

static void taken_results_stay(hr_env* env) {
  inference it = open_inference(env);
  hr_tensor* results[4];
  hr_tensor* again;
  FAILS(hr_call_take_result(it.call, "scores", &again), HR_FAILED_PRECONDITION, "no output");
  for (int i = 0; i < 4; ++i) {
    ((float*)hr_tensor_data(it.x))[0] = (float)i;
    CHECK(hr_call_run(it.call, NULL));
    CHECK(hr_call_take_result(it.call, "scores", &results[i]));
    FAILS(hr_call_take_result(it.call, "scores", &again), HR_FAILED_PRECONDITION, "no output");
  }
  for (int i = 1; i < 4; ++i) EXPECT(!equal(results[i], results[i - 1]));
  ((float*)hr_tensor_data(it.x))[0] = 0;
  CHECK(hr_call_run(it.call, NULL));
  CHECK(hr_call_result(it.call, "scores", &again));
  EXPECT(equal(again, results[0]));
  hr_tensor_release(again);
  for (int i = 0; i < 4; ++i) hr_tensor_release(results[i]);
  close_inference(&it);
}

static void memory_can_be_unbound(hr_env* env) {
  inference it = open_inference(env);
  float scores[BATCH * CLASSES];
  hr_tensor* result;
  CHECK(hr_call_output(it.call, "scores", scores, sizeof scores));
  CHECK(hr_call_run(it.call, NULL));
  FAILS(hr_call_result(it.call, "scores", &result), HR_FAILED_PRECONDITION, "memory of the caller");
  CHECK(hr_call_output(it.call, "scores", NULL, 0));
  CHECK(hr_call_run(it.call, NULL));
  CHECK(hr_call_result(it.call, "scores", &result));
  EXPECT(memcmp(hr_tensor_data(result), scores, sizeof scores) == 0);
  hr_tensor_release(result);
  CHECK(hr_call_bind(it.call, "x", NULL));
  FAILS(hr_call_run(it.call, NULL), HR_INVALID_ARGUMENT, "x");
  FAILS(hr_call_bind(it.call, "y", NULL), HR_NOT_FOUND, "'y'");
  CHECK(hr_call_bind(it.call, "x", it.x));
  CHECK(hr_call_run(it.call, NULL));
  close_inference(&it);
}

static void types_of_outputs(hr_env* env) {
  inference it = open_inference(env);
  hr_tensor* more = ramp(env, 7);
  hr_dtype dtype;
  size_t rank;
  const int64_t* dims;
  CHECK(hr_call_output_type(it.call, "scores", &dtype, &rank, &dims));
  EXPECT(dtype == HR_FLOAT32 && rank == 2 && dims[0] == BATCH && dims[1] == CLASSES);
  CHECK(hr_call_bind(it.call, "x", more));
  CHECK(hr_call_output_type(it.call, "scores", NULL, NULL, &dims));
  EXPECT(dims[0] == 7);
  CHECK(hr_call_output_type(it.call, "scores", NULL, NULL, NULL));
  FAILS(hr_call_output_type(it.call, "x", &dtype, &rank, &dims), HR_NOT_FOUND, "scores");
  hr_tensor_release(more);
  close_inference(&it);
}

/* ---- Tensors ---- */

static void do_nothing(hr_dlpack* self) { (void)self; }

static void read_only_tensors(hr_env* env) {
  inference it = open_inference(env);
  static float memory[BATCH * CLASSES];
  int64_t dims[2] = {BATCH, CLASSES};
  hr_dlpack managed = {.version = {1, 1},
                       .deleter = do_nothing,
                       .flags = HR_DLPACK_READ_ONLY,
                       .dl_tensor = {memory, {1, 0}, 2, {2, 32, 1}, dims, NULL, 0}};
  hr_tensor *given, *own = scores_for(env, BATCH);
  hr_dlpack* exported;
  CHECK(hr_tensor_from_dlpack(&managed, &given));
  EXPECT(hr_tensor_read_only(given) && !hr_tensor_read_only(own) && !hr_tensor_read_only(NULL));
  FAILS(hr_call_bind_output(it.call, "scores", given), HR_INVALID_ARGUMENT, "read-only");
  CHECK(hr_tensor_to_dlpack(given, &exported));
  EXPECT(exported->flags == HR_DLPACK_READ_ONLY);
  exported->deleter(exported);
  CHECK(hr_tensor_to_dlpack(own, &exported));
  EXPECT(exported->flags == 0);
  exported->deleter(exported);
  hr_tensor_release(given);
  hr_tensor_release(own);
  close_inference(&it);
}

static void devices_of_tensors(hr_env* env) {
  static float memory[4];
  int64_t dims[1] = {4};
  hr_dlpack managed = {.version = {1, 1},
                       .deleter = do_nothing,
                       .dl_tensor = {memory, {2, 3}, 1, {2, 32, 1}, dims, NULL, 0}};
  hr_tensor *cuda, *host = ramp(env, 1);
  int32_t ordinal = -1;
  CHECK(hr_tensor_from_dlpack(&managed, &cuda));
  EXPECT(hr_tensor_device(cuda, &ordinal) == 2 && ordinal == 3);
  EXPECT(hr_tensor_data(cuda) == NULL && hr_tensor_device_data(cuda) == memory);
  EXPECT(hr_tensor_device(host, NULL) == 1);
  EXPECT(hr_tensor_data(host) == hr_tensor_device_data(host));
  EXPECT(hr_tensor_device_data(NULL) == NULL);
  hr_tensor_release(cuda);
  hr_tensor_release(host);
}

static int released;
static void count_release(void* context) { released += *(const int*)context; }

static void strided_tensors(hr_env* env) {
  inference it = open_inference(env);
  enum { STRIDE = FEATURES + 5 };
  static float memory[BATCH * STRIDE];
  const int64_t dims[2] = {BATCH, FEATURES}, strides[2] = {STRIDE, 1}, back[2] = {-STRIDE, 1};
  int one = 1;
  hr_tensor *x, *expected, *result;
  released = 0;
  CHECK(hr_call_run(it.call, NULL));
  CHECK(hr_call_take_result(it.call, "scores", &expected));
  for (int i = 0; i < BATCH * FEATURES; ++i)
    memory[i / FEATURES * STRIDE + i % FEATURES] = (float)i * 0.01f;
  const size_t needed = (2 * STRIDE + FEATURES) * sizeof(float);
  FAILS(hr_tensor_wrap_strided(HR_FLOAT32, 2, dims, strides, memory, needed - 1, count_release,
                               &one, &x),
        HR_INVALID_ARGUMENT, "needs 184 bytes, got 183");
  FAILS(hr_tensor_wrap_strided(HR_FLOAT32, 2, dims, back, memory, sizeof memory, count_release,
                               &one, &x),
        HR_UNIMPLEMENTED, "negative");
  FAILS(hr_tensor_wrap_strided(99, 2, dims, strides, memory, needed, count_release, &one, &x),
        HR_INVALID_ARGUMENT, "99");
  EXPECT(released == 0);
  CHECK(hr_tensor_wrap_strided(HR_FLOAT32, 2, dims, strides, memory, needed, count_release, &one,
                               &x));
  EXPECT(hr_tensor_strides(x)[0] == STRIDE && hr_tensor_data(x) == memory);
  CHECK(hr_call_bind(it.call, "x", x));
  CHECK(hr_call_run(it.call, NULL));
  CHECK(hr_call_result(it.call, "scores", &result));
  EXPECT(equal(result, expected));
  FAILS(hr_call_bind_output(it.call, "scores", x), HR_INVALID_ARGUMENT, "not contiguous");
  hr_tensor_release(x);
  EXPECT(released == 1); /* it was copied */
  hr_tensor_release(result);
  hr_tensor_release(expected);
  close_inference(&it);
}

const test tests[] = {{"outputs go to tensors", outputs_go_to_tensors},
                      {"a bound tensor outlives its handle", a_bound_tensor_outlives_its_handle},
                      {"taken results stay", taken_results_stay},
                      {"memory can be unbound", memory_can_be_unbound},
                      {"types of outputs", types_of_outputs},
                      {"read-only tensors", read_only_tensors},
                      {"devices of tensors", devices_of_tensors},
                      {"strided tensors", strided_tensors},
                      {NULL, NULL}};
