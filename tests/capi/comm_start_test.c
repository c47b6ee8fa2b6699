/* Each collective operation, started: the call returns at once, and the works of both ranks give
 * what the waiting function of the same name gives. */
#include "comm_support.h"

enum { COUNT = 2 };

/* What the two ranks give and get: two blocks of COUNT. */
typedef struct buffers {
  int32_t in[2][2 * COUNT], out[2][2 * COUNT];
  hr_work* work[2];
} buffers;

static buffers fresh(void) {
  buffers b = {.in = {{1, 2, 3, 4}, {10, 20, 30, 40}}};
  return b;
}

static void finish(buffers* b, const int32_t* first, const int32_t* second) {
  const hr_limits limits = within(20);
  for (int rank = 0; rank < 2; ++rank) {
    const int32_t* wanted = rank == 0 ? first : second;
    CHECK(hr_work_wait(b->work[rank], &limits));
    EXPECT(memcmp(b->out[rank], wanted, sizeof b->out[rank]) == 0);
    hr_work_release(b->work[rank]);
  }
}

/* Makes the call for both ranks, and compares what they get. */
#define BOTH(call, first, second)                                                    \
  do {                                                                               \
    buffers b = fresh();                                                             \
    for (int rank = 0; rank < 2; ++rank) {                                           \
      hr_group* group = p.group[rank];                                               \
      const int32_t* in = b.in[rank];                                                \
      int32_t* out = b.out[rank];                                                    \
      hr_work** work = &b.work[rank];                                                \
      CHECK(call);                                                                   \
    }                                                                                \
    finish(&b, (const int32_t[2 * COUNT]) first, (const int32_t[2 * COUNT]) second); \
  } while (0)
#define GET(...) \
  { __VA_ARGS__ }

static void test_started(hr_env* env) {
  const hr_dtype type = HR_INT32;
  pair p = open_pair(env, NULL);
  BOTH(hr_broadcast_start(group, in, out, COUNT, type, 1, work), GET(10, 20), GET(10, 20));
  BOTH(hr_reduce_start(group, in, out, COUNT, type, HR_SUM, 1, work), GET(0), GET(11, 22));
  BOTH(hr_all_reduce_start(group, in, out, COUNT, type, HR_SUM, work), GET(11, 22), GET(11, 22));
  BOTH(hr_gather_start(group, in, out, COUNT, type, 1, work), GET(0), GET(1, 2, 10, 20));
  BOTH(hr_all_gather_start(group, in, out, COUNT, type, work), GET(1, 2, 10, 20),
       GET(1, 2, 10, 20));
  BOTH(hr_scatter_start(group, in, out, COUNT, type, 1, work), GET(10, 20), GET(30, 40));
  BOTH(hr_reduce_scatter_start(group, in, out, COUNT, type, HR_SUM, work), GET(11, 22),
       GET(33, 44));
  BOTH(hr_all_to_all_start(group, in, out, COUNT, type, work), GET(1, 2, 10, 20),
       GET(3, 4, 30, 40));
  close_pair(&p);
}

const test tests[] = {TEST(started), {NULL, NULL}};
