// Our side of a benchmark: answers the requests of tests/bench/run on standard input and output.
// See harness/side.py for the protocol.
#pragma once

// Measures `name` (a case) `repeats` times into `values`, one number each. Returns NULL, or a
// sentence that says what failed (it must stay valid until the next call).
typedef const char* bench_run(const char* name, int repeats, double* values);

// Serves until the input ends; the exit status of main.
int bench_serve(bench_run* run);

// Monotonic seconds.
double bench_now(void);

// How many threads the run is about (2 unless the command line says otherwise).
int bench_threads(void);

// A folder for files that live as long as the run.
const char* bench_scratch(void);

// Resident memory of this process now, and at its highest, in bytes.
double bench_resident_bytes(void);
double bench_peak_resident_bytes(void);
