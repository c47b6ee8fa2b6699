#include "backends/cpu/kernels/pool_plain.h"

#include "backends/cpu/kernels/pool_batch_blocked.h"
#include "backends/cpu/kernels/pool_by_lanes.h"
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
    CheckByLanes<T>(s, x, dy);
    AveragePoolPlain<T>(three_, s, bx.data(), by.data(), 4);
    ExpectNear(by.data(), reference::AveragePool(s, x));
    AveragePoolPlainBackward<T>(three_, s, bdy.data(), bdx.data(), 4);
    ExpectNear(bdx.data(), reference::AveragePoolBackward(s, dy));
  }

  template <typename T>
  void CheckByLanes(const PoolShape& s, const Values& x, const Values& dy) {
    if (!CanPoolByLanes(s)) return;
    Buffer<T> bx(x.size()), d_max(x.size()), d_mean(x.size());
    Buffer<T> bdy(dy.size()), max(dy.size()), mean(dy.size());
    Buffer<T> scratch(static_cast<int64_t>(PoolByLanesBytes(s, 4) / sizeof(T)));
    Fill(bx, x);
    Fill(bdy, dy);
    std::vector<int64_t> chosen;
    const Values y = reference::MaxPool(s, x, &chosen);
    MaxPoolByLanes<T>(three_, s, bx.data(), max.data(), 4, scratch.data());
    ExpectNear(max.data(), y, 0);
    AveragePoolByLanes<T>(three_, s, bx.data(), mean.data(), 4, scratch.data());
    ExpectNear(mean.data(), reference::AveragePool(s, x));
    AveragePoolByLanesBackward<T>(three_, s, bdy.data(), d_mean.data(), 4, scratch.data());
    ExpectNear(d_mean.data(), reference::AveragePoolBackward(s, dy));
    if (!MaxPoolHasMap(s)) return;
    MaxPoolByLanesBackward<T>(three_, s, bdy.data(), bx.data(), d_max.data(), 4, scratch.data());
    ExpectNear(d_max.data(), reference::MaxPoolBackward(s, chosen, dy));
  }

  // So wide that a few rows fill a band.
  PoolShape Wide(RandomInteger any) {
    PoolShape s;
    s.n = any(1, 2), s.c = any(1, 12);
    s.ih = any(4, 30), s.iw = any(250, 400);
    s.kh = any(1, 4), s.kw = any(1, 3), s.sh = any(1, 5), s.sw = any(1, 3), s.dh = any(1, 2);
    s.pad_top = any(0, s.kh - 1), s.pad_bottom = any(0, s.kh - 1), s.pad_left = any(0, s.kw - 1);
    s.count_include_pad = any(0, 1) == 0;
    if (s.ih + s.pad_top + s.pad_bottom < (s.kh - 1) * s.dh + 1) s.kh = 1;
    s.DeriveOutput();
    return s;
  }
};

TEST_P(PoolPlain, CutsWideImagesIntoBands) {
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round) {
    const PoolShape s = Wide(Any());
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.c * s.InputPlane());
    const Values dy = RandomValues(s.n * s.c * s.OutputPlane());
    CheckByLanes<float>(s, x, dy);
    if (!HasFatalFailure()) CheckByLanes<double>(s, x, dy);
  }
}

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
