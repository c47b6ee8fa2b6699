#include "backends/cpu/kernels/conv_channels_last.h"

#include "backends/cpu/kernels/conv_few_channels.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "backends/cpu/kernels/grouped_channels_last.h"
#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

// [n][c][plane] as [n][plane][c], and back.
Values ChannelsLast(const Values& plain, int64_t n, int64_t c, int64_t plane) {
  Values out(plain.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < c; ++k) {
      for (int64_t p = 0; p < plane; ++p) {
        out[(i * plane + p) * c + k] = plain[(i * c + k) * plane + p];
      }
    }
  }
  return out;
}

class ConvChannelsLastTest : public BlockedTest {
 protected:
  // Which kernels run a convolution.
  enum class Kernels { kUsual, kGrouped };

  template <typename T>
  struct Tensors {
    Buffer<T>&x, &w, &dy;
    Buffer<T>*scale, *bias, *residual;  // may be null
    T low, high;

    ConvEpilogue<T> epilogue() const {
      const auto data = [](Buffer<T>* b) { return b != nullptr ? b->data() : nullptr; };
      return {data(scale), data(bias), data(residual), low, high};
    }
  };

  // y, dx and dw, one behind the other.
  template <typename T>
  std::vector<T> RunAll(const Lease& threads, const ConvShape& s, int slices, bool packed,
                        const Tensors<T>& in, Kernels kernels) {
    Buffer<T> y(in.dy.size()), dx(in.x.size()), dw(in.w.size());
    const bool grouped = kernels == Kernels::kGrouped;
    const auto run = [&](ImagePass pass, const ConvImageMemory<T>& memory) {
      if (grouped) {
        RunImage(GroupedChannelsLast<T>(s, pass, packed, slices), threads, packed, memory);
      } else if (IsDepthwise(s)) {
        RunImage(DepthwiseChannelsLast<T>(s, pass, packed, slices), threads, packed, memory);
      } else {
        RunImage(ConvChannelsLast<T>(s, pass, packed, slices), threads, packed, memory);
      }
    };
    run(ImagePass::kForward, {in.x.data(), in.w.data(), y.data(), in.epilogue()});
    run(ImagePass::kBackwardData, {in.dy.data(), in.w.data(), dx.data(), {}});
    const auto gradient = [&](const auto& conv) {
      Buffer<T> scratch(static_cast<int64_t>(conv.scratch_bytes() / sizeof(T)));
      conv.Run(threads, in.x.data(), in.dy.data(), dw.data(), scratch.data());
    };
    if (grouped) {
      gradient(GroupedChannelsLastWeights<T>(s, slices));
    } else if (IsDepthwise(s)) {
      gradient(DepthwiseChannelsLastWeights<T>(s, slices));
    } else {
      gradient(ConvChannelsLastWeights<T>(s, slices));
    }
    return Joined<T>({&y, &dx, &dw});
  }

  template <typename T, typename Conv>
  void RunImage(const Conv& conv, const Lease& threads, bool packed, ConvImageMemory<T> memory) {
    Buffer<T> scratch(static_cast<int64_t>(conv.scratch_bytes() / sizeof(T)));
    Buffer<T> weights(static_cast<int64_t>(conv.packed_bytes() / sizeof(T)));
    if (packed) {
      conv.Pack(threads, memory.weights, weights.data());
      memory.weights = weights.data();
    }
    conv.Run(threads, memory, scratch.data());
  }

  template <typename T>
  static std::vector<T> Joined(std::initializer_list<Buffer<T>*> buffers) {
    std::vector<T> all;
    for (Buffer<T>* b : buffers) all.insert(all.end(), b->data(), b->data() + b->size());
    return all;
  }

  // What is empty is left out.
  static Values Expected(const ConvShape& s, const Values& x, const Values& w, const Values& scale,
                         const Values& bias, const Values& residual, const Values& dy, double low,
                         double high) {
    Values y = reference::Conv(s, x, w, {});
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t c = i / static_cast<size_t>(s.OutputPlane()) % static_cast<size_t>(s.oc);
      if (!scale.empty()) y[i] *= scale[c];
      if (!bias.empty()) y[i] += bias[c];
      if (!residual.empty()) y[i] += residual[i];
      y[i] = std::min(std::max(y[i], low), high);
    }
    Values all = ChannelsLast(y, s.n, s.oc, s.OutputPlane());
    const Values dx =
        ChannelsLast(reference::ConvBackwardData(s, w, dy), s.n, s.ic, s.InputPlane());
    const Values dw = reference::ConvBackwardWeights(s, x, dy);
    all.insert(all.end(), dx.begin(), dx.end());
    all.insert(all.end(), dw.begin(), dw.end());
    return all;
  }

  template <typename T>
  void Check(const ConvShape& s, Kernels kernels = Kernels::kUsual, int64_t most_slices = 5) {
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.ic * s.InputPlane()), w = RandomValues(s.oc * s.Taps());
    const Values dy = RandomValues(s.n * s.oc * s.OutputPlane());
    const auto some = [&](int64_t count) {
      return RandomInt(0, 1) == 0 ? RandomValues(count) : Values();
    };
    const Values scale = some(s.oc), bias = some(s.oc), residual = some(dy.size());
    const double low = RandomInt(0, 1) == 0 ? 0 : -std::numeric_limits<double>::infinity();
    const double high = RandomInt(0, 1) == 0 ? 0.5 : std::numeric_limits<double>::infinity();
    const int slices = static_cast<int>(RandomInt(1, most_slices));
    const bool packed = RandomInt(0, 1) == 0;
    Buffer<T> bx(x.size()), bw(w.size()), bdy(dy.size());
    Buffer<T> bs(scale.size()), bb(bias.size()), br(residual.size());
    Fill(bx, ChannelsLast(x, s.n, s.ic, s.InputPlane()));
    Fill(bw, w);
    Fill(bdy, ChannelsLast(dy, s.n, s.oc, s.OutputPlane()));
    Fill(bs, scale);
    Fill(bb, bias);
    Fill(br, ChannelsLast(residual, residual.empty() ? 0 : s.n, s.oc, s.OutputPlane()));
    const auto given = [](Buffer<T>& b) { return b.size() == 0 ? nullptr : &b; };
    const Tensors<T> in{
        bx, bw, bdy, given(bs), given(bb), given(br), static_cast<T>(low), static_cast<T>(high)};
    const auto parallel = RunAll<T>(three_, s, slices, packed, in, kernels);
    ExpectNear(parallel.data(), Expected(s, x, w, scale, bias, residual, dy, low, high), 32);
    EXPECT_EQ(parallel, RunAll<T>(one_, s, slices, packed, in, kernels));
  }

  // More channels than a block sums over and than a panel has lanes, more pixels than a block has.
  ConvShape Large(int64_t n, int64_t ic, int64_t oc, int64_t kernel, int64_t size) {
    ConvShape s;
    s.n = n, s.ic = ic, s.oc = oc, s.kh = s.kw = kernel, s.ih = s.iw = size;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2;
    s.DeriveOutput();
    return s;
  }
};

TEST_P(ConvChannelsLastTest, AgreesWithTheDefinition) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const ConvShape shape = RandomConv(Any(), 4);
    Check<float>(shape);
    if (!HasFatalFailure()) Check<double>(shape);
  }
}

TEST_P(ConvChannelsLastTest, CutsChannelsAndPixels) {
  Check<float>(Large(1, 100, 70, 3, 5));
  Check<double>(Large(3, 70, 37, 3, 4));
  Check<float>(Large(2, 17, 33, 5, 19));
  Check<float>(Large(2, 16, 3, 3, 25));
}

// So many pixels that all of the result of some is written before that of the next ones.
TEST_P(ConvChannelsLastTest, WritesResultsInOrder) {
  Check<float>(Large(2, 580, 180, 1, 20), Kernels::kUsual, 2);
  Check<float>(Large(1, 24, 520, 3, 20), Kernels::kUsual, 2);
  Check<double>(Large(1, 60, 260, 1, 20), Kernels::kUsual, 2);
}

// Of images so small that much of what their pixels would read is padding.
TEST_P(ConvChannelsLastTest, LeavesOutPadding) {
  Check<float>(Large(9, 34, 70, 3, 2));
  Check<double>(Large(8, 80, 33, 3, 4));
  Check<float>(Large(16, 24, 40, 5, 3));
  Check<float>(Large(300, 16, 20, 3, 1));
  ConvShape s = Large(8, 40, 48, 3, 5);
  s.groups = 2, s.sh = s.sw = 2;
  s.DeriveOutput();
  Check<float>(s);
  s = Large(9, 24, 17, 4, 3);
  s.pad_top = 3, s.pad_left = 0, s.dh = 2;
  s.DeriveOutput();
  Check<float>(s);
}

TEST_P(ConvChannelsLastTest, ReadsImagesInPlaceForOneTap) {
  Check<float>(Large(2, 40, 70, 1, 9));
  Check<float>(Large(2, 256, 33, 1, 6));  // rows that share lines of the cache are copied
}

TEST_P(ConvChannelsLastTest, PhasesOfStrides) {
  for (const int64_t kernel : {1, 3}) {
    ConvShape s = Large(2, 34, 40, kernel, 8);
    s.sh = s.sw = 2;
    s.DeriveOutput();
    Check<float>(s);
    s.sw = 3;
    s.DeriveOutput();
    Check<float>(s);
  }
}

// All that the taps read is padding, so that no gradient comes to the image: it is 0.
TEST_P(ConvChannelsLastTest, TapsThatMeetOnlyPadding) {
  ConvShape s = Large(2, 20, 20, 2, 1);
  s.pad_bottom = s.pad_right = 1, s.dh = s.dw = 2, s.sh = s.sw = 3;
  s.DeriveOutput();
  ASSERT_EQ(s.OutputPlane(), 1);
  Check<float>(s);
  s.groups = s.ic;
  Check<float>(s);
}

TEST_P(ConvChannelsLastTest, Depthwise) {
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round) {
    ConvShape s = RandomConv(Any(), 3);
    s.ic = s.oc = s.groups = RandomInt(2, 40);
    Check<float>(s);
    if (!HasFatalFailure()) Check<double>(s);
  }
}

// Groups of few channels share vectors, those of many do not; what they sum over may fill one
// vector, two, or more.
TEST_P(ConvChannelsLastTest, Groups) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    ConvShape s = RandomConv(Any(), 3);
    s.groups = RandomInt(1, 9);
    s.ic = s.groups * RandomInt(1, round % 3 == 0 ? 24 : 5);
    s.oc = s.groups * RandomInt(1, round % 4 == 0 ? 40 : 6);
    Check<float>(s, Kernels::kGrouped);
    if (!HasFatalFailure()) Check<double>(s, Kernels::kGrouped);
  }
}

// Rows that are prepared in several parts, and tiles of all sizes.
TEST_P(ConvChannelsLastTest, GroupsOfLargeImages) {
  for (const int64_t groups : {2, 16, 32}) {
    ConvShape s = Large(1, 64, 32, 3, 71);
    s.groups = groups;
    Check<float>(s, Kernels::kGrouped);
    s.iw = 30, s.sh = 2, s.sw = 3;
    s.DeriveOutput();
    Check<double>(s, Kernels::kGrouped);
  }
}

// Other groups' channels are not touched, also where they share vectors.
TEST_P(ConvChannelsLastTest, GroupsKeepNaNToThemselves) {
  for (const int64_t each : {1, 3, 20}) {
    constexpr int64_t kGroups = 5, kSize = 7, kAt = 2;
    ConvShape s = Large(1, kGroups * each, kGroups * each, 3, kSize);
    s.groups = kGroups;
    Buffer<float> x(s.ic * kSize * kSize, 1), w(s.oc * s.Taps(), 1), y(x.size()), dw(w.size());
    for (int64_t p = 0; p < kSize * kSize; ++p) {
      x.data()[p * s.ic + kAt * each] = p % 2 == 0 ? NAN : INFINITY;
    }
    RunImage(GroupedChannelsLast<float>(s, ImagePass::kForward, true, 2), one_, true,
             ConvImageMemory<float>{x.data(), w.data(), y.data(), {}});
    for (int64_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(std::isnan(y[i]), i % s.oc / each == kAt) << each << " " << i;
    }
    const GroupedChannelsLastWeights<float> weights(s, 2);
    Buffer<float> scratch(static_cast<int64_t>(weights.scratch_bytes() / sizeof(float)));
    weights.Run(one_, x.data(), y.data(), dw.data(), scratch.data());
    for (int64_t i = 0; i < dw.size(); ++i) {
      EXPECT_EQ(std::isnan(dw[i]), i / s.Taps() / each == kAt) << each << " " << i;
    }
  }
}

TEST_P(ConvChannelsLastTest, GroupsWithoutImages) {
  ConvShape s = Large(1, 24, 24, 3, 5);
  s.groups = 6, s.n = 0;
  Check<float>(s, Kernels::kGrouped);
}

TEST_P(ConvChannelsLastTest, BoundsKeepNaN) {
  constexpr int64_t kChannels = 21, kPixels = 6, kAt = 2;
  ConvShape s = Large(1, kChannels, kChannels, 1, 1);
  s.iw = kPixels;
  s.DeriveOutput();
  Buffer<float> x(kPixels * kChannels, 1), w(kChannels * kChannels, 1), y(kPixels * kChannels);
  std::fill_n(x.data() + kAt * kChannels, kChannels, NAN);
  const ConvImageMemory<float> memory{x.data(), w.data(), y.data(), {.low = 0, .high = 0.5f}};
  for (const int64_t groups : {int64_t{1}, kChannels}) {
    s.groups = groups;
    if (groups == 1) {
      RunImage(ConvChannelsLast<float>(s, ImagePass::kForward, true, 1), one_, true, memory);
    } else {
      RunImage(DepthwiseChannelsLast<float>(s, ImagePass::kForward, true, 1), one_, true, memory);
    }
    for (int64_t i = 0; i < y.size(); ++i) {
      const bool is_nan = i / kChannels == kAt;
      EXPECT_TRUE(is_nan ? std::isnan(y[i]) : y[i] == 0.5f) << groups << " " << i << " " << y[i];
    }
  }
}

// Sums have the same order, so every bit is the same.
TEST_P(ConvChannelsLastTest, FewChannelsOfPlainImages) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    ConvShape s = RandomConv(Any(), 3);
    s.groups = 1, s.ic = RandomInt(1, 8), s.oc = RandomInt(1, 70);
    s.iw += RandomInt(0, 30);
    s.DeriveOutput();
    SCOPED_TRACE(testing::Message() << s);
    const Values x = RandomValues(s.n * s.ic * s.InputPlane());
    const int64_t count = s.n * s.oc * s.OutputPlane();
    Buffer<float> plain(x.size()), bx(x.size()), bw(s.oc * s.Taps()), bias(s.oc), residual(count);
    Buffer<float> want(count), got(count), same(count);
    Fill(plain, x);
    Fill(bx, ChannelsLast(x, s.n, s.ic, s.InputPlane()));
    Fill(bw, RandomValues(s.oc * s.Taps()));
    Fill(bias, RandomValues(s.oc));
    Fill(residual, RandomValues(count));
    const bool packed = RandomInt(0, 1) == 0, adds = RandomInt(0, 1) == 0;
    ConvImageMemory<float> memory{bx.data(), bw.data(), want.data(), {.low = -0.5f}};
    if (adds) memory.epilogue.bias = bias.data(), memory.epilogue.residual = residual.data();
    RunImage(ConvChannelsLast<float>(s, ImagePass::kForward, packed, 3), three_, packed, memory);
    memory.result = got.data();
    RunImage(ConvFewChannels<float>(s, true, packed, 3), three_, packed, memory);
    memory.image = plain.data(), memory.result = same.data();
    RunImage(ConvFewChannels<float>(s, false, packed, 2), one_, packed, memory);
    EXPECT_EQ(Joined<float>({&got}), Joined<float>({&want}));
    EXPECT_EQ(Joined<float>({&same}), Joined<float>({&want}));
  }
}

HR_KERNEL_TESTS(ConvChannelsLastTest);

}  // namespace
}  // namespace hr::cpu
