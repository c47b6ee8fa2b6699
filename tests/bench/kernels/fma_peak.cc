#include "tests/bench/kernels/fma_peak.h"

#include <algorithm>
#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/kernels/fma_peak.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the operations done; 12 independent sums hide the latency.
HWY_ATTR double MultiplyAdd(int rounds, float* sink) {
  const hn::ScalableTag<float> d;
  constexpr int kSums = 12;
  hn::Vec<decltype(d)> sums[kSums];
  const auto a = hn::Set(d, 1.0001f + *sink), b = hn::Set(d, 1e-7f + *sink);
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = hn::MulAdd(sums[i], a, b);
  }
  auto total = sums[0];
#pragma GCC unroll 12
  for (int i = 1; i < kSums; ++i) total = hn::Add(total, sums[i]);
  *sink = hn::GetLane(total) * 1e-30f;
  return 2.0 * kSums * rounds * static_cast<double>(hn::Lanes(d));
}

}  // namespace hr::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::bench {
HWY_EXPORT(MultiplyAdd);

double MeasureFmaPeak(const Lease& threads) {
  double best = 0;
  for (int repeat = 0; repeat < 30; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    double operations[64] = {};
    const int tasks = std::min(64, threads.threads());
    threads.ParallelFor(tasks, [&](int task) {
      float sink = 0;
      operations[task] = HWY_DYNAMIC_DISPATCH(MultiplyAdd)(50'000, &sink);
    });
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    double total = 0;
    for (const double o : operations) total += o;
    best = std::max(best, total / took.count());
  }
  return best;
}

}  // namespace hr::bench
#endif
