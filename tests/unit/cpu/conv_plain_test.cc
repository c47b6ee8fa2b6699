#include "backends/cpu/kernels/conv_plain.h"

#include "tests/unit/cpu/conv_passes_testing.h"

namespace hr::cpu {
namespace {

class ConvPlain : public ConvPassesTest {
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
    return Joined({&y, &dx, &dw, &db});
  }

  template <typename T>
  void Check(const ConvShape& s) {
    CheckPasses<T>(s, true, [&](const Lease& threads, int slices, auto&... operands) {
      return RunAll<T>(threads, s, slices, operands...);
    });
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
