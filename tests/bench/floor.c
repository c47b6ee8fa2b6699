// Prints what the machine can do at most with N threads: float32 operations a second (fused
// multiply-adds in registers) and bytes of memory a second (a copy that fits no cache).
// usage: bench_floor N
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kChains = 8, kMaxThreads = 256 };
typedef float float4 __attribute__((vector_size(16)));
typedef float float8 __attribute__((vector_size(32)));
typedef float float16 __attribute__((vector_size(64)));

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Eight independent chains (their starts differ, or the compiler makes one of them) hide the
// latency of a multiply-add.
#define CHAINS(type, rounds, out)                                              \
  type factor = (type){0} + 0.999f + out[0], term = (type){0} + 0.5f;          \
  type s0 = term, s1 = s0 + 1, s2 = s0 + 2, s3 = s0 + 3;                       \
  type s4 = s0 + 4, s5 = s0 + 5, s6 = s0 + 6, s7 = s0 + 7;                     \
  for (long i = 0; i < rounds; ++i) {                                          \
    s0 = s0 * factor + term, s1 = s1 * factor + term, s2 = s2 * factor + term; \
    s3 = s3 * factor + term, s4 = s4 * factor + term, s5 = s5 * factor + term; \
    s6 = s6 * factor + term, s7 = s7 * factor + term;                          \
  }                                                                            \
  s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;                                      \
  memcpy(out, &s0, sizeof s0)

#if defined(__x86_64__)
#define TARGET(name) __attribute__((target(name)))
TARGET("avx512f") static void Wide(long rounds, float* out) { CHAINS(float16, rounds, out); }
TARGET("avx2,fma") static void Medium(long rounds, float* out) { CHAINS(float8, rounds, out); }
#endif
static void Narrow(long rounds, float* out) { CHAINS(float4, rounds, out); }

// Runs `rounds` of the widest chains; returns how many floats are in a vector.
static int MultiplyAdd(long rounds, float* out) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return Wide(rounds, out), 16;
  if (__builtin_cpu_supports("avx2")) return Medium(rounds, out), 8;
#endif
  Narrow(rounds, out);
  return 4;
}

static const long kRounds = 10 * 1000 * 1000;
static const size_t kBytes = (size_t)64 << 20;

static void* Flops(void* unused) {
  (void)unused;
  float out[16] = {0};
  MultiplyAdd(kRounds, out);
  return out[0] > 1e30f ? NULL : (void*)1;  // the result is used
}

static void* Copy(void* memory) {
  for (int i = 0; i < 8; ++i) {
    memcpy((char*)memory + kBytes * (size_t)((i + 1) % 2), (char*)memory + kBytes * (size_t)(i % 2),
           kBytes);
  }
  return memory;
}

// The best of ten: others may share the machine.
static double Seconds(int threads, void* (*body)(void*), void** arguments) {
  double best = 1e30;
  for (int attempt = 0; attempt < 10; ++attempt) {
    pthread_t ids[kMaxThreads];
    double start = Now();
    for (int i = 0; i < threads; ++i) {
      if (pthread_create(&ids[i], NULL, body, arguments[i]) != 0) exit(1);
    }
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
    double taken = Now() - start;
    if (taken < best) best = taken;
  }
  return best;
}

int main(int argc, char** argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > kMaxThreads) {
    fprintf(stderr, "expected 1 to %d threads, got '%s'\n", kMaxThreads, argc > 1 ? argv[1] : "");
    return 2;
  }
  void* memory[kMaxThreads];
  for (int i = 0; i < threads; ++i) {
    memory[i] = malloc(2 * kBytes);
    if (memory[i] == NULL) return 1;
    memset(memory[i], 1, 2 * kBytes);
  }
  float out[16] = {0};
  double flops = 2.0 * MultiplyAdd(1, out) * kChains * (double)kRounds * threads;
  double bytes = 2.0 * 8 * (double)kBytes * threads;
  printf("%.6g ", flops / Seconds(threads, Flops, memory));
  printf("%.6g\n", bytes / Seconds(threads, Copy, memory));
  for (int i = 0; i < threads; ++i) free(memory[i]);
  return 0;
}
