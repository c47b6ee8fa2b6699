#include "backends/cpu/kernels/conv_batch_blocked.h"

#include <cmath>
#include <span>

#include "backends/cpu/kernels/winograd.h"
#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

class ConvBatchBlocked : public BlockedTest {
 protected:
  ConvFusion RandomFusion(const ConvShape& s) {
    ConvFusion f;
    f.relu = RandomInt(0, 1) == 0;
    if (RandomInt(0, 1) == 0) {
      f.pool_h = std::min<int64_t>(s.oh, RandomInt(1, 4));
      f.pool_w = std::min<int64_t>(s.ow, RandomInt(1, 16));
    }
    return f;
  }

  // `tolerance` is of the passes' rounding, in units of the direct one's.
  template <typename T>
  void Check(const ConvShape& s, const ConvFusion& fusion,
             const ConvPasses<T>& passes = DirectConvPasses<T>(), double tolerance = 1);
  void ExpectSameOnAnyNumberOfThreads(const ConvPasses<float>& passes);
};

PoolShape PoolOf(const ConvShape& s, const ConvFusion& fusion) {
  PoolShape p;
  p.n = s.n, p.c = s.oc, p.ih = s.oh, p.iw = s.ow;
  p.kh = p.sh = fusion.pool_h, p.kw = p.sw = fusion.pool_w;
  p.DeriveOutput();
  return p;
}

// What the fused passes should give, made of separate definitions.
struct Expected {
  Values y, dx, dw, db;

  Expected(const ConvShape& s, const ConvFusion& fusion, const Values& x, const Values& w,
           const Values& bias, const Values& dy) {
    const Values convolved = reference::Conv(s, x, w, bias);
    Values active = convolved;
    if (fusion.relu)
      for (auto& v : active) v = std::max(v, 0.0);
    std::vector<int64_t> chosen;
    y = reference::MaxPool(PoolOf(s, fusion), active, &chosen);
    Values back = reference::MaxPoolBackward(PoolOf(s, fusion), chosen, dy);
    if (fusion.relu) {
      for (size_t i = 0; i < back.size(); ++i) back[i] = convolved[i] > 0 ? back[i] : 0;
    }
    dx = reference::ConvBackwardData(s, w, back);
    dw = reference::ConvBackwardWeights(s, x, back);
    db = reference::ConvBackwardBias(s, back);
  }
};

template <typename T>
void ConvBatchBlocked::Check(const ConvShape& s, const ConvFusion& fusion,
                             const ConvPasses<T>& passes, double tolerance) {
  SCOPED_TRACE(testing::Message() << passes.name << " " << s << " relu " << fusion.relu << " pool "
                                  << fusion.pool_h << "x" << fusion.pool_w);
  const int64_t in = s.ic * s.ih * s.iw;
  const int64_t out = s.oc * fusion.OutputRows(s) * fusion.OutputColumns(s);
  const Values x = RandomValues(s.n * in), w = RandomValues(s.oc * s.Taps()),
               dy = RandomValues(s.n * out);
  const Values bias = RandomInt(0, 1) == 0 ? RandomValues(s.oc) : Values();
  const Expected expected(s, fusion, x, w, bias, dy);

  Buffer<T> bx(BatchBlockedElements<T>(s.n, in)), bdx(bx.size());
  Buffer<T> by(BatchBlockedElements<T>(s.n, out)), bdy(by.size());
  Buffer<uint8_t> argmax(by.size());
  Buffer<T> bw(s.oc * s.Taps()), bdw(bw.size()), bb(bias.size()), bdb(s.oc);
  FillBlocked(bx, s.n, in, x);
  FillBlocked(bdy, s.n, out, dy);
  Fill(bw, w);
  Fill(bb, bias);
  const int slices = RandomInt(1, 4);
  const Lease& threads = RandomInt(0, 1) == 0 ? one_ : three_;

  Buffer<T> forward_scratch(passes.forward_scratch_bytes(s, fusion, slices) / sizeof(T));
  passes.forward(
      threads, s, fusion,
      {bx.data(), bw.data(), bias.empty() ? nullptr : bb.data(), by.data(), argmax.data()}, slices,
      forward_scratch.data());
  ExpectBlocked(by, s.n, out, expected.y, 8 * tolerance);

  // Where two elements of a window are equal, or one is 0, rounding decides what gets the gradient.
  // The direct sums of these values are exact.
  const std::vector<uint8_t> rounded(argmax.begin(), argmax.begin() + argmax.size());
  const auto& direct = DirectConvPasses<T>();
  direct.forward(
      threads, s, fusion,
      {bx.data(), bw.data(), bias.empty() ? nullptr : bb.data(), by.data(), argmax.data()}, slices,
      nullptr);
  int64_t differ = 0;
  for (int64_t i = 0; i < argmax.size(); ++i) differ += argmax[i] != rounded[i];
  EXPECT_LE(differ, 2 + argmax.size() / 100);

  const ConvGradient<T> gradient{bdy.data(), argmax.data(), by.data()};
  Buffer<T> data_scratch(passes.backward_data_scratch_bytes(s, fusion, slices) / sizeof(T));
  passes.backward_data(threads, s, fusion, gradient, bw.data(), bdx.data(), slices,
                       data_scratch.data());
  ExpectBlocked(bdx, s.n, in, expected.dx, 8 * tolerance);

  Buffer<T> scratch(passes.backward_weights_scratch_bytes(s, fusion, slices) / sizeof(T));
  passes.backward_weights(threads, s, fusion, gradient, bx.data(), bdw.data(), bdb.data(), slices,
                          scratch.data());
  ExpectNear(bdw.data(), expected.dw, 32 * tolerance);
  ExpectNear(bdb.data(), expected.db, 32);
}

TEST_P(ConvBatchBlocked, AgreesWithTheDefinition) {
  for (int round = 0; round < Rounds(60) && !HasFatalFailure(); ++round) {
    const ConvShape shape = RandomConv(Any(), 35);
    const ConvFusion fusion = RandomFusion(shape);
    Check<float>(shape, fusion);
    if (!HasFatalFailure()) Check<double>(shape, fusion);
  }
}

// The rounding of the transforms, most of it with the large kernels.
constexpr double kWinogradTolerance = 32;

TEST_P(ConvBatchBlocked, WinogradAgreesWithTheDefinition) {
  for (int round = 0; round < Rounds(60) && !HasFatalFailure(); ++round) {
    ConvShape shape = RandomConv(Any(), 35);
    shape.groups = shape.sh = shape.sw = shape.dh = shape.dw = 1;
    shape.ic = RandomInt(1, 7);
    shape.kh = RandomInt(3, 7), shape.kw = RandomInt(3, 7);
    shape.ih = shape.kh + RandomInt(0, 17), shape.iw = shape.kw + RandomInt(0, 17);
    shape.DeriveOutput();
    ASSERT_TRUE(WinogradTakes(shape));
    Check<float>(shape, RandomFusion(shape), WinogradConvPasses(), kWinogradTolerance);
  }
}

ConvShape Square(int64_t n, int64_t ic, int64_t size, int64_t oc, int64_t kernel, int64_t pad) {
  ConvShape s;
  s.n = n, s.ic = ic, s.ih = s.iw = size, s.oc = oc, s.kh = s.kw = kernel;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  s.DeriveOutput();
  return s;
}

TEST(CanFuseMaxPool, WantsWindowsThatNeitherOverlapNorReachOut) {
  PoolShape pool;
  pool.ih = pool.iw = 9;
  pool.kh = pool.kw = pool.sh = pool.sw = 2;
  pool.DeriveOutput();
  EXPECT_TRUE(CanFuseMaxPool(pool));
  PoolShape overlapping = pool, padded = pool, ceil = pool, tall = pool;
  overlapping.kw = 3;
  overlapping.DeriveOutput();
  EXPECT_FALSE(CanFuseMaxPool(overlapping));
  padded.pad_left = 1;
  EXPECT_FALSE(CanFuseMaxPool(padded));
  ++ceil.ow;
  EXPECT_FALSE(CanFuseMaxPool(ceil));
  tall.kh = tall.sh = 5;
  tall.DeriveOutput();
  EXPECT_FALSE(CanFuseMaxPool(tall));
  PoolShape single = pool;
  single.kh = single.kw = single.sh = single.sw = 1;
  single.DeriveOutput();
  EXPECT_FALSE(CanFuseMaxPool(single));
}

// Shapes whose work is cut into several chunks of rows and of channels, and of the batch.
TEST_P(ConvBatchBlocked, CutsLargeShapes) {
  Check<float>(Square(2, 1, 44, 20, 5, 0), {true, 2, 2});
  Check<float>(Square(1, 70, 9, 3, 5, 2), {true, 1, 1});
  Check<float>(Square(50, 1, 6, 2, 3, 1), {});
  Check<float>(Square(17, 3, 16, 2, 7, 3), {false, 3, 2});
  const auto& winograd = WinogradConvPasses();
  Check<float>(Square(2, 40, 70, 3, 3, 1), {true, 2, 2}, winograd, kWinogradTolerance);
  Check<float>(Square(1, 70, 9, 70, 5, 2), {true, 1, 1}, winograd, kWinogradTolerance);
  Check<float>(Square(50, 33, 6, 35, 3, 1), {}, winograd, kWinogradTolerance);
  Check<float>(Square(17, 3, 16, 2, 7, 3), {false, 3, 2}, winograd, kWinogradTolerance);
}

TEST_P(ConvBatchBlocked, ReluKeepsNaN) {
  const ConvShape s = Square(3, 2, 8, 3, 3, 1);
  const int64_t in = s.ic * s.ih * s.iw;
  Buffer<float> x(BatchBlockedElements<float>(s.n, in)), w(s.oc * s.Taps());
  FillBlocked(x, s.n, in, Values(s.n * in, NAN));
  Fill(w, Values(w.size(), 1));
  for (const auto* passes : {&DirectConvPasses<float>(), &WinogradConvPasses()}) {
    for (const int64_t pool : {1, 2}) {
      const ConvFusion fusion{true, pool, pool};
      const int64_t out = s.oc * fusion.OutputRows(s) * fusion.OutputColumns(s);
      Buffer<float> y(BatchBlockedElements<float>(s.n, out));
      Buffer<uint8_t> argmax(y.size());
      Buffer<float> scratch(passes->forward_scratch_bytes(s, fusion, 1) / sizeof(float));
      passes->forward(one_, s, fusion, {x.data(), w.data(), nullptr, y.data(), argmax.data()}, 1,
                      scratch.data());
      for (int64_t i = 0; i < out; ++i) {
        ASSERT_TRUE(std::isnan(y[i * kBatchBlock<float>]))
            << passes->name << " " << pool << " " << i;
      }
    }
  }
}

// Only the number of slices may change the order of sums, not the number of threads.
TEST_P(ConvBatchBlocked, IsTheSameOnAnyNumberOfThreads) {
  for (const auto* passes : {&DirectConvPasses<float>(), &WinogradConvPasses()}) {
    ExpectSameOnAnyNumberOfThreads(*passes);
  }
}

void ConvBatchBlocked::ExpectSameOnAnyNumberOfThreads(const ConvPasses<float>& passes) {
  const ConvShape s = Square(50, 2, 9, 3, 3, 1);
  const ConvFusion fusion{true, 2, 2};
  const int64_t in = s.ic * s.ih * s.iw, out = s.oc * 4 * 4;
  Buffer<float> x(BatchBlockedElements<float>(s.n, in)), dy(BatchBlockedElements<float>(s.n, out));
  FillBlocked(x, s.n, in, RandomValues(s.n * in));
  FillBlocked(dy, s.n, out, RandomValues(s.n * out));
  Buffer<float> w(s.oc * s.Taps());
  Fill(w, RandomValues(w.size()));
  for (float& v : std::span(x.data(), x.size())) v *= 1.1f;
  std::vector<float> first;
  for (const Lease* threads : {&one_, static_cast<const Lease*>(&three_)}) {
    Buffer<float> y(dy.size()), dx(x.size()), dw(w.size()), db(s.oc);
    Buffer<uint8_t> argmax(y.size());
    Buffer<float> scratch((passes.forward_scratch_bytes(s, fusion, 8) +
                           passes.backward_data_scratch_bytes(s, fusion, 8) +
                           passes.backward_weights_scratch_bytes(s, fusion, 8)) /
                          sizeof(float));
    passes.forward(*threads, s, fusion, {x.data(), w.data(), nullptr, y.data(), argmax.data()}, 8,
                   scratch.data());
    const ConvGradient<float> gradient{dy.data(), argmax.data(), nullptr};
    passes.backward_data(*threads, s, fusion, gradient, w.data(), dx.data(), 8, scratch.data());
    passes.backward_weights(*threads, s, fusion, gradient, x.data(), dw.data(), db.data(), 8,
                            scratch.data());
    std::vector<float> all;
    for (Buffer<float>* b : {&y, &dx, &dw, &db})
      all.insert(all.end(), b->data(), b->data() + b->size());
    if (first.empty()) first = all;
    EXPECT_EQ(first, all) << threads->threads() << " threads";
  }
}

HR_KERNEL_TESTS(ConvBatchBlocked);

}  // namespace
}  // namespace hr::cpu
