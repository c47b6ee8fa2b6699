/* What headers of glibc 2.30 and newer make our objects call, for libraries that are to run with
 * older ones (cmake/package/older_glibc.py). Not seen from outside of the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* libstdc++ counts references without atomic operations if this is set. */
HIDDEN char __libc_single_threaded = 0;

static const long long kSecond = 1000000000;

static long long Nanos(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

/* The system's own, if it has one; else a wait by the clock of the day, which may end early or late
 * if somebody sets that: whoever waits until a time looks at the clock again. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* until) {
  typedef int Wait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  Wait* own = (Wait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (own != NULL) return own(condition, mutex, clock, until);
  const long long left = until->tv_sec * kSecond + until->tv_nsec - Nanos(clock);
  const long long end = Nanos(CLOCK_REALTIME) + (left > 0 ? left : 0);
  const struct timespec day = {.tv_sec = end / kSecond, .tv_nsec = end % kSecond};
  return pthread_cond_timedwait(condition, mutex, &day);
}
