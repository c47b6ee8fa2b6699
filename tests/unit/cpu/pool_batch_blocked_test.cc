#include "backends/cpu/kernels/pool_batch_blocked.h"

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

class PoolBatchBlocked : public BlockedTest {
 protected:
  template <typename T>
  void Check(const PoolShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    const int64_t in = s.c * s.InputPlane(), out = s.c * s.OutputPlane();
    const Values x = RandomValues(s.n * in), dy = RandomValues(s.n * out);
    Buffer<T> bx(BatchBlockedElements<T>(s.n, in)), bdx(bx.size());
    Buffer<T> by(BatchBlockedElements<T>(s.n, out)), bdy(by.size());
    Buffer<uint8_t> argmax(by.size());
    FillBlocked(bx, s.n, in, x);
    FillBlocked(bdy, s.n, out, dy);
    std::vector<int64_t> chosen;
    const Values y = reference::MaxPool(s, x, &chosen);
    MaxPool<T>(three_, s, bx.data(), by.data(), argmax.data(), 4);
    ExpectBlocked(by, s.n, out, y, 0);
    MaxPoolBackward<T>(three_, s, bdy.data(), argmax.data(), bdx.data(), 4);
    ExpectBlocked(bdx, s.n, in, reference::MaxPoolBackward(s, chosen, dy), 1);
    AveragePool<T>(three_, s, bx.data(), by.data(), 4);
    ExpectBlocked(by, s.n, out, reference::AveragePool(s, x));
    AveragePoolBackward<T>(three_, s, bdy.data(), bdx.data(), 4);
    ExpectBlocked(bdx, s.n, in, reference::AveragePoolBackward(s, dy));
  }
};

TEST_P(PoolBatchBlocked, AgreesWithTheDefinition) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const PoolShape shape = RandomPool(Any(), 35);
    Check<float>(shape);
    if (!HasFatalFailure()) Check<double>(shape);
  }
}

TEST_P(PoolBatchBlocked, PoolsWholeImages) {
  Check<float>(GlobalPool(19, 3, 15, 17));
  EXPECT_TRUE(MaxPoolHasMap(GlobalPool(19, 3, 15, 17)));
  EXPECT_FALSE(MaxPoolHasMap(GlobalPool(19, 3, 16, 16)));
}

HR_KERNEL_TESTS(PoolBatchBlocked);

}  // namespace
}  // namespace hr::cpu
