// Our side of a benchmark: answers the requests of tests/bench/run on standard input and output.
// See harness/side.py for the protocol.
#pragma once

#include <headrace/headrace.h>

// What failed, or NULL: a sentence that stays valid until the next failure. Releases the status.
const char* bench_error(hr_status* status);
// In functions that return such a sentence.
#define BENCH_TRY(call)                                  \
  do {                                                   \
    const char* bench_try_error = bench_error(call);     \
    if (bench_try_error != NULL) return bench_try_error; \
  } while (0)
#define BENCH_DO(call)                                 \
  do {                                                 \
    const char* bench_do_error = (call);               \
    if (bench_do_error != NULL) return bench_do_error; \
  } while (0)

// Measures `name` (a case) `repeats` times into `values`, one number each. Returns NULL, or a
// sentence that says what failed (it must stay valid until the next call).
typedef const char* bench_run(const char* name, int repeats, double* values);

// Serves until the input ends; the exit status of main.
int bench_serve(bench_run* run);

// What is measured; NULL or what failed.
typedef const char* bench_step(void* context);
// How many calls of `step` take about so many seconds; warms it up on the way. HEADRACE_BENCH_CALLS
// in the environment is the answer, if it is there.
const char* bench_calls_for(bench_step* step, void* context, double seconds, int* out_count);
// `repeats` times: how long one of `count` calls takes.
const char* bench_seconds_each(bench_step* step, void* context, int count, int repeats,
                               double* values);
// A bench_step for an hr_call.
const char* bench_run_call(void* call);

// A call of a signature of a new session of the graph, which is released.
const char* bench_graph_call(hr_graph* graph, const char* signature, hr_call** out);

// The number behind the last '-' of a case such as "batch-64"; 0 where there is none.
int bench_case_number(const char* name);

// An env with bench_threads() threads.
const char* bench_env(hr_env** out);

// Monotonic seconds.
double bench_now(void);

// Binds this process to the rank-th of the cores it may use, unless ranks outnumber them. Where the
// system puts two ranks on one core, they take two to three times as long; which it does by chance.
void bench_bind(int rank, int ranks);

// How many threads the run is about (2 unless the command line says otherwise).
int bench_threads(void);

// A folder for files that live as long as the run.
const char* bench_scratch(void);
// The folder of what the benchmark's prepare.py has written.
const char* bench_prepared(void);

// Resident memory of this process now, and at its highest, in bytes.
double bench_resident_bytes(void);
double bench_peak_resident_bytes(void);
// Gives freed memory back and lets the highest be that from now on.
void bench_forget_peak(void);
