// What the tests of bfloat16 kernels share: both kinds of instructions, threads, random numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "backends/cpu/kernels/bfloat16_kernels.h"
#include "runtime/base/executor.h"
#include "runtime/base/half.h"

namespace hr::cpu {

// Runs each test once with vectors alone, and once with the matrix unit.
class Bfloat16Test : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    kernels_ = GetParam() ? KernelsForBfloat16() : VectorsForBfloat16();
    if (kernels_ == nullptr) GTEST_SKIP() << "this processor has no products of bfloat16";
    pool_ = CreateThreadPool(3).value();
    budget_ = std::make_unique<ThreadBudget>(*pool_);
    three_ = budget_->Acquire(3, {}).value();
  }
  void TearDown() override { three_ = Lease(); }

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool Coin() { return Between(0, 1) != 0; }
  // In [-1, 1).
  float Number() {
    return static_cast<float>(std::uniform_real_distribution<double>(-1, 1)(engine_));
  }
  std::vector<uint16_t> Numbers(int64_t count) {
    std::vector<uint16_t> bits(static_cast<size_t>(count));
    for (uint16_t& b : bits) b = FloatToBfloat16(Number());
    return bits;
  }

  const Bfloat16Kernels* kernels_ = nullptr;
  const Lease one_;
  Lease three_;
  std::mt19937_64 engine_{7};

 private:
  std::unique_ptr<Executor> pool_;
  std::unique_ptr<ThreadBudget> budget_;
};

}  // namespace hr::cpu
