// Random operators: the same bits however work is cut, and the distributions they promise.
#include <algorithm>
#include <cmath>
#include <set>

#include "backends/cpu/kernels/random.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class RandomTest : public KernelTest {};

struct Moments {
  double mean = 0, deviation = 0, least = 1e300, most = -1e300;
};
template <typename T>
Moments MomentsOf(const Tensor& tensor) {
  Moments m;
  double squares = 0;
  for (T value : ValuesOf<T>(tensor)) {
    m.mean += value;
    squares += double{value} * value;
    m.least = std::min<double>(m.least, value);
    m.most = std::max<double>(m.most, value);
  }
  const auto count = static_cast<double>(tensor.elements());
  m.mean /= count;
  m.deviation = std::sqrt(squares / count - m.mean * m.mean);
  return m;
}

TEST_P(RandomTest, WordsAreThoseOfTheirBlocks) {
  const RandomStream stream(3, 4, 0x500000006);
  for (uint64_t first : {uint64_t{0}, uint64_t{0xFFFFFFF0}, uint64_t{0x1FFFFFFFFFF}}) {
    uint32_t words[4 * 50];
    RandomWords(stream, first, 50, words);
    for (uint64_t i = 0; i < 50; ++i) {
      const auto expected = stream.Block(first + i);
      for (int k = 0; k < 4; ++k) {
        ASSERT_EQ(words[4 * i + k], expected.word[k]) << first << ' ' << i;
      }
    }
  }
}

template <typename T>
Tensor Draw(const char* op, int64_t count, int threads, uint64_t seed = 1, int64_t step = 0,
            int64_t stream = 0) {
  OneNodeRun run(op);
  run.With("shape", std::vector<int64_t>{count}).With("stream", stream).Threads(threads);
  run.With("dtype", static_cast<int64_t>(DTypeOf<T>::value)).Seed(seed, step);
  return run.MustRun()[0];
}

TEST_P(RandomTest, ThreadsAndLengthChangeNothing) {
  for (const char* op : {"RandomUniform", "RandomNormal"}) {
    const auto all = ValuesOf<float>(Draw<float>(op, 100'001, 1));
    EXPECT_EQ(ValuesOf<float>(Draw<float>(op, 100'001, 3)), all);
    const auto part = ValuesOf<float>(Draw<float>(op, 1027, 1));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin()));
    const auto doubles = ValuesOf<double>(Draw<double>(op, 5001, 1));
    const auto some = ValuesOf<double>(Draw<double>(op, 1026, 1));
    EXPECT_TRUE(std::equal(some.begin(), some.end(), doubles.begin()));
  }
}

TEST_P(RandomTest, SeedStepAndStreamAllMatter) {
  std::set<std::vector<float>> seen;
  for (uint64_t seed : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 32}) {
    for (int64_t step : {int64_t{0}, int64_t{1}, int64_t{1} << 32}) {
      for (int64_t stream : {int64_t{0}, int64_t{1}, int64_t{1} << 32}) {
        seen.insert(ValuesOf<float>(Draw<float>("RandomUniform", 8, 1, seed, step, stream)));
      }
    }
  }
  EXPECT_EQ(seen.size(), 27u);
}

template <typename T>
void CheckDistributions() {
  OneNodeRun uniform("RandomUniform");
  uniform.With("shape", std::vector<int64_t>{200'000}).With("low", -1.0).With("high", 3.0);
  uniform.With("dtype", static_cast<int64_t>(DTypeOf<T>::value));
  const Moments u = MomentsOf<T>(uniform.MustRun()[0]);
  EXPECT_NEAR(u.mean, 1, 0.02);
  EXPECT_NEAR(u.deviation, 4 / std::sqrt(12.0), 0.02);
  EXPECT_GE(u.least, -1);
  EXPECT_LT(u.most, 3);
  OneNodeRun normal("RandomNormalLike");
  normal.In(OneNodeRun::Make<T>({100, 2000}, std::vector<T>(200'000)));
  normal.With("mean", 5.0).With("scale", 2.0);
  const Tensor drawn = normal.MustRun()[0];
  const Moments n = MomentsOf<T>(drawn);
  EXPECT_NEAR(n.mean, 5, 0.02);
  EXPECT_NEAR(n.deviation, 2, 0.02);
  int64_t within = 0;
  for (T value : ValuesOf<T>(drawn)) within += std::abs(value - 5) < 2;
  EXPECT_NEAR(static_cast<double>(within) / 200'000, 0.6827, 0.005);
}

TEST_P(RandomTest, Distributions) {
  CheckDistributions<float>();
  CheckDistributions<double>();
}

TEST_P(RandomTest, Bernoulli) {
  std::vector<float> p;
  for (int i = 0; i < 50'000; ++i) p.insert(p.end(), {0.0f, 0.25f, 1.0f});
  OneNodeRun run("Bernoulli");
  run.In({150'000}, p).With("dtype", static_cast<int64_t>(DType::kFloat64)).Threads(3);
  double sums[3] = {};
  const auto drawn = ValuesOf<double>(run.MustRun()[0]);
  for (size_t i = 0; i < drawn.size(); ++i) sums[i % 3] += drawn[i];
  EXPECT_EQ(sums[0], 0);
  EXPECT_NEAR(sums[1], 12'500, 500);
  EXPECT_EQ(sums[2], 50'000);
  OneNodeRun to_bool("Bernoulli");
  to_bool.In<double>({3}, {1, 0, 1}).With("dtype", static_cast<int64_t>(DType::kBool));
  EXPECT_EQ(ValuesOf<bool>(to_bool.MustRun()[0]), (std::vector<bool>{true, false, true}));
}

TEST_P(RandomTest, DropoutKeepsWhatItsMaskSays) {
  for (double ratio : {0.0, 0.3, 0.999}) {
    const auto x = Random<float>(40'001);
    OneNodeRun run("Dropout");
    run.In({40'001}, x).In<float>({}, {static_cast<float>(ratio)}).In<bool>({}, {true});
    auto outputs = run.Outputs(2).Threads(3).MustRun();
    const auto y = ValuesOf<float>(outputs[0]);
    const auto mask = ValuesOf<bool>(outputs[1]);
    const auto scale = static_cast<float>(1 / (1 - static_cast<double>(static_cast<float>(ratio))));
    int64_t kept = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], mask[i] ? x[i] * scale : 0) << i;
      kept += mask[i];
    }
    EXPECT_NEAR(static_cast<double>(kept) / 40'001, 1 - ratio, 0.01);
    OneNodeRun grad("DropoutGrad", "headrace.grad");
    grad.In({40'001}, x).In(outputs[1]).In<float>({}, {static_cast<float>(ratio)});
    EXPECT_EQ(ValuesOf<float>(grad.In<bool>({}, {true}).MustRun()[0]), y);
  }
}

// A part of a tensor, drawn by the number of its first element, is what the whole has there.
// `fill` gives the inputs and attributes for so many elements.
template <typename T>
void ExpectParts(const char* op, void (*fill)(OneNodeRun& run, int64_t count)) {
  OneNodeRun all(op);
  fill(all, 5000);
  const auto whole = ValuesOf<T>(all.MustRun()[0]);
  for (int64_t first : {1, 2, 3, 4, 1022, 1023, 1025, 3001}) {
    for (int64_t count : {1, 6, 1024, 1999}) {
      OneNodeRun some(op);
      fill(some, count);
      const auto part = ValuesOf<T>(some.In<int64_t>({}, {first}).Threads(3).MustRun()[0]);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first))
          << op << ' ' << first << ' ' << count;
    }
  }
}
template <typename T>
void FillShape(OneNodeRun& run, int64_t count) {
  run.With("shape", std::vector<int64_t>{count});
  run.With("dtype", static_cast<int64_t>(DTypeOf<T>::value));
}
void FillLike(OneNodeRun& run, int64_t count) {
  run.In<float>({count}, std::vector<float>(static_cast<size_t>(count), 0.5f));
}

TEST_P(RandomTest, PartsAreThoseOfTheWhole) {
  ExpectParts<float>("RandomUniform", FillShape<float>);
  ExpectParts<double>("RandomUniform", FillShape<double>);
  ExpectParts<float>("RandomNormal", FillShape<float>);
  ExpectParts<double>("RandomNormal", FillShape<double>);
  ExpectParts<float>("RandomUniformLike", FillLike);
  ExpectParts<float>("RandomNormalLike", FillLike);
  ExpectParts<float>("Bernoulli", FillLike);
  ExpectParts<int32_t>("Multinomial", [](OneNodeRun& run, int64_t count) {
    run.In<float>({count, 3}, std::vector<float>(static_cast<size_t>(count) * 3, 1));
  });
  ExpectParts<float>("Dropout", [](OneNodeRun& run, int64_t count) {
    FillLike(run, count);
    run.In<float>({}, {0.4f}).In<bool>({}, {true});
  });
}

TEST(RandomUniform, FirstElementIsNotNegative) {
  OneNodeRun run("RandomUniform");
  run.With("shape", std::vector<int64_t>{3}).In<int64_t>({}, {-1});
  ExpectFailure(run, "element 0 or a later one, got -1");
}

TEST(Dropout, InferenceCopies) {
  OneNodeRun run("Dropout");
  auto outputs = run.In<double>({3}, {1, 2, 3}).Outputs(2).MustRun();
  EXPECT_EQ(ValuesOf<double>(outputs[0]), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(ValuesOf<bool>(outputs[1]), (std::vector<bool>{true, true, true}));
}

TEST(Dropout, RatioOutside) {
  OneNodeRun run("Dropout");
  run.In<float>({1}, {1}).In<double>({}, {1.5}).In<bool>({}, {true});
  ExpectFailure(run, "the ratio of Dropout lies in [0, 1), got 1.5");
}

TEST(Multinomial, DrawsByWeight) {
  OneNodeRun run("Multinomial");
  const float none = -std::numeric_limits<float>::infinity();
  run.In<float>({2, 3}, {none, 100, 100 + std::log(3.0f), 7, none, none});
  run.With("sample_size", int64_t{20'000});
  const auto drawn = ValuesOf<int32_t>(run.MustRun()[0]);
  const auto of = [&](size_t row, int32_t c) {
    const auto begin = drawn.begin() + static_cast<std::ptrdiff_t>(row * 20'000);
    return static_cast<double>(std::count(begin, begin + 20'000, c));
  };
  EXPECT_EQ(of(0, 0), 0);
  EXPECT_NEAR(of(0, 1), 5'000, 300);
  EXPECT_NEAR(of(0, 2), 15'000, 300);
  EXPECT_EQ(of(1, 0), 20'000);
}

HR_KERNEL_TESTS(RandomTest);

}  // namespace
}  // namespace hr::cpu
