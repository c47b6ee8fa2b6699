#include "backends/cpu/onednn/convolution.h"

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu::onednn {
namespace {

using reference::Values;

class OneDnnConvolution : public BlockedTest {
 protected:
  // Runs a pass on one and on three threads and compares what it writes.
  void CheckPass(const ConvShape& s, const ConvOptions& options, ConvMemory memory,
                 Buffer<float>* result, const Values& expected) {
    auto made = Convolution::Create(s, options);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const Convolution& convolution = **made;
    Buffer<char> scratch(static_cast<int64_t>(convolution.scratch_bytes()));
    Buffer<float> packed(static_cast<int64_t>(convolution.packed_bytes() / sizeof(float)));
    if (options.packed_weights) {
      ASSERT_TRUE(convolution.Pack(three_, memory.w, packed.data(), scratch.data()).ok());
      memory.w = packed.data();
    }
    std::vector<float> first;
    for (const Lease* lease : {&one_, static_cast<const Lease*>(&three_)}) {
      std::fill_n(result->data(), result->size(), 77.0f);
      Status status = convolution.Run(*lease, memory, scratch.data());
      ASSERT_TRUE(status.ok()) << status.ToString();
      ExpectNear(result->data(), expected, 32);
      std::vector<float> got(result->data(), result->data() + result->size());
      EXPECT_TRUE(first.empty() || first == got) << "threads change the result";
      first = std::move(got);
    }
  }

  void Check(const ConvShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.ic * s.InputPlane()), w = RandomValues(s.oc * s.Taps());
    const Values dy = RandomValues(s.n * s.oc * s.OutputPlane()), bias = RandomValues(s.oc);
    Buffer<float> bx(x.size()), bw(w.size()), by(dy.size()), bb(bias.size());
    Fill(bx, x), Fill(bw, w), Fill(bb, bias);
    Buffer<float> made_x(x.size()), made_w(w.size()), made_y(dy.size());
    ConvOptions options{.slices = static_cast<int>(RandomInt(1, 5))};
    for (bool packed : {false, true}) {
      options.packed_weights = packed;
      Fill(by, dy);
      options.pass = ConvPass::kBackwardData;
      CheckPass(s, options, {made_x.data(), bw.data(), by.data()}, &made_x,
                reference::ConvBackwardData(s, w, dy));
      options.pass = ConvPass::kForward;
      CheckPass(s, options, {bx.data(), bw.data(), made_y.data()}, &made_y,
                reference::Conv(s, x, w, {}));
      Values activated = reference::Conv(s, x, w, bias);
      for (double& v : activated) v = std::max(v, 0.0);
      ConvOptions fused = options;
      fused.bias = true, fused.activation = Activation::kRelu;
      CheckPass(s, fused, {bx.data(), bw.data(), made_y.data(), bb.data()}, &made_y, activated);
    }
    options.packed_weights = false;
    options.pass = ConvPass::kBackwardWeights;
    CheckPass(s, options, {bx.data(), made_w.data(), by.data()}, &made_w,
              reference::ConvBackwardWeights(s, x, dy));
  }

  static ConvShape Square(int64_t n, int64_t ic, int64_t size, int64_t oc, int64_t kernel,
                          int64_t groups = 1) {
    ConvShape s;
    s.n = n, s.ic = ic, s.oc = oc, s.groups = groups;
    s.ih = s.iw = size, s.kh = s.kw = kernel;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2;
    s.DeriveOutput();
    return s;
  }
};

TEST_P(OneDnnConvolution, AgreesWithTheDefinition) {
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round) Check(RandomConv(Any(), 4));
}

// Large enough to be cut: by images, by channels, by groups; whole blocks of channels and not.
TEST_P(OneDnnConvolution, CutsWork) {
  for (const ConvShape& s :
       {Square(1, 48, 20, 80, 3), Square(4, 20, 14, 50, 3), Square(3, 33, 15, 70, 1),
        Square(2, 40, 20, 40, 5, 40), Square(1, 64, 28, 64, 3, 4), Square(5, 3, 40, 24, 7)}) {
    if (!HasFatalFailure()) Check(s);
  }
}

// These run as images of one row; the last has two columns of results, so it cannot.
TEST_P(OneDnnConvolution, ImagesOfOneColumn) {
  for (const auto& [stride, dilation, pad_left] :
       {std::array{1, 1, 0}, {2, 1, 0}, {1, 2, 0}, {1, 1, 1}}) {
    ConvShape s = Square(2, 24, 1, 40, 1);
    s.ih = 30, s.kh = 5, s.sh = stride, s.dh = dilation;
    s.pad_top = 1, s.pad_bottom = 3, s.pad_left = pad_left;
    s.DeriveOutput();
    if (!HasFatalFailure()) Check(s);
  }
}

// PyTorch's rounding error in this one, rms over the result's, as tests/bench/accuracy measures it
// (PyTorch 2.15, two threads): sums are longer without AVX-512.
double ErrorOfPyTorch() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512f")) return 1.1e-6;
#endif
  return 2.3e-7;
}

// rms(error) / rms(result)
double ErrorOf(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w) {
  const Values exact =
      reference::Conv(s, Values(x.begin(), x.end()), Values(w.begin(), w.end()), {});
  Buffer<float> bx(x.size()), bw(w.size()), y(exact.size());
  std::copy(x.begin(), x.end(), bx.data());
  std::copy(w.begin(), w.end(), bw.data());
  const auto convolution = Convolution::Create(s, {.slices = 2}).value();
  Buffer<char> scratch(static_cast<int64_t>(convolution->scratch_bytes()));
  EXPECT_TRUE(convolution->Run(Lease(), {bx.data(), bw.data(), y.data()}, scratch.data()).ok());
  double errors = 0, squares = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = y[static_cast<int64_t>(i)] - exact[i];
    errors += error * error, squares += exact[i] * exact[i];
  }
  return std::sqrt(errors / squares);
}

TEST_P(OneDnnConvolution, ManyChannelsRoundLittle) {
  const ConvShape s = Square(1, 512, 7, 32, 3);
  const auto x = Random<float>(s.ic * s.InputPlane()), w = Random<float>(s.oc * s.Taps());
  EXPECT_LE(ErrorOf(s, x, w), 4 * ErrorOfPyTorch());
}

// Each step of a chain rounds the whole of such sums. PyTorch's error is 7.7e-8 with AVX-512.
TEST_P(OneDnnConvolution, ManyPositiveTermsRoundLittle) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "sums are longer without AVX-512";
#endif
  for (const ConvShape& s : {Square(1, 128, 14, 32, 3), Square(2, 640, 7, 32, 1)}) {
    auto x = Random<float>(s.n * s.ic * s.InputPlane()), w = Random<float>(s.oc * s.Taps());
    for (float& value : x) value = (value + 1) / 2;
    for (float& value : w) value = (value + 1) / 2;
    EXPECT_LE(ErrorOf(s, x, w), 4 * 7.7e-8) << s;
  }
}

TEST_P(OneDnnConvolution, GroupsThatFillNoVectorHaveTheirGradientsOfWeightsElsewhere) {
  ConvShape s = Square(8, 6, 64, 16, 5);
  s.groups = 2;
  EXPECT_FALSE(ConvPays(s, ConvPass::kBackwardWeights, false));
  EXPECT_TRUE(ConvPays(s, ConvPass::kForward, false));
  s.ic = 16;
  EXPECT_TRUE(ConvPays(s, ConvPass::kBackwardWeights, false));
}

INSTANTIATE_TEST_SUITE_P(OneDnn, OneDnnConvolution, testing::Values(HWY_STATIC_TARGET));

}  // namespace
}  // namespace hr::cpu::onednn
