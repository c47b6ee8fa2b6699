// Helpers of the kernel tests: every instruction set in turn, thread leases, aligned buffers,
// random values and comparison.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/batch_blocked.h"
#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {

// Memory as the arena gives it: aligned to 64 bytes, nothing assumed about its contents.
template <typename T>
class Buffer {
 public:
  explicit Buffer(int64_t count, T fill = T(77))
      : count_(count), bytes_(count * sizeof(T) + kGuard + 64) {
    std::fill(begin(), begin() + count, fill);
    std::memset(static_cast<void*>(begin() + count), 0x5a, kGuard);
  }
  ~Buffer() {
    const auto* guard = reinterpret_cast<const unsigned char*>(begin() + count_);
    for (int i = 0; i < kGuard; ++i) EXPECT_EQ(guard[i], 0x5a) << "written beyond the end";
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* begin() {
    return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(bytes_.data()) + 63) / 64 * 64);
  }
  T* data() { return begin(); }
  int64_t size() const { return count_; }
  T operator[](int64_t i) { return begin()[i]; }

 private:
  static constexpr int kGuard = 64;
  int64_t count_;
  std::vector<unsigned char> bytes_;
};

class BlockedTest : public KernelTest {
 protected:
  // Multiples of 1/64, so that ties in max pooling happen.
  std::vector<double> RandomValues(int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& v : values) v = static_cast<double>(RandomInt(-64, 64)) / 64;
    return values;
  }
  auto Any() {
    return [this](int64_t low, int64_t high) { return RandomInt(low, high); };
  }
};

template <typename T>
void Fill(Buffer<T>& to, const std::vector<double>& from) {
  ASSERT_EQ(to.size(), static_cast<int64_t>(from.size()));
  for (size_t i = 0; i < from.size(); ++i) to.data()[i] = static_cast<T>(from[i]);
}

// [n][k] in double to batch-blocked T, element by element.
template <typename T>
void FillBlocked(Buffer<T>& to, int64_t n, int64_t k, const std::vector<double>& from) {
  ASSERT_EQ(to.size(), BatchBlockedElements<T>(n, k));
  std::fill_n(to.data(), to.size(), T{0});
  constexpr int64_t kB = kBatchBlock<T>;
  for (int64_t i = 0; i < n * k; ++i) {
    to.data()[((i / k / kB) * k + i % k) * kB + i / k % kB] = static_cast<T>(from[i]);
  }
}

template <typename T>
void ExpectNear(const T* got, const std::vector<double>& expected, double scale = 1) {
  const double tolerance = (sizeof(T) == 4 ? 2e-6 : 1e-14) * scale;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }
}

// The same for a batch-blocked result; lanes beyond n must be zero.
template <typename T>
void ExpectBlocked(Buffer<T>& got, int64_t n, int64_t k, const std::vector<double>& expected,
                   double scale = 1) {
  constexpr int64_t kB = kBatchBlock<T>;
  ASSERT_EQ(got.size(), BatchBlockedElements<T>(n, k));
  std::vector<T> plain(n * k);
  for (int64_t i = 0; i < got.size(); ++i) {
    const int64_t image = i / kB / k * kB + i % kB;
    if (image < n) {
      plain[image * k + i / kB % k] = got[i];
    } else {
      ASSERT_EQ(got[i], 0) << "padding lane at " << i;
    }
  }
  ExpectNear(plain.data(), expected, scale);
}

}  // namespace hr::cpu
