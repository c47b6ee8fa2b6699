#include "tests/kernels/fma_peak.h"

#include "tests/kernels/measure.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/fma_peak.cc"
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
  const int tasks = threads.threads();
  double operations = 0;
  const double seconds = BestSeconds(tasks, [&] {
    threads.ParallelFor(tasks, [&](int task) {
      float sink = 0;
      const double done = HWY_DYNAMIC_DISPATCH(MultiplyAdd)(50'000, &sink);
      if (task == 0) operations = done;
    });
  });
  return operations * tasks / seconds * 1e-9;
}

}  // namespace hr::bench
#endif
