#include "patience.h"

#include "comm_support.h"

static int third_time(void* context) {
  patience* p = context;
  const double time = seconds_now();
  EXPECT(pthread_equal(pthread_self(), p->thread));
  if (time - p->last > p->longest) p->longest = time - p->last;
  p->last = time;
  return ++p->asked == 3;
}

patience fresh_patience(void) {
  return (patience){.thread = pthread_self(), .last = seconds_now()};
}

hr_limits interrupted_by(patience* p) {
  return (hr_limits){.struct_size = sizeof(hr_limits), .interrupted = third_time, .context = p};
}

/* How long it took is told and not judged, because the machine may be busy. */
void expect_patience(const patience* p) {
  EXPECT(p->asked == 3);
  if (p->longest > 0.1) printf("asked after %.0f ms ", 1e3 * p->longest);
}
