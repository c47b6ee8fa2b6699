#include "backends/cpu/kernels/pool_plain.h"

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

class PoolPlain : public BlockedTest {
 protected:
  template <typename T>
  void Check(const PoolShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.c * s.InputPlane());
    const Values dy = RandomValues(s.n * s.c * s.OutputPlane());
    Buffer<T> bx(x.size()), bdx(x.size()), by(dy.size()), bdy(dy.size());
    Buffer<int64_t> argmax(dy.size());
    Fill(bx, x);
    Fill(bdy, dy);
    std::vector<int64_t> chosen;
    const Values y = reference::MaxPool(s, x, &chosen);
    MaxPoolPlain<T>(three_, s, bx.data(), by.data(), argmax.data(), 4);
    ExpectNear(by.data(), y, 0);
    for (size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_EQ(argmax[i], chosen[i] < 0 ? -1 : chosen[i] % s.InputPlane());
    }
    MaxPoolPlainBackward<T>(three_, s, bdy.data(), argmax.data(), bdx.data(), 4);
    ExpectNear(bdx.data(), reference::MaxPoolBackward(s, chosen, dy));
    AveragePoolPlain<T>(three_, s, bx.data(), by.data(), 4);
    ExpectNear(by.data(), reference::AveragePool(s, x));
    AveragePoolPlainBackward<T>(three_, s, bdy.data(), bdx.data(), 4);
    ExpectNear(bdx.data(), reference::AveragePoolBackward(s, dy));
  }
};

TEST_P(PoolPlain, AgreesWithTheDefinition) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const PoolShape shape = RandomPool(Any(), 4);
    Check<float>(shape);
    if (!HasFatalFailure()) Check<double>(shape);
  }
}

INSTANTIATE_TEST_SUITE_P(Once, PoolPlain, testing::Values(HWY_STATIC_TARGET));

}  // namespace
}  // namespace hr::cpu
