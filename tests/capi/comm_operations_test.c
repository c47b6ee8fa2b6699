/* Every operation in every dtype, with counts from 0, in place and out of place, against plain
 * loops; over threads of one env, processes on one host, and TCP. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "comm_support.h"

static const hr_dtype DTYPES[] = {HR_FLOAT32, HR_UINT8,  HR_INT8,    HR_UINT16,  HR_INT16,
                                  HR_INT32,   HR_INT64,  HR_BOOL,    HR_FLOAT16, HR_FLOAT64,
                                  HR_UINT32,  HR_UINT64, HR_BFLOAT16};
static const uint64_t COUNTS[] = {0, 1, 3, 17, 1001};
static const uint64_t LARGE = 150001;

/* ---- Elements as numbers ---- */

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Normal numbers and zero only: that is all this test writes. */
static double get_half(uint16_t bits) {
  if ((bits & 0x7fff) == 0) return 0;
  return from_bits((uint32_t)(bits & 0x8000) << 16 |
                   (((uint32_t)(bits & 0x7fff) << 13) + (112u << 23)));
}

static uint16_t set_half(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value == 0) return 0;
  return (uint16_t)((bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13);
}

static double get(hr_dtype dtype, const void* data, uint64_t i) {
  switch (dtype) {
    case HR_FLOAT32: return ((const float*)data)[i];
    case HR_FLOAT64: return ((const double*)data)[i];
    case HR_FLOAT16: return get_half(((const uint16_t*)data)[i]);
    case HR_BFLOAT16: return from_bits((uint32_t)((const uint16_t*)data)[i] << 16);
    case HR_INT8: return ((const int8_t*)data)[i];
    case HR_INT16: return ((const int16_t*)data)[i];
    case HR_INT32: return ((const int32_t*)data)[i];
    case HR_INT64: return (double)((const int64_t*)data)[i];
    case HR_UINT16: return ((const uint16_t*)data)[i];
    case HR_UINT32: return ((const uint32_t*)data)[i];
    case HR_UINT64: return (double)((const uint64_t*)data)[i];
    default: return ((const uint8_t*)data)[i];
  }
}

static void set(hr_dtype dtype, void* data, uint64_t i, double value) {
  float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  switch (dtype) {
    case HR_FLOAT32: ((float*)data)[i] = rounded; return;
    case HR_FLOAT64: ((double*)data)[i] = value; return;
    case HR_FLOAT16: ((uint16_t*)data)[i] = set_half(rounded); return;
    case HR_BFLOAT16: ((uint16_t*)data)[i] = (uint16_t)(bits >> 16); return;
    case HR_INT8: ((int8_t*)data)[i] = (int8_t)value; return;
    case HR_INT16: ((int16_t*)data)[i] = (int16_t)value; return;
    case HR_INT32: ((int32_t*)data)[i] = (int32_t)value; return;
    case HR_INT64: ((int64_t*)data)[i] = (int64_t)value; return;
    case HR_UINT16: ((uint16_t*)data)[i] = (uint16_t)value; return;
    case HR_UINT32: ((uint32_t*)data)[i] = (uint32_t)value; return;
    case HR_UINT64: ((uint64_t*)data)[i] = (uint64_t)value; return;
    default: ((uint8_t*)data)[i] = (uint8_t)value; return;
  }
}

static int is_signed(hr_dtype dtype) {
  return dtype == HR_INT8 || dtype == HR_INT16 || dtype == HR_INT32 || dtype == HR_INT64 ||
         dtype == HR_FLOAT16 || dtype == HR_BFLOAT16 || dtype == HR_FLOAT32 || dtype == HR_FLOAT64;
}
static int is_floating(hr_dtype dtype) {
  return dtype == HR_FLOAT16 || dtype == HR_BFLOAT16 || dtype == HR_FLOAT32 || dtype == HR_FLOAT64;
}
static int near(hr_dtype dtype, double got, double expected) {
  const double precision = dtype == HR_BFLOAT16  ? 1.0 / 128
                           : dtype == HR_FLOAT16 ? 1.0 / 1024
                                                 : 1e-6;
  return fabs(got - expected) <= (is_floating(dtype) ? precision * fabs(expected) : 0);
}

/* Element i of what `rank` puts in: small, so that every dtype holds every result. */
static double element(hr_dtype dtype, int rank, uint64_t i) {
  if (dtype == HR_BOOL) return (double)((i + (uint64_t)rank) % 2);
  const double value = (double)((i * 7 + (uint64_t)rank * 3) % 5);
  return is_signed(dtype) ? value - 2 : value;
}

static double reduced(hr_dtype dtype, hr_reduce_op op, int size, uint64_t i) {
  double result = op == HR_PRE_MULTIPLIED_SUM ? 0 : element(dtype, 0, i);
  for (int rank = op == HR_PRE_MULTIPLIED_SUM ? 0 : 1; rank < size; ++rank) {
    const double x = element(dtype, rank, i);
    switch (op) {
      case HR_PRODUCT: result *= x; break;
      case HR_MIN: result = x < result ? x : result; break;
      case HR_MAX: result = x > result ? x : result; break;
      case HR_PRE_MULTIPLIED_SUM: result += (rank + 1) * x; break;
      default: result += x; break;
    }
  }
  if (op == HR_AVERAGE) return is_floating(dtype) ? result / size : trunc(result / size);
  return result;
}

/* ---- One operation ---- */

typedef struct buffers {
  hr_group* group;
  int rank, size;
  unsigned char *input, *output;
} buffers;

static void fill_pattern(void* data, size_t bytes) { memset(data, 0xA5, bytes); }

static void fill(buffers* b, void* data, hr_dtype dtype, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) set(dtype, data, i, element(dtype, b->rank, i));
}

/* Runs it in turn as a call that waits and as one that does not. */
static void run(buffers* b, hr_operation* operation) {
  static _Thread_local int turn = 0;
  operation->struct_size = sizeof *operation;
  if (++turn % 2 == 0) {
    CHECK(hr_group_run(b->group, operation, NULL));
    return;
  }
  hr_work* work;
  CHECK(hr_group_start(b->group, operation, &work));
  CHECK(hr_work_wait(work, NULL));
  EXPECT(hr_work_test(work) == 1);
  hr_work_release(work);
}

static void expect_elements(hr_dtype dtype, const void* data, uint64_t count, int rank,
                            uint64_t first) {
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT(get(dtype, data, i) == element(dtype, rank, first + i));
  }
}

static void test_reductions(buffers* b, hr_dtype dtype, uint64_t count, int in_place) {
  const uint64_t bytes = count * hr_dtype_size(dtype), all = count * (uint64_t)b->size;
  for (hr_reduce_op op = HR_SUM; op <= HR_PRE_MULTIPLIED_SUM; ++op) {
    hr_operation operation = {.dtype = dtype, .count = count, .op = op, .factor = b->rank + 1};
    fill(b, b->input, dtype, count);
    fill_pattern(b->output, bytes + 64);
    operation.kind = HR_OPERATION_ALL_REDUCE;
    operation.input = b->input;
    operation.output = in_place ? b->input : b->output;
    run(b, &operation);
    for (uint64_t i = 0; i < count; ++i) {
      EXPECT(near(dtype, get(dtype, operation.output, i), reduced(dtype, op, b->size, i)));
    }
    EXPECT(in_place || b->output[bytes] == 0xA5);

    fill(b, b->input, dtype, count);
    operation.kind = HR_OPERATION_REDUCE;
    operation.peer = b->size - 1;
    const int is_root = b->rank == operation.peer;
    operation.output = is_root ? operation.output : NULL;
    run(b, &operation);
    for (uint64_t i = 0; is_root && i < count; ++i) {
      EXPECT(near(dtype, get(dtype, operation.output, i), reduced(dtype, op, b->size, i)));
    }

    fill(b, b->input, dtype, all);
    operation.kind = HR_OPERATION_REDUCE_SCATTER;
    operation.output = in_place ? b->input + bytes * (uint64_t)b->rank : b->output;
    run(b, &operation);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = count * (uint64_t)b->rank + i;
      EXPECT(near(dtype, get(dtype, operation.output, i), reduced(dtype, op, b->size, at)));
    }
  }
}

static void test_moves(buffers* b, hr_dtype dtype, uint64_t count, int in_place) {
  const uint64_t bytes = count * hr_dtype_size(dtype), all = count * (uint64_t)b->size;
  hr_operation operation = {.dtype = dtype, .count = count, .peer = b->size / 2};
  const int is_root = b->rank == operation.peer;
  fill(b, b->input, dtype, count);
  fill_pattern(b->output, bytes * (uint64_t)b->size + 64);
  operation.kind = HR_OPERATION_BROADCAST;
  operation.input = is_root ? b->input : NULL;
  operation.output = in_place ? b->input : b->output;
  run(b, &operation);
  expect_elements(dtype, operation.output, count, operation.peer, 0);

  unsigned char* own = in_place ? b->output + bytes * (uint64_t)b->rank : b->input;
  for (int to_all = 0; to_all < 2; ++to_all) {
    fill_pattern(b->output, bytes * (uint64_t)b->size + 64);
    fill(b, own, dtype, count);
    operation.kind = to_all ? HR_OPERATION_ALL_GATHER : HR_OPERATION_GATHER;
    operation.input = own;
    operation.output = to_all || is_root ? b->output : NULL;
    run(b, &operation);
    for (int rank = 0; operation.output != NULL && rank < b->size; ++rank) {
      expect_elements(dtype, b->output + bytes * (uint64_t)rank, count, rank, 0);
    }
    EXPECT(b->output[bytes * (uint64_t)b->size] == 0xA5);
  }

  fill(b, b->input, dtype, all);
  operation.kind = HR_OPERATION_SCATTER;
  operation.input = is_root ? b->input : NULL;
  operation.output = in_place ? b->input + bytes * (uint64_t)b->rank : b->output;
  run(b, &operation);
  expect_elements(dtype, operation.output, count, operation.peer, count * (uint64_t)b->rank);

  fill(b, b->input, dtype, all);
  operation.kind = HR_OPERATION_ALL_TO_ALL;
  operation.input = b->input;
  operation.output = in_place ? b->input : b->output;
  run(b, &operation);
  for (int rank = 0; rank < b->size; ++rank) {
    expect_elements(dtype, (unsigned char*)operation.output + bytes * (uint64_t)rank, count, rank,
                    count * (uint64_t)b->rank);
  }
}

/* Around the circle, several in flight, received in another order than sent. */
static void test_messages(buffers* b, hr_dtype dtype, uint64_t count) {
  if (b->size == 1) return;
  const int32_t next = (b->rank + 1) % b->size, previous = (b->rank + b->size - 1) % b->size;
  const uint64_t bytes = count * hr_dtype_size(dtype);
  hr_work* works[3];
  fill(b, b->input, dtype, count);
  for (uint32_t tag = 0; tag < 3; ++tag) {
    CHECK(hr_send_start(b->group, b->input, count, dtype, next, tag, &works[tag]));
  }
  for (uint32_t tag = 3; tag-- > 0;) {
    fill_pattern(b->output, bytes + 64);
    CHECK(hr_recv(b->group, b->output, count, dtype, previous, tag, NULL));
    expect_elements(dtype, b->output, count, previous, 0);
    EXPECT(b->output[bytes] == 0xA5);
  }
  for (int i = 0; i < 3; ++i) {
    CHECK(hr_work_wait(works[i], NULL));
    hr_work_release(works[i]);
  }
}

static void test_all(hr_group* group) {
  buffers b = {group, hr_group_rank(group), hr_group_size(group), NULL, NULL};
  const size_t room = (size_t)LARGE * 8 * (size_t)b.size + 64;
  b.input = malloc(room);
  b.output = malloc(room);
  for (size_t d = 0; d < sizeof DTYPES / sizeof *DTYPES; ++d) {
    const hr_dtype dtype = DTYPES[d];
    for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; ++c) {
      for (int in_place = 0; in_place < 2; ++in_place) {
        if (dtype != HR_BOOL) test_reductions(&b, dtype, COUNTS[c], in_place);
        test_moves(&b, dtype, COUNTS[c], in_place);
      }
      test_messages(&b, dtype, COUNTS[c]);
    }
  }
  const hr_dtype large[] = {HR_FLOAT32, HR_BFLOAT16, HR_INT8};
  for (int i = 0; i < 6; ++i) {
    test_reductions(&b, large[i / 2], LARGE, i % 2);
    test_moves(&b, large[i / 2], LARGE, i % 2);
    test_messages(&b, large[i / 2], LARGE);
  }
  free(b.input);
  free(b.output);
}

/* ---- Ranks ---- */

static void rank_all(hr_env* env) {
  hr_group* world = join_world(env, rank_argument());
  test_all(world);
  CHECK(hr_barrier(world, NULL));
  hr_group_release(world);
}

typedef struct thread_rank {
  hr_env* env;
  hr_store* store;
  int rank, size;
  pthread_t thread;
} thread_rank;

static void* run_thread(void* argument) {
  thread_rank* self = argument;
  hr_group_options options = {.struct_size = sizeof options,
                              .rank = self->rank,
                              .size = self->size,
                              .store = self->store,
                              .transport = "inproc"};
  hr_group* group;
  CHECK(hr_group_create(self->env, &options, NULL, &group));
  test_all(group);
  CHECK(hr_barrier(group, NULL));
  hr_group_release(group);
  return NULL;
}

static void run_threads(hr_env* env, int size) {
  thread_rank threads[MOST_RANKS];
  hr_store* store;
  CHECK(hr_store_open(env, "memory:", &store));
  for (int rank = 0; rank < size; ++rank) {
    threads[rank] = (thread_rank){.env = env, .store = store, .rank = rank, .size = size};
    EXPECT(pthread_create(&threads[rank].thread, NULL, run_thread, &threads[rank]) == 0);
  }
  for (int rank = 0; rank < size; ++rank) pthread_join(threads[rank].thread, NULL);
  hr_store_release(store);
}

static void test_threads(hr_env* env) {
  run_threads(env, 1);
  run_threads(env, 4);
}

static void test_processes(hr_env* env) {
  (void)env;
  run_ranks(1, "rank all", "auto");
  run_ranks(2, "rank all", "auto");
  run_ranks(3, "rank all", "shm");
  run_ranks(4, "rank all", "shm,tcp");
  run_ranks(3, "rank all", "tcp");
}

const test tests[] = {
    {"threads", test_threads}, {"processes", test_processes}, {"rank all", rank_all}, {NULL, NULL}};
