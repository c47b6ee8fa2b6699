#include "backends/cpu/kernels/depthwise_plain.h"

#include <limits>

#include "tests/unit/cpu/conv_passes_testing.h"

namespace hr::cpu {
namespace {

class DepthwisePlainTest : public ConvPassesTest {
 protected:
  // y, dx and dw, one behind the other.
  template <typename T>
  std::vector<T> RunAll(const Lease& threads, const ConvShape& s, int slices, Buffer<T>& x,
                        Buffer<T>& w, Buffer<T>* bias, bool relu, Buffer<T>& dy) {
    Buffer<T> y(dy.size()), dx(x.size()), dw(w.size());
    const auto image = [&](ImagePass pass, Buffer<T>& from, const T* of, bool cut, Buffer<T>& to) {
      const DepthwisePlain<T> conv(s, pass, slices);
      Buffer<T> scratch(static_cast<int64_t>(conv.scratch_bytes() / sizeof(T)));
      conv.Run(threads, from.data(), w.data(), of, cut, to.data(), scratch.data());
    };
    image(ImagePass::kForward, x, bias != nullptr ? bias->data() : nullptr, relu, y);
    image(ImagePass::kBackwardData, dy, nullptr, false, dx);
    const DepthwisePlainWeights<T> gradient(s, slices);
    Buffer<T> scratch(static_cast<int64_t>(gradient.scratch_bytes() / sizeof(T)));
    gradient.Run(threads, x.data(), dy.data(), dw.data(), scratch.data());
    return Joined({&y, &dx, &dw});
  }

  template <typename T>
  void Check(const ConvShape& s) {
    CheckPasses<T>(s, false, [&](const Lease& threads, int slices, auto&... operands) {
      return RunAll<T>(threads, s, slices, operands...);
    });
  }

  void CheckBoth(ConvShape s, int64_t channels) {
    s.groups = s.ic = s.oc = channels;
    Check<float>(s);
    if (!HasFatalFailure()) Check<double>(s);
  }
};

TEST_P(DepthwisePlainTest, AgreesWithTheDefinition) {
  for (int round = 0; round < 80 && !HasFatalFailure(); ++round) {
    CheckBoth(RandomConv(Any(), 4), RandomInt(2, 6));
  }
}

// Rows of several vectors, and more of them than are copied at a time; fewer channels than threads.
TEST_P(DepthwisePlainTest, CutsLargeImages) {
  for (const int64_t stride : {1, 2, 3}) {
    ConvShape s = SquareConv(3, 2, 2, 5, 70, stride);
    s.iw = 83;
    s.DeriveOutput();
    CheckBoth(s, 2);
  }
  ConvShape line = SquareConv(2, 2, 2, 1, 1);
  line.iw = 9000, line.kw = 3;
  line.DeriveOutput();
  CheckBoth(line, 2);
}

TEST_P(DepthwisePlainTest, TakesNoImages) { CheckBoth(SquareConv(0, 3, 3, 3, 7), 3); }

// What lies beyond a row's end has no part in the gradient of the weights, and a NaN stays.
TEST_P(DepthwisePlainTest, KeepsInfinitePixelsApart) {
  ConvShape s = SquareConv(1, 2, 2, 1, 3);
  s.groups = 2, s.iw = 5, s.kw = 3;
  s.DeriveOutput();
  Buffer<float> x(s.ic * s.InputPlane()), w(s.oc * s.Taps()), y(s.oc * s.OutputPlane());
  std::fill_n(x.data(), x.size(), 1.f);
  std::fill_n(w.data(), w.size(), 1.f);
  std::fill_n(y.data(), y.size(), 1.f);
  x.data()[4] = std::numeric_limits<float>::infinity();  // the last pixel of a row: of tap 2 alone
  const auto all = RunAll<float>(one_, s, 1, x, w, nullptr, false, y);
  const float* const dw = all.data() + y.size() + x.size();
  EXPECT_EQ(dw[0], 9.f);
  EXPECT_EQ(dw[1], 9.f);
  EXPECT_EQ(dw[2], std::numeric_limits<float>::infinity());
  x.data()[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(RunAll<float>(one_, s, 1, x, w, nullptr, true, y)[2]));
}

HR_KERNEL_TESTS(DepthwisePlainTest);

}  // namespace
}  // namespace hr::cpu
