/* A host that interrupts a wait after it was asked a few times. */
#ifndef HEADRACE_TESTS_CAPI_PATIENCE_H_
#define HEADRACE_TESTS_CAPI_PATIENCE_H_

#include <pthread.h>

#include "support.h"

/* Says yes at the third question, and knows who asked and how far apart the questions were. */
typedef struct patience {
  pthread_t thread;
  double last, longest; /* in seconds */
  int asked;
} patience;

patience fresh_patience(void);
hr_limits interrupted_by(patience* p);

/* The call fails with HR_CANCELLED and the words because the host, which was asked often enough on
 * this thread, says so. The call finds its limits in `limits`. */
#define INTERRUPTED_AS(call, words)                   \
  do {                                                \
    patience waiter = fresh_patience();               \
    const hr_limits limits = interrupted_by(&waiter); \
    FAILS((call), HR_CANCELLED, words);               \
    expect_patience(&waiter);                         \
  } while (0)
#define INTERRUPTED(call) INTERRUPTED_AS(call, "the host interrupted the call")
void expect_patience(const patience* p);

#endif
