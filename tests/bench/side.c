#define _GNU_SOURCE
#include "side.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMaxRepeats = 1000 };

double bench_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char* bench_error(hr_status* status) {
  static char text[1024];
  if (status == NULL) return NULL;
  snprintf(text, sizeof text, "%s: %s", hr_code_name(hr_status_code(status)),
           hr_status_message(status));
  hr_status_release(status);
  return text;
}

const char* bench_seconds_each(bench_step* step, void* context, int count, int repeats,
                               double* values) {
  for (int repeat = 0; repeat < repeats; ++repeat) {
    double start = bench_now();
    for (int i = 0; i < count; ++i) BENCH_DO(step(context));
    values[repeat] = (bench_now() - start) / count;
  }
  return NULL;
}

// Of the calls for a value; 0: as many as fit into the time.
static int FixedCalls(void) {
  const char* text = getenv("HEADRACE_BENCH_CALLS");
  return text == NULL ? 0 : atoi(text);
}

const char* bench_calls_for(bench_step* step, void* context, double seconds, int* out_count) {
  if (FixedCalls() > 0) {
    *out_count = FixedCalls();
    return NULL;
  }
  int count = 1;
  double taken = 0;
  while (taken < seconds / 10) {
    count *= 2;
    BENCH_DO(bench_seconds_each(step, context, count, 1, &taken));
    taken *= count;
  }
  count = (int)(count * seconds / taken);
  *out_count = count > 0 ? count : 1;
  return NULL;
}

const char* bench_run_call(void* call) {
  BENCH_TRY(hr_call_run(call, NULL));
  return NULL;
}

const char* bench_graph_call(hr_graph* graph, const char* signature, hr_call** out) {
  hr_model* model;
  hr_session* session;
  BENCH_TRY(hr_model_from_graph(graph, &model));
  BENCH_TRY(hr_session_create(model, NULL, NULL, &session));
  BENCH_TRY(hr_call_create(session, signature, out));
  hr_session_release(session);
  hr_model_release(model);
  hr_graph_release(graph);
  return NULL;
}

int bench_case_number(const char* name) {
  const char* dash = strrchr(name, '-');
  return dash == NULL ? 0 : atoi(dash + 1);
}

const char* bench_env(hr_env** out) {
  hr_env_options options = {.struct_size = sizeof options, .threads = bench_threads()};
  BENCH_TRY(hr_env_create(&options, out));
  return NULL;
}

void bench_bind(int rank, int ranks) {
  cpu_set_t all, mine;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < ranks) return;
  int core = 0;
  for (int before = rank; !CPU_ISSET(core, &all) || before-- > 0;) ++core;
  CPU_ZERO(&mine);
  CPU_SET(core, &mine);
  sched_setaffinity(0, sizeof mine, &mine);
}

int bench_threads(void) {
  const char* text = getenv("HEADRACE_BENCH_THREADS");
  int threads = text == NULL ? 0 : atoi(text);
  return threads < 1 ? 2 : threads;
}

static const char* Folder(const char* variable) {
  const char* folder = getenv(variable);
  return folder == NULL ? "/tmp" : folder;
}

const char* bench_scratch(void) { return Folder("HEADRACE_BENCH_SCRATCH"); }
const char* bench_prepared(void) { return Folder("HEADRACE_BENCH_PREPARED"); }

// The kilobytes behind `key` in /proc/self/status, as bytes.
static double StatusBytes(const char* key) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  double bytes = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, strlen(key)) == 0) bytes = 1024.0 * atof(line + strlen(key));
  }
  if (file != NULL) fclose(file);
  return bytes;
}

double bench_resident_bytes(void) { return StatusBytes("VmRSS:"); }
double bench_peak_resident_bytes(void) { return StatusBytes("VmHWM:"); }

void bench_forget_peak(void) {
  malloc_trim(0);
  FILE* file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) return;
  fputs("5", file);
  fclose(file);
}

static void Answer(FILE* out, bench_run* run, const char* name, int repeats) {
  static double values[kMaxRepeats];
  const char* error = repeats < 1 || repeats > kMaxRepeats ? "expected 1 to 1000 repeats"
                                                           : run(name, repeats, values);
  if (error != NULL) {
    fprintf(out, "{\"error\": \"");
    for (; *error != '\0'; ++error) fputc(strchr("\"\\\n", *error) != NULL ? ' ' : *error, out);
    fprintf(out, "\"}\n");
    return;
  }
  fprintf(out, "{\"values\": [");
  for (int i = 0; i < repeats; ++i) fprintf(out, "%s%.9g", i == 0 ? "" : ", ", values[i]);
  fprintf(out, "]");
  if (FixedCalls() > 0) fprintf(out, ", \"calls\": %d", FixedCalls());
  fprintf(out, "}\n");
}

int bench_serve(bench_run* run) {
  FILE* out = fdopen(dup(STDOUT_FILENO), "w");
  if (out == NULL) return 1;
  dup2(STDERR_FILENO, STDOUT_FILENO);  // what others print must not mix with the answers
  char line[256], name[256];
  int repeats;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "%255s %d", name, &repeats) != 2) return 2;
    Answer(out, run, name, repeats);
    fflush(out);
  }
  fclose(out);
  return 0;
}
