#include "gate.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int hold_at, regions, held;
  atomic_llong now;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void pass(void) {
  pthread_mutex_lock(&gate.mutex);
  if (++gate.regions == gate.hold_at) {
    gate.held = 1;
    pthread_cond_broadcast(&gate.changed);
    while (gate.held) pthread_cond_wait(&gate.changed, &gate.mutex);
  }
  pthread_mutex_unlock(&gate.mutex);
}

static void parallel_for(void* context, int32_t tasks, int32_t threads,
                         void (*fn)(void* fn_context, int task), void* fn_context) {
  (void)context;
  (void)threads;
  pass();
  for (int task = 0; task < tasks; ++task) fn(fn_context, task);
}

static int64_t now_nanos(void* context) {
  (void)context;
  return atomic_load(&gate.now);
}

hr_env* make_gated_env(void) {
  const hr_executor executor = {
      .struct_size = sizeof executor, .concurrency = 2, .parallel_for = parallel_for};
  const hr_clock clock = {.struct_size = sizeof clock, .now_nanos = now_nanos};
  return make_env_with(&executor, &clock);
}

void hold_at(int region) {
  pthread_mutex_lock(&gate.mutex);
  gate.hold_at = region;
  gate.regions = 0;
  pthread_mutex_unlock(&gate.mutex);
}

void wait_until_held(void) {
  pthread_mutex_lock(&gate.mutex);
  while (!gate.held) pthread_cond_wait(&gate.changed, &gate.mutex);
  pthread_mutex_unlock(&gate.mutex);
}

void let_go(void) {
  pthread_mutex_lock(&gate.mutex);
  gate.held = 0;
  gate.hold_at = 0;
  pthread_cond_broadcast(&gate.changed);
  pthread_mutex_unlock(&gate.mutex);
}

int regions_begun(void) {
  pthread_mutex_lock(&gate.mutex);
  const int regions = gate.regions;
  pthread_mutex_unlock(&gate.mutex);
  return regions;
}

void advance_clock(int64_t nanos) { atomic_fetch_add(&gate.now, nanos); }
