#include "backends/cpu/kernels/bfloat16_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/unit/cpu/bfloat16_fixture.h"

namespace hr::cpu {
namespace {

// A result of float32, and of bfloat16, over the sum of the magnitudes of its terms.
constexpr double kSumError = 2e-6, kNarrowError = 0x1p-8;

class Bfloat16ConvTest : public Bfloat16Test {
 protected:
  using Bits = std::vector<uint16_t>;

  // Kernels, strides, dilations and pads of all kinds, of which pads may be larger than kernels.
  ConvShape DrawShape() {
    ConvShape s;
    const int64_t axes = Between(1, 3), most = axes == 3 ? 5 : 14;
    s.n = Between(0, 9) == 0 ? 0 : Between(1, 3);
    s.groups = Coin() ? 1 : Between(1, 3);
    s.ic = s.groups * Between(1, Coin() ? 5 : 70), s.oc = s.groups * Between(1, 70);
    const auto axis = [&](int64_t& in, int64_t& k, int64_t& stride, int64_t& dilation,
                          int64_t& before, int64_t& after) {
      in = Between(1, most), k = Between(1, 4), stride = Between(1, 3);
      dilation = Coin() ? 1 : Between(1, 3);
      before = Coin() ? 0 : Between(0, 3), after = Coin() ? 0 : Between(0, 3);
      in = std::max(in, (k - 1) * dilation + 1 - before - after);
    };
    if (axes == 3) axis(s.id, s.kd, s.sd, s.dd, s.pad_front, s.pad_back);
    if (axes >= 2) axis(s.ih, s.kh, s.sh, s.dh, s.pad_top, s.pad_bottom);
    axis(s.iw, s.kw, s.sw, s.dw, s.pad_left, s.pad_right);
    if (Between(0, 4) == 0) Pointwise(s);
    s.DeriveOutput();
    return s;
  }
  static void Pointwise(ConvShape& s) {
    s.kd = s.kh = s.kw = 1;
    s.pad_front = s.pad_back = s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = 0;
    if (s.n % 2 == 0) s.sd = s.sh = s.sw = 1;
  }

  // Where element (n, c, p) of an image with `channels` and `plane` pixels lies.
  static size_t At(bool last, int64_t channels, int64_t plane, int64_t n, int64_t c, int64_t p) {
    return static_cast<size_t>(last ? (n * plane + p) * channels + c
                                    : (n * channels + c) * plane + p);
  }

  struct Sum {
    double value = 0, magnitude = 0;
    void Add(uint16_t a, uint16_t b) {
      const double term = double{Bfloat16ToFloat(a)} * double{Bfloat16ToFloat(b)};
      value += term, magnitude += std::abs(term);
    }
  };

  // Calls visit(n, oc, pixel of y, ic, pixel of x, index of w) for each term.
  template <typename Visit>
  static void ForTerms(const ConvShape& s, const Visit& visit) {
    for (int64_t n = 0; n < s.n; ++n) {
      for (int64_t oc = 0; oc < s.oc; ++oc) {
        for (int64_t p = 0; p < s.OutputPlane(); ++p) {
          for (int64_t t = 0; t < s.Taps(); ++t) {
            const int64_t k = t % s.KernelSize();
            const int64_t d = p / (s.oh * s.ow) * s.sd + k / (s.kh * s.kw) * s.dd - s.pad_front;
            const int64_t h = p / s.ow % s.oh * s.sh + k / s.kw % s.kh * s.dh - s.pad_top;
            const int64_t w = p % s.ow * s.sw + k % s.kw * s.dw - s.pad_left;
            if (d < 0 || d >= s.id || h < 0 || h >= s.ih || w < 0 || w >= s.iw) continue;
            const int64_t ic = oc / s.GroupOut() * s.GroupIn() + t / s.KernelSize();
            visit(n, oc, p, ic, (d * s.ih + h) * s.iw + w, oc * s.Taps() + t);
          }
        }
      }
    }
  }

  static void ExpectNear(const std::vector<Sum>& want, const std::vector<float>& got, bool narrow) {
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double bound = (narrow ? std::abs(want[i].value) * kNarrowError : 0) +
                           kSumError * (want[i].magnitude + 1);
      ASSERT_NEAR(want[i].value, got[i], bound) << "at " << i << " of " << got.size();
    }
  }
  static std::string Describe(const ConvShape& s) {
    std::string text;
    for (const int64_t i : {s.n, s.ic, s.oc, s.groups, s.id, s.ih, s.iw, s.kd, s.kh, s.kw, s.sd,
                            s.sh, s.sw, s.dd, s.dh, s.dw, s.pad_front, s.pad_top, s.pad_left}) {
      text += std::to_string(i) + " ";
    }
    return text;
  }

  // Memory that holds what would be found out if it were taken for a number.
  static std::vector<std::byte> Scratch(size_t bytes) {
    return std::vector<std::byte>(bytes + 64, std::byte{0xff});
  }
  static void* Aligned(std::vector<std::byte>& memory) {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  }
  // Numbers as results are stored.
  static std::vector<float> Read(const std::vector<std::byte>& memory, bool narrow) {
    std::vector<float> out(memory.size() / (narrow ? 2 : 4));
    for (size_t i = 0; i < out.size(); ++i) {
      uint16_t bits = 0;
      std::memcpy(narrow ? static_cast<void*>(&bits) : &out[i],
                  memory.data() + i * (narrow ? 2 : 4), narrow ? 2 : 4);
      if (narrow) out[i] = Bfloat16ToFloat(bits);
    }
    return out;
  }

  std::vector<float> RunImage(const ConvShape& s, ImagePass pass, Bfloat16ConvLayouts layouts,
                              const Bits& source, const Bits& w, size_t results,
                              Bfloat16Epilogue epilogue) {
    const int slices = Coin() ? 1 : 3;
    const bool packed = Coin();
    const Bfloat16Conv conv(*kernels_, s, pass, layouts, packed, slices);
    std::vector<std::byte> weights = Scratch(conv.packed_bytes());
    std::vector<std::byte> packing = Scratch(conv.pack_scratch_bytes());
    std::vector<std::byte> scratch = Scratch(conv.scratch_bytes());
    auto* const to = static_cast<uint16_t*>(Aligned(weights));
    if (packed) conv.Pack(three_, w.data(), to, Aligned(packing));
    std::vector<std::byte> result(results * (epilogue.narrow ? 2 : 4), std::byte{0xff});
    conv.Run(three_, source.data(), packed ? to : w.data(), result.data(), epilogue,
             Aligned(scratch));
    return Read(result, epilogue.narrow);
  }
};

TEST_P(Bfloat16ConvTest, Forward) {
  for (int i = 0; i < 150; ++i) {
    const ConvShape s = DrawShape();
    SCOPED_TRACE(Describe(s));
    const Bfloat16ConvLayouts layouts{Coin(), Coin()};
    const Bits x = Numbers(s.n * s.ic * s.InputPlane()), w = Numbers(s.oc * s.Taps());
    std::vector<Sum> want(static_cast<size_t>(s.n * s.oc * s.OutputPlane()));
    ForTerms(s, [&](int64_t n, int64_t oc, int64_t p, int64_t ic, int64_t q, int64_t t) {
      want[At(layouts.result, s.oc, s.OutputPlane(), n, oc, p)].Add(
          x[At(layouts.source, s.ic, s.InputPlane(), n, ic, q)], w[static_cast<size_t>(t)]);
    });
    std::vector<float> bias, residual(want.size());
    for (int64_t c = 0; c < s.oc; ++c) bias.push_back(Number());
    for (float& r : residual) r = Bfloat16ToFloat(FloatToBfloat16(Number()));
    Bits narrow;
    for (const float r : residual) narrow.push_back(FloatToBfloat16(r));
    Bfloat16Epilogue e{.bias = bias.data(), .bias_column = 1, .narrow = Coin()};
    const bool added = layouts.result && Coin();
    e.narrow_residual = Coin();
    if (added && e.narrow_residual) e.residual = narrow.data();
    if (added && !e.narrow_residual) e.residual = residual.data();
    if (Coin()) e.activation = Activation::kRelu;
    for (int64_t n = 0; n < s.n; ++n) {
      for (int64_t c = 0; c < s.oc; ++c) {
        for (int64_t p = 0; p < s.OutputPlane(); ++p) {
          const size_t at = At(layouts.result, s.oc, s.OutputPlane(), n, c, p);
          want[at].value += bias[static_cast<size_t>(c)] + (added ? residual[at] : 0);
          if (e.activation == Activation::kRelu) want[at].value = std::max(0., want[at].value);
        }
      }
    }
    ExpectNear(want, RunImage(s, ImagePass::kForward, layouts, x, w, want.size(), e), e.narrow);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Bfloat16ConvTest, GradientOfTheImage) {
  for (int i = 0; i < 150; ++i) {
    const ConvShape s = DrawShape();
    SCOPED_TRACE(Describe(s));
    const Bfloat16ConvLayouts layouts{Coin(), Coin()};
    const Bits dy = Numbers(s.n * s.oc * s.OutputPlane()), w = Numbers(s.oc * s.Taps());
    std::vector<Sum> want(static_cast<size_t>(s.n * s.ic * s.InputPlane()));
    ForTerms(s, [&](int64_t n, int64_t oc, int64_t p, int64_t ic, int64_t q, int64_t t) {
      want[At(layouts.result, s.ic, s.InputPlane(), n, ic, q)].Add(
          dy[At(layouts.source, s.oc, s.OutputPlane(), n, oc, p)], w[static_cast<size_t>(t)]);
    });
    const Bfloat16Epilogue e{.narrow = Coin()};
    ExpectNear(want, RunImage(s, ImagePass::kBackwardData, layouts, dy, w, want.size(), e),
               e.narrow);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Bfloat16ConvTest, GradientOfTheWeights) {
  for (int i = 0; i < 150; ++i) {
    const ConvShape s = DrawShape();
    SCOPED_TRACE(Describe(s));
    const Bfloat16ConvLayouts layouts{Coin(), Coin()};
    const bool narrow = Coin();
    const Bits x = Numbers(s.n * s.ic * s.InputPlane()), dy = Numbers(s.n * s.oc * s.OutputPlane());
    std::vector<Sum> want(static_cast<size_t>(s.oc * s.Taps()));
    ForTerms(s, [&](int64_t n, int64_t oc, int64_t p, int64_t ic, int64_t q, int64_t t) {
      want[static_cast<size_t>(t)].Add(dy[At(layouts.result, s.oc, s.OutputPlane(), n, oc, p)],
                                       x[At(layouts.source, s.ic, s.InputPlane(), n, ic, q)]);
    });
    const Bfloat16ConvWeights conv(*kernels_, s, layouts, narrow, Coin() ? 1 : 3);
    std::vector<std::byte> scratch = Scratch(conv.scratch_bytes());
    std::vector<std::byte> dw(want.size() * (narrow ? 2 : 4), std::byte{0xff});
    conv.Run(three_, x.data(), dy.data(), dw.data(), Aligned(scratch));
    ExpectNear(want, Read(dw, narrow), narrow);
    if (HasFatalFailure()) return;
  }
}

// Plans keep one packing for all who name it alike.
TEST_P(Bfloat16ConvTest, PassesPackWeightsApart) {
  ConvShape s;
  s.ic = s.oc = 32, s.ih = s.iw = 4;
  s.DeriveOutput();
  const Bfloat16Conv forward(*kernels_, s, ImagePass::kForward, {}, true, 1);
  const Bfloat16Conv backward(*kernels_, s, ImagePass::kBackwardData, {}, true, 1);
  EXPECT_NE(forward.packed_format(), backward.packed_format());
}

// Images that are cut into bands, with several rows of a phase in each.
TEST_P(Bfloat16ConvTest, LargeImagesAreCut) {
  ConvShape s;
  s.ic = 34, s.oc = 20, s.ih = 131, s.iw = 83, s.kh = s.kw = 3, s.sh = 2, s.sw = 2;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  s.DeriveOutput();
  const Bits x = Numbers(s.ic * s.InputPlane()), w = Numbers(s.oc * s.Taps());
  std::vector<Sum> want(static_cast<size_t>(s.oc * s.OutputPlane()));
  ForTerms(s, [&](int64_t n, int64_t oc, int64_t p, int64_t ic, int64_t q, int64_t t) {
    want[At(true, s.oc, s.OutputPlane(), n, oc, p)].Add(
        x[At(false, s.ic, s.InputPlane(), n, ic, q)], w[static_cast<size_t>(t)]);
  });
  const Bfloat16ConvLayouts layouts{.source = false, .result = true};
  const FrameLimits limits{.bytes = kBfloat16FrameBytes, .places = 256};
  ASSERT_GT(ConvFrame(s, ImagePass::kForward, limits, 1).count(), 1);
  for (int i = 0; i < 4; ++i) {
    ExpectNear(want, RunImage(s, ImagePass::kForward, layouts, x, w, want.size(), {}), false);
  }
}

// Only the outputs whose windows have it.
TEST_P(Bfloat16ConvTest, NansStayInTheirWindows) {
  ConvShape s;
  s.ic = 3, s.oc = 17, s.ih = s.iw = 9, s.kh = s.kw = 3;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  s.DeriveOutput();
  for (const bool last : {false, true}) {
    for (int64_t pixel = 0; pixel < s.InputPlane(); ++pixel) {
      Bits x = Numbers(s.ic * s.InputPlane());
      x[At(last, s.ic, s.InputPlane(), 0, 1, pixel)] = 0x7fc0;
      const Bits w = Numbers(s.oc * s.Taps());
      const auto y = RunImage(s, ImagePass::kForward, {last, last}, x, w,
                              static_cast<size_t>(s.oc * s.OutputPlane()), {});
      for (int64_t p = 0; p < s.OutputPlane(); ++p) {
        const bool near = std::abs(p / 9 - pixel / 9) <= 1 && std::abs(p % 9 - pixel % 9) <= 1;
        for (int64_t c = 0; c < s.oc; ++c) {
          ASSERT_EQ(std::isnan(y[At(last, s.oc, s.OutputPlane(), 0, c, p)]), near) << p << pixel;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Units, Bfloat16ConvTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "with_the_unit" : "vectors"; });

}  // namespace
}  // namespace hr::cpu
