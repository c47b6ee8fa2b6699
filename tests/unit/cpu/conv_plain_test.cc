#include "backends/cpu/kernels/conv_plain.h"

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

class ConvPlain : public BlockedTest {
 protected:
  template <typename T>
  std::vector<T> RunAll(const Lease& threads, const ConvShape& s, int slices, Buffer<T>& x,
                        Buffer<T>& w, Buffer<T>* bias, bool relu, Buffer<T>& dy) {
    Buffer<T> y(dy.size()), dx(x.size()), dw(w.size()), db(s.oc);
    Buffer<T> scratch(static_cast<int64_t>(ConvPlainWeightsScratchBytes<T>(s, slices) / sizeof(T)));
    ConvPlainForward<T>(threads, s, x.data(), w.data(), bias != nullptr ? bias->data() : nullptr,
                        relu ? Activation::kRelu : Activation::kNone, y.data(), slices,
                        scratch.data());
    ConvPlainBackwardData<T>(threads, s, dy.data(), w.data(), dx.data(), slices, scratch.data());
    ConvPlainBackwardWeights<T>(threads, s, dy.data(), x.data(), dw.data(), db.data(), slices,
                                scratch.data());
    std::vector<T> all;
    for (Buffer<T>* b : {&y, &dx, &dw, &db})
      all.insert(all.end(), b->data(), b->data() + b->size());
    return all;
  }

  template <typename T>
  void Check(const ConvShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.ic * s.InputPlane()), w = RandomValues(s.oc * s.Taps());
    const Values dy = RandomValues(s.n * s.oc * s.OutputPlane());
    const Values bias = RandomInt(0, 1) == 0 ? RandomValues(s.oc) : Values();
    const bool relu = RandomInt(0, 1) == 0;
    const int slices = static_cast<int>(RandomInt(1, 5));
    Values expected = reference::Conv(s, x, w, bias);
    for (double& v : expected) v = relu ? std::max(v, 0.0) : v;
    for (const Values& more :
         {reference::ConvBackwardData(s, w, dy), reference::ConvBackwardWeights(s, x, dy),
          reference::ConvBackwardBias(s, dy)}) {
      expected.insert(expected.end(), more.begin(), more.end());
    }
    Buffer<T> bx(x.size()), bw(w.size()), bdy(dy.size()), bb(bias.size());
    Fill(bx, x);
    Fill(bw, w);
    Fill(bdy, dy);
    Fill(bb, bias);
    Buffer<T>* const pbias = bias.empty() ? nullptr : &bb;
    const auto parallel = RunAll<T>(three_, s, slices, bx, bw, pbias, relu, bdy);
    ExpectNear(parallel.data(), expected, 32);
    EXPECT_EQ(parallel, RunAll<T>(one_, s, slices, bx, bw, pbias, relu, bdy));
  }
};

TEST_P(ConvPlain, AgreesWithTheDefinition) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const ConvShape shape = RandomConv(Any(), 4);
    Check<float>(shape);
    if (!HasFatalFailure()) Check<double>(shape);
  }
}

// More pixels than a matrix of columns holds.
TEST_P(ConvPlain, CutsLargeImages) {
  ConvShape s;
  s.ic = 17, s.oc = 3, s.ih = 33, s.iw = 35, s.kh = s.kw = 5, s.pad_top = s.pad_left = 2;
  s.DeriveOutput();
  Check<float>(s);
}

TEST_P(ConvPlain, ReadsImagesInPlaceForOneTap) {
  ConvShape s;
  s.n = 2, s.ic = 6, s.oc = 9, s.ih = 21, s.iw = 19, s.groups = 3;
  s.DeriveOutput();
  Check<float>(s);
  s.pad_right = 2;
  s.DeriveOutput();
  Check<float>(s);
}

HR_KERNEL_TESTS(ConvPlain);

}  // namespace
}  // namespace hr::cpu
