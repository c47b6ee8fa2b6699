/* A rank in C: ../README.md says what it does.
 *
 *   rank MODEL DATA STEPS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

/* Prints a failure and ends the program. */
static void check(hr_status* status) {
  if (status == NULL) return;
  printf("failure: %s %s\n", hr_code_name(hr_status_code(status)), hr_status_message(status));
  exit(1);
}

/* The gradients of all variables, one after the other, and the loss as the last number. */
typedef struct gradients {
  size_t variables;
  hr_tensor** values; /* of the variables */
  float* numbers;
  size_t count;
} gradients;

static gradients make_gradients(hr_session* session) {
  gradients out = {.variables = hr_session_variable_count(session), .count = 1};
  out.values = calloc(out.variables, sizeof(hr_tensor*));
  if (out.values == NULL) exit(2);
  for (size_t i = 0; i < out.variables; ++i) {
    check(hr_session_get_variable(session, hr_session_variable_name(session, i), NULL,
                                  &out.values[i]));
    out.count += (size_t)hr_tensor_elements(out.values[i]);
  }
  out.numbers = calloc(out.count, sizeof(float));
  if (out.numbers == NULL) exit(2);
  return out;
}

/* "gradients" writes to these numbers, and "apply" reads them. */
static void bind(hr_session* session, const gradients* g, hr_call* compute, hr_call* apply) {
  float* at = g->numbers;
  for (size_t i = 0; i < g->variables; ++i) {
    const char* name = hr_session_variable_name(session, i);
    const size_t bytes = hr_tensor_bytes(g->values[i]);
    hr_tensor* average;
    check(hr_tensor_wrap(HR_FLOAT32, hr_tensor_rank(g->values[i]), hr_tensor_dims(g->values[i]), at,
                         bytes, NULL, NULL, &average));
    check(hr_call_output(compute, name, at, bytes));
    check(hr_call_bind(apply, name, average));
    hr_tensor_release(average);
    at += bytes / sizeof(float);
  }
  check(hr_call_output(compute, "loss", at, sizeof(float)));
}

static void open_shard(hr_env* env, hr_group* group, const char* data, hr_call* compute) {
  char uri[4096];
  hr_dataset* shard;
  snprintf(uri, sizeof uri, "%s?batch=16&shuffle=1&seed=5&repeat=forever&shard=%d/%d", data,
           hr_group_rank(group), hr_group_size(group));
  check(hr_dataset_open(env, uri, &shard));
  check(hr_call_bind_dataset(compute, shard));
  hr_dataset_release(shard);
}

/* Prints the bits. */
static void print_loss(float loss) {
  uint32_t bits;
  memcpy(&bits, &loss, sizeof bits);
  printf("loss: %08x\n", bits);
}

static uint32_t crc32_of(uint32_t crc, const unsigned char* data, size_t bytes) {
  crc = ~crc;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

/* Prints the checksum of all variables. */
static void print_weights(hr_session* session) {
  uint32_t crc = 0;
  for (size_t i = 0; i < hr_session_variable_count(session); ++i) {
    hr_tensor* value;
    check(hr_session_get_variable(session, hr_session_variable_name(session, i), NULL, &value));
    crc = crc32_of(crc, hr_tensor_data(value), hr_tensor_bytes(value));
    hr_tensor_release(value);
  }
  printf("weights: %08x\n", crc);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: rank MODEL DATA STEPS\n");
    return 2;
  }
  const hr_env_options options = {.struct_size = sizeof options, .threads = 1};
  hr_env* env;
  hr_group* group;
  hr_model* model;
  hr_session* session;
  hr_call *compute, *apply;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  check(hr_env_create(&options, &env));
  check(hr_group_create(env, NULL, NULL, &group));
  check(hr_model_load(env, argv[1], NULL, &model));
  check(hr_session_create(model, NULL, NULL, &session));
  check(hr_call_create(session, "gradients", &compute));
  check(hr_call_create(session, "apply", &apply));
  gradients g = make_gradients(session);
  bind(session, &g, compute, apply);
  open_shard(env, group, argv[2], compute);
  for (long step = 0, steps = atol(argv[3]); step < steps; ++step) {
    check(hr_call_run(compute, NULL));
    check(hr_all_reduce(group, g.numbers, g.numbers, g.count, HR_FLOAT32, HR_AVERAGE, NULL));
    check(hr_call_run(apply, NULL));
    print_loss(g.numbers[g.count - 1]);
  }
  print_weights(session);
  for (size_t i = 0; i < g.variables; ++i) hr_tensor_release(g.values[i]);
  hr_call_release(compute);
  hr_call_release(apply);
  hr_session_release(session);
  hr_model_release(model);
  hr_group_release(group);
  hr_env_release(env);
  free(g.values);
  free(g.numbers);
  return 0;
}
