#include "backends/cpu/kernels/pool_batch_blocked.h"

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu {
namespace {

using reference::Values;

class PoolBatchBlocked : public BlockedTest {
 protected:
  PoolShape RandomShape() {
    PoolShape s;
    s.n = RandomInt(1, 35), s.c = RandomInt(1, 5);
    s.kh = RandomInt(1, 4), s.kw = RandomInt(1, 4);
    s.sh = RandomInt(1, 4), s.sw = RandomInt(1, 4);
    if (RandomInt(0, 2) == 0) s.dh = RandomInt(1, 3), s.dw = RandomInt(1, 3);
    if (RandomInt(0, 1) == 0) {
      s.pad_top = RandomInt(0, s.kh - 1), s.pad_left = RandomInt(0, s.kw - 1);
      s.pad_bottom = RandomInt(0, s.kh - 1), s.pad_right = RandomInt(0, s.kw - 1);
    }
    s.ih = (s.kh - 1) * s.dh + RandomInt(1, 9);
    s.iw = (s.kw - 1) * s.dw + RandomInt(1, 13);
    s.count_include_pad = RandomInt(0, 1) == 0;
    s.DeriveOutput();
    // As with ceil_mode: one more window, that begins inside the image.
    if (s.oh * s.sh - s.pad_top < s.ih && RandomInt(0, 1) == 0) ++s.oh;
    if (s.ow * s.sw - s.pad_left < s.iw && RandomInt(0, 1) == 0) ++s.ow;
    return s;
  }

  template <typename T>
  void Check(const PoolShape& s) {
    SCOPED_TRACE(testing::Message()
                 << "n " << s.n << " c " << s.c << " in " << s.ih << "x" << s.iw << " out " << s.oh
                 << "x" << s.ow << " kernel " << s.kh << "x" << s.kw << " strides " << s.sh << "x"
                 << s.sw << " dilations " << s.dh << "x" << s.dw << " pads " << s.pad_top << " "
                 << s.pad_left << " " << s.pad_bottom << " " << s.pad_right);
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
    const PoolShape shape = RandomShape();
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
