// What the programs that measure kernels share.
#pragma once

#include <ctime>

#include <algorithm>

namespace hr::bench {

// Seconds. On one thread its CPU time, which other work on the machine disturbs less.
inline double Now(int threads) {
  timespec time;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The best time of one call, in seconds: other work on the machine only ever adds.
template <typename Body>
double BestSeconds(int threads, Body&& body) {
  double best = 1e9, total = 0;
  for (int repeat = 0; repeat < 5 || (total < 0.5 && repeat < 2000); ++repeat) {
    const double start = Now(threads);
    body();
    const double seconds = Now(threads) - start;
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

}  // namespace hr::bench
