// What the tests of the CPU kernels share: every instruction set in turn, threads, random data.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include <hwy/targets.h>
#include "runtime/base/executor.h"

namespace hr::cpu {

// Runs each test once for each instruction set of this CPU that the kernels were built for.
class KernelTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    auto pool = CreateThreadPool(3);
    ASSERT_TRUE(pool.ok());
    pool_ = std::move(pool).value();
    budget_ = std::make_unique<ThreadBudget>(*pool_);
    auto lease = budget_->Acquire(3, {});
    ASSERT_TRUE(lease.ok());
    three_ = std::move(lease).value();
  }

  void TearDown() override {
    three_ = Lease();
    budget_.reset();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  // Values in [-1, 1).
  template <typename T>
  std::vector<T> Random(int64_t count) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> values(static_cast<size_t>(count));
    for (T& value : values) value = static_cast<T>(uniform(engine_));
    return values;
  }

  int64_t RandomInt(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  const Lease one_;
  Lease three_;
  std::mt19937_64 engine_{7};

 private:
  std::unique_ptr<Executor> pool_;
  std::unique_ptr<ThreadBudget> budget_;
};

// How often a test that draws shapes does so: less often where a sanitizer makes it slow.
constexpr int Rounds(int usually) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return (usually + 4) / 5;
#else
  return usually;
#endif
}

inline std::vector<int64_t> KernelTargets() {
  std::vector<int64_t> targets = {HWY_STATIC_TARGET};
#ifdef __SANITIZE_THREAD__
  return targets;  // threads do the same whatever the vectors are, and it is slow
#endif
  for (int64_t target : {HWY_AVX2, HWY_AVX3, HWY_NEON}) {
    if ((hwy::SupportedTargets() & target) && target != HWY_STATIC_TARGET) {
      targets.push_back(target);
    }
  }
  return targets;
}

#define HR_KERNEL_TESTS(Fixture)                                                          \
  INSTANTIATE_TEST_SUITE_P(Targets, Fixture, testing::ValuesIn(hr::cpu::KernelTargets()), \
                           [](const auto& info) { return hwy::TargetName(info.param); })

}  // namespace hr::cpu
