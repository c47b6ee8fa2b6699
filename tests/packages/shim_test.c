/* The wait of cmake/package/shim.c where the system has none of its own: not earlier than its time,
 * soon after it, and at once if the time has passed. */
#include <dlfcn.h>
#define dlsym(library, name) NULL
#include "cmake/package/shim.c"
#undef dlsym

#include <errno.h>
#include <stdio.h>

static long long WaitedFor(long long nanos) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const long long start = Nanos(CLOCK_MONOTONIC), end = start + nanos;
  const struct timespec until = {.tv_sec = end / kSecond, .tv_nsec = end % kSecond};
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
  pthread_mutex_unlock(&mutex);
  return result == ETIMEDOUT ? Nanos(CLOCK_MONOTONIC) - start : -1;
}

int main(void) {
  const long long milli = 1000000, waited = WaitedFor(60 * milli), past = WaitedFor(-60 * milli);
  printf("waited %lld ns for 60 ms, %lld ns for a time that has passed\n", waited, past);
  const int right = waited >= 59 * milli && waited < kSecond && past >= 0 && past < kSecond;
  return right ? 0 : 1;
}
