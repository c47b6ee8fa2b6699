// How far rounding takes convolutions from their exact result, against PyTorch: rms of the error
// over rms of the result.
#include <functional>

#include "backends/cpu/kernels/channels_last.h"
#include "backends/cpu/kernels/conv_batch_blocked.h"
#include "backends/cpu/kernels/conv_channels_last.h"
#include "backends/cpu/kernels/conv_plain.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "backends/cpu/kernels/grouped_channels_last.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_channels_last.h"
#include "backends/cpu/kernels/winograd_channels_last_weights.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu {
namespace {

// Batch 16, square, padded by half a kernel; PyTorch's errors in the three passes, as
// `tests/bench/run conv-accuracy --peer torch` prints them (PyTorch 2.15, AVX-512, two threads).
struct Case {
  int64_t kernel, stride, ic, oc, size;
  double forward, data, weights;
};
constexpr Case kCases[] = {
    {3, 1, 1, 16, 28, 5.5e-8, 2.1e-7, 1.2e-6},    {3, 1, 4, 16, 28, 1.1e-7, 2.1e-7, 1.9e-6},
    {3, 1, 16, 32, 16, 2.1e-7, 2.1e-7, 7.7e-7},   {3, 1, 64, 128, 16, 2.1e-7, 2.2e-7, 1.1e-6},
    {3, 1, 256, 256, 14, 2.2e-7, 2.2e-7, 9.6e-7}, {3, 1, 512, 512, 7, 2.3e-7, 2.3e-7, 4.6e-7},
    {5, 1, 1, 20, 28, 8.8e-8, 3.2e-7, 1.3e-6},    {5, 1, 4, 8, 28, 1.7e-7, 2.4e-7, 1.4e-6},
    {5, 1, 20, 50, 12, 3.1e-7, 3.3e-7, 7.8e-7},   {5, 1, 64, 64, 14, 3.4e-7, 3.4e-7, 9.2e-7},
    {5, 1, 256, 256, 14, 3.5e-7, 3.5e-7, 9.2e-7}, {7, 1, 3, 16, 28, 2.1e-7, 4.7e-7, 1.4e-6},
    {7, 1, 16, 16, 28, 4.8e-7, 4.8e-7, 1.4e-6},   {7, 1, 128, 128, 14, 4.6e-7, 4.6e-7, 8.9e-7},
    {7, 2, 3, 64, 64, 2.1e-7, 2.7e-7, 1.6e-6},    {3, 2, 256, 512, 14, 2.2e-7, 5.1e-7, 4.8e-7},
    {1, 1, 64, 256, 14, 1.4e-7, 1.6e-7, 2.6e-7},  {1, 1, 512, 512, 7, 2.9e-7, 2.9e-7, 1.5e-7},
};

// Sums of many positive numbers, of which each step of a chain rounds the whole; images as above.
// PyTorch's errors of such sums (uniform in [0, 1)), in 2^-24 of the result, are 0.8 to 6.5 in
// forward and data, by the kernel that it takes: 4 times what it has of most sums holds for all of
// ours. Those in weights range from 1 to 28.
struct PositiveCase {
  int64_t kernel, groups, ic, oc, size;
  double weights;
};
constexpr PositiveCase kPositive[] = {
    {5, 1, 64, 32, 14, 13.3}, {7, 1, 32, 16, 14, 12.6}, {3, 1, 256, 32, 14, 13.7},
    {1, 1, 640, 64, 7, 1.1},  {3, 1, 8, 8, 56, 26.9},   {7, 2, 128, 64, 9, 7.3},
    {5, 2, 6, 16, 64, 0.96},  {3, 8, 32, 32, 28, 1.1},  {3, 32, 32, 32, 28, 28.5}};
constexpr double kPositiveImages = 1.1;

using Floats = std::vector<float>;

class Sums {
 public:
  Sums(const ConvShape& s, const Floats& x, const Floats& w, const Floats& dy)
      : s_(s), x_(x), w_(w), dy_(dy) {}

  // The element at that place, in float64.
  double Forward(int64_t at) const {
    const int64_t column = at % s_.ow, row = at / s_.ow % s_.oh;
    const int64_t o = at / s_.OutputPlane() % s_.oc, n = at / s_.OutputPlane() / s_.oc;
    const int64_t first = o / s_.GroupOut() * s_.GroupIn();
    double sum = 0;
    for (int64_t c = 0; c < s_.GroupIn(); ++c) {
      ForTaps(
          [&](int64_t r, int64_t s) { sum += X(n, first + c, row, column, r, s) * W(o, c, r, s); });
    }
    return sum;
  }
  double Data(int64_t at) const {
    const int64_t column = at % s_.iw, row = at / s_.iw % s_.ih;
    const int64_t c = at / s_.InputPlane() % s_.ic, n = at / s_.InputPlane() / s_.ic;
    const int64_t group = c / s_.GroupIn(), first = group * s_.GroupOut();
    double sum = 0;
    for (int64_t o = first; o < first + s_.GroupOut(); ++o) {
      ForTaps([&](int64_t r, int64_t s) {
        const int64_t y = row + s_.pad_top - r, x = column + s_.pad_left - s;
        if (y % s_.sh != 0 || x % s_.sw != 0) return;
        sum += Dy(n, o, y / s_.sh, x / s_.sw) * W(o, c - group * s_.GroupIn(), r, s);
      });
    }
    return sum;
  }
  double Weights(int64_t at) const {
    const int64_t s = at % s_.kw, r = at / s_.kw % s_.kh;
    const int64_t o = at / s_.Taps();
    const int64_t c = o / s_.GroupOut() * s_.GroupIn() + at / (s_.kh * s_.kw) % s_.GroupIn();
    double sum = 0;
    for (int64_t n = 0; n < s_.n; ++n) {
      for (int64_t y = 0; y < s_.oh; ++y) {
        for (int64_t x = 0; x < s_.ow; ++x) sum += X(n, c, y, x, r, s) * Dy(n, o, y, x);
      }
    }
    return sum;
  }

 private:
  template <typename Body>
  void ForTaps(Body&& body) const {
    for (int64_t r = 0; r < s_.kh; ++r) {
      for (int64_t s = 0; s < s_.kw; ++s) body(r, s);
    }
  }
  // What tap (r, s) of output (y, x) reads; 0 outside of the image.
  double X(int64_t n, int64_t c, int64_t y, int64_t x, int64_t r, int64_t s) const {
    const int64_t row = y * s_.sh - s_.pad_top + r, column = x * s_.sw - s_.pad_left + s;
    if (row < 0 || row >= s_.ih || column < 0 || column >= s_.iw) return 0;
    return x_[((n * s_.ic + c) * s_.ih + row) * s_.iw + column];
  }
  double W(int64_t o, int64_t c, int64_t r, int64_t s) const {
    return w_[((o * s_.GroupIn() + c) * s_.kh + r) * s_.kw + s];
  }
  double Dy(int64_t n, int64_t o, int64_t y, int64_t x) const {
    if (y < 0 || y >= s_.oh || x < 0 || x >= s_.ow) return 0;
    return dy_[((n * s_.oc + o) * s_.oh + y) * s_.ow + x];
  }

  const ConvShape& s_;
  const Floats &x_, &w_, &dy_;
};

// Over a sample of the elements.
double ErrorOf(const Floats& got, const std::function<double(int64_t)>& element) {
  std::mt19937_64 engine(3);
  double errors = 0, squares = 0;
  for (int sample = 0; sample < 1000; ++sample) {
    const auto at = static_cast<int64_t>(engine() % got.size());
    const double want = element(at), error = got[at] - want;
    errors += error * error, squares += want * want;
  }
  return std::sqrt(errors / squares);
}

void ToBlocks(const Floats& from, int64_t n, Buffer<float>& to) {
  constexpr int64_t kB = kBatchBlock<float>;
  const auto k = static_cast<int64_t>(from.size()) / n;
  std::fill_n(to.data(), to.size(), 0.0F);
  for (int64_t i = 0; i < n * k; ++i)
    to.data()[((i / k / kB) * k + i % k) * kB + i / k % kB] = from[i];
}
Floats FromBlocks(Buffer<float>& from, int64_t n) {
  constexpr int64_t kB = kBatchBlock<float>;
  const int64_t k = from.size() / RoundUp(n, kB);
  Floats to(n * k);
  for (int64_t i = 0; i < n * k; ++i) to[i] = from[((i / k / kB) * k + i % k) * kB + i / k % kB];
  return to;
}

class ConvAccuracy : public BlockedTest {
 protected:
  static ConvShape ShapeOf(const Case& one) {
    ConvShape s;
    s.n = 16, s.ic = one.ic, s.oc = one.oc, s.ih = s.iw = one.size;
    s.kh = s.kw = one.kernel, s.sh = s.sw = one.stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = one.kernel / 2;
    s.DeriveOutput();
    return s;
  }

  void Make(const ConvShape& s) {
    s_ = s;
    x_ = Random<float>(s_.n * s_.ic * s_.InputPlane());
    w_ = Random<float>(s_.oc * s_.Taps());
    dy_ = Random<float>(s_.n * s_.oc * s_.OutputPlane());
  }
  void Make(const Case& one) { Make(ShapeOf(one)); }
  void MakePositive(const PositiveCase& one) {
    ConvShape s = ShapeOf({one.kernel, 1, one.ic, one.oc, one.size, 0, 0, 0});
    s.groups = one.groups;
    Make(s);
    for (Floats* values : {&x_, &w_, &dy_}) {
      for (float& value : *values) value = (value + 1) / 2;
    }
  }

  // y, dx and dw are at most `times` as far off as PyTorch's.
  void Expect(const Case& one, double times, const Floats& y, const Floats& dx, const Floats& dw) {
    const Sums sums(s_, x_, w_, dy_);
    EXPECT_LE(ErrorOf(y, [&](int64_t at) { return sums.Forward(at); }), times * one.forward);
    EXPECT_LE(ErrorOf(dx, [&](int64_t at) { return sums.Data(at); }), times * one.data);
    EXPECT_LE(ErrorOf(dw, [&](int64_t at) { return sums.Weights(at); }), times * one.weights);
  }

  void CheckBlocked(const Case& one, const ConvPasses<float>& passes, double times) {
    SCOPED_TRACE(testing::Message() << passes.name << " " << one.kernel << "x" << one.kernel << "/"
                                    << one.stride << " " << one.ic << "->" << one.oc);
    Make(one);
    const Results got = Blocked(passes);
    Expect(one, times, got.y, got.dx, got.dw);
  }

  struct Results {
    Floats y, dx, dw;
  };
  void ExpectPositive(const PositiveCase& one, const Results& got) {
    SCOPED_TRACE(testing::Message() << one.kernel << "x" << one.kernel << " " << one.ic << "->"
                                    << one.oc << " of " << one.groups << " groups");
    const double images = kPositiveImages * 0x1p-24;
    const Case errors = {0, 0, 0, 0, 0, images, images, one.weights * 0x1p-24};
    Expect(errors, 4, got.y, got.dx, got.dw);
  }

  Results Blocked(const ConvPasses<float>& passes) {
    Buffer<float> x(x_.size()), y(dy_.size()), dy(dy_.size()), dx(x_.size()), w(w_.size());
    Buffer<float> dw(w_.size());
    ToBlocks(x_, s_.n, x);
    ToBlocks(dy_, s_.n, dy);
    std::copy(w_.begin(), w_.end(), w.data());
    Buffer<char> scratch(std::max({passes.forward_scratch_bytes(s_, {}, 3),
                                   passes.backward_data_scratch_bytes(s_, {}, 3),
                                   passes.backward_weights_scratch_bytes(s_, {}, 3)}));
    passes.forward(three_, s_, {}, {.x = x.data(), .w = w.data(), .y = y.data()}, 3,
                   scratch.data());
    const ConvGradient<float> gradient{.dy = dy.data()};
    passes.backward_data(three_, s_, {}, gradient, w.data(), dx.data(), 3, scratch.data());
    passes.backward_weights(three_, s_, {}, gradient, x.data(), dw.data(), nullptr, 3,
                            scratch.data());
    return {FromBlocks(y, s_.n), FromBlocks(dx, s_.n), Floats(dw.data(), dw.data() + dw.size())};
  }

  Results Plain() {
    Results out{Floats(dy_.size()), Floats(x_.size()), Floats(w_.size())};
    Buffer<char> scratch(ConvPlainWeightsScratchBytes<float>(s_, 3));
    ConvPlainForward<float>(three_, s_, x_.data(), w_.data(), nullptr, Activation::kNone,
                            out.y.data(), 3, scratch.data());
    ConvPlainBackwardData<float>(three_, s_, dy_.data(), w_.data(), out.dx.data(), 3,
                                 scratch.data());
    ConvPlainBackwardWeights<float>(three_, s_, dy_.data(), x_.data(), out.dw.data(), nullptr, 3,
                                    scratch.data());
    return out;
  }

  // By kernels that take channels-last images.
  template <typename Forward, typename Weights>
  Results DirectChannelsLast() {
    const auto x = Turned(x_.data(), s_.ic, s_.InputPlane());
    const auto dy = Turned(dy_.data(), s_.oc, s_.OutputPlane());
    const auto image = [&](ImagePass pass, Buffer<float>& from, int64_t out, int64_t plane) {
      const Forward conv(s_, pass, false, 3);
      Buffer<float> result(s_.n * out * plane);
      Buffer<char> scratch(static_cast<int64_t>(conv.scratch_bytes()));
      conv.Run(three_, {from.data(), w_.data(), result.data(), {}}, scratch.data());
      const auto plain = Turned(result.data(), plane, out);
      return Floats(plain->data(), plain->data() + plain->size());
    };
    Results out{image(ImagePass::kForward, *x, s_.oc, s_.OutputPlane()),
                image(ImagePass::kBackwardData, *dy, s_.ic, s_.InputPlane()), Floats(w_.size())};
    const Weights weights(s_, 3);
    Buffer<char> scratch(static_cast<int64_t>(weights.scratch_bytes()));
    weights.Run(three_, x->data(), dy->data(), out.dw.data(), scratch.data());
    return out;
  }

  // [n][c][plane] as [n][plane][c], or back with c and plane exchanged.
  std::unique_ptr<Buffer<float>> Turned(const float* from, int64_t c, int64_t plane) {
    auto out = std::make_unique<Buffer<float>>(s_.n * c * plane);
    ToChannelsLast(three_, s_.n, c, plane, sizeof(float), from, out->data(), 3);
    return out;
  }

  // What a pass makes of channels-last images, plain.
  Floats Image(ImagePass pass, WinogradTiling tiling, Buffer<float>& image, int64_t out,
               int64_t plane) {
    const WinogradChannelsLast conv(s_, pass, {.tiling = tiling}, 3);
    Buffer<float> w(w_.size()), result(s_.n * out * plane);
    Buffer<char> scratch(conv.scratch_bytes());
    std::copy(w_.begin(), w_.end(), w.data());
    conv.Run(three_, {image.data(), w.data(), result.data(), {}}, scratch.data());
    const auto plain = Turned(result.data(), plane, out);
    return {plain->data(), plain->data() + plain->size()};
  }

  void CheckChannelsLast(const Case& one, WinogradTiling tiling, double times) {
    SCOPED_TRACE(testing::Message()
                 << one.kernel << "x" << one.kernel << " " << one.ic << "->" << one.oc
                 << (tiling == WinogradTiling::kSmall ? " small tiles" : ""));
    Make(one);
    const auto x = Turned(x_.data(), s_.ic, s_.InputPlane());
    const auto dy = Turned(dy_.data(), s_.oc, s_.OutputPlane());
    const WinogradChannelsLastWeights weights(s_, tiling, 3);
    Buffer<char> scratch(weights.scratch_bytes());
    Buffer<float> dw(w_.size());
    weights.Run(three_, x->data(), dy->data(), dw.data(), scratch.data());
    Expect(one, times, Image(ImagePass::kForward, tiling, *x, s_.oc, s_.OutputPlane()),
           Image(ImagePass::kBackwardData, tiling, *dy, s_.ic, s_.InputPlane()),
           Floats(dw.data(), dw.data() + dw.size()));
  }

  ConvShape s_;
  Floats x_, w_, dy_;
};

TEST_P(ConvAccuracy, WinogradIsWithinEightTimesPyTorch) {
  int taken = 0;
  for (const Case& one : kCases) {
    if (!WinogradIsAccurate(ShapeOf(one))) continue;
    CheckBlocked(one, WinogradConvPasses(), 8);
    ++taken;
  }
  EXPECT_GE(taken, 8);
}

TEST_P(ConvAccuracy, WinogradOfChannelsLastImagesIsWithinEightTimesPyTorch) {
  int taken = 0;
  for (const Case& one : kCases) {
    if (!WinogradTakesChannelsLast(ShapeOf(one))) continue;
    CheckChannelsLast(one, WinogradTiling::kLarge, 8);
    if (WinogradHasSmallTiles(ShapeOf(one))) CheckChannelsLast(one, WinogradTiling::kSmall, 8);
    ++taken;
  }
  EXPECT_GE(taken, 8);
}

TEST_P(ConvAccuracy, DirectConvolutionIsWithinFourTimesPyTorch) {
  for (const Case& one : kCases) CheckBlocked(one, DirectConvPasses<float>(), 4);
}

TEST_P(ConvAccuracy, PlainConvolutionIsWithinFourTimesPyTorch) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(testing::Message() << one.kernel << "x" << one.kernel << "/" << one.stride << " "
                                    << one.ic << "->" << one.oc);
    Make(one);
    const Results got = Plain();
    Expect(one, 4, got.y, got.dx, got.dw);
  }
}

TEST_P(ConvAccuracy, PositiveSumsAreWithinFourTimesPyTorch) {
  for (const PositiveCase& one : kPositive) {
    MakePositive(one);
    {
      SCOPED_TRACE("batch-blocked");
      ExpectPositive(one, Blocked(DirectConvPasses<float>()));
    }
    {
      SCOPED_TRACE("plain");
      ExpectPositive(one, Plain());
    }
    SCOPED_TRACE("channels-last");
    if (IsDepthwise(s_)) {
      using Weights = DepthwiseChannelsLastWeights<float>;
      ExpectPositive(one, DirectChannelsLast<DepthwiseChannelsLast<float>, Weights>());
    } else if (s_.groups == 1) {
      using Weights = ConvChannelsLastWeights<float>;
      ExpectPositive(one, DirectChannelsLast<ConvChannelsLast<float>, Weights>());
    } else {
      using Weights = GroupedChannelsLastWeights<float>;
      ExpectPositive(one, DirectChannelsLast<GroupedChannelsLast<float>, Weights>());
    }
  }
}

// What runs by default: Winograd nowhere but where it is accurate.
TEST(WinogradPays, OnlyWhereItIsAccurate) {
  for (int64_t kernel = 3; kernel <= 7; ++kernel) {
    for (int64_t ic : {1, 4, 8, 15, 16, 512}) {
      for (int64_t oc : {1, 15, 16, 512}) {
        ConvShape s;
        s.n = 16, s.ic = ic, s.oc = oc, s.ih = s.iw = 56, s.kh = s.kw = kernel;
        s.DeriveOutput();
        EXPECT_TRUE(WinogradIsAccurate(s) || !WinogradPays(s)) << kernel << " " << ic << " " << oc;
        EXPECT_EQ(WinogradIsAccurate(s), kernel <= 4 || std::min(ic, oc) >= 16);
      }
    }
  }
}

// The widest vectors only: others sum in the same order.
INSTANTIATE_TEST_SUITE_P(Targets, ConvAccuracy, testing::Values(KernelTargets().back()),
                         [](const auto& info) { return hwy::TargetName(info.param); });

}  // namespace
}  // namespace hr::cpu
