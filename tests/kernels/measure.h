// What the programs that measure kernels share.
#pragma once

#include <ctime>

#include <algorithm>
#include <functional>
#include <vector>

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

// The best time of each of several bodies that take turns, so that other work disturbs them alike.
inline std::vector<double> BestInTurn(int threads,
                                      const std::vector<std::function<void()>>& bodies) {
  std::vector<double> best(bodies.size(), 1e9);
  double total = 0;
  for (int repeat = 0; repeat < 5 || (total < 0.4 && repeat < 2000); ++repeat) {
    for (size_t i = 0; i < bodies.size(); ++i) {
      const double start = Now(threads);
      bodies[i]();
      const double seconds = Now(threads) - start;
      best[i] = std::min(best[i], seconds);
      total += seconds;
    }
  }
  return best;
}

}  // namespace hr::bench
