/* An env whose threads and clock are the test's, which can hold a run at any of its parallel
 * regions. There is one gate in a program. */
#ifndef HEADRACE_TESTS_CAPI_GATE_H_
#define HEADRACE_TESTS_CAPI_GATE_H_

#include "support.h"

hr_env* make_gated_env(void); /* two threads */
/* The next runs stop at this parallel region, counted from 1 from now on; 0: at none. */
void hold_at(int region);
void wait_until_held(void);
void let_go(void);
int regions_begun(void); /* since hold_at */
void advance_clock(int64_t nanos);

#endif
