#include "backends/cpu/kernels/batch_blocked.h"

#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu {
namespace {

class BatchBlocked : public BlockedTest {
 protected:
  template <typename T>
  void RoundTrip(int64_t n, int64_t k) {
    SCOPED_TRACE(testing::Message() << n << " x " << k);
    const auto values = RandomValues(n * k);
    Buffer<T> plain(n * k), blocked(BatchBlockedElements<T>(n, k)), back(n * k);
    Fill(plain, values);
    ToBatchBlocked(three_, n, k, plain.data(), blocked.data(), 3);
    ExpectBlocked(blocked, n, k, values, 0);
    FromBatchBlocked(three_, n, k, blocked.data(), back.data(), 3);
    ExpectNear(back.data(), values, 0);
  }
};

TEST_P(BatchBlocked, ConvertsThereAndBack) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 1},
                             {16, 16},
                             {17, 5},
                             {3, 131},
                             {40, 784},
                             {64, 1},
                             {8, 260},
                             {15, 129}}) {
    RoundTrip<float>(n, k);
    RoundTrip<double>(n, k);
  }
}

HR_KERNEL_TESTS(BatchBlocked);

}  // namespace
}  // namespace hr::cpu
