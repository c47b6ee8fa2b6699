// Reductions over random shapes and axes, and what they do with special values.
#include <cmath>
#include <limits>

#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

constexpr const char* kReductions[] = {
    "ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
    "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceSumSquare", "ReduceLogSumExp"};

class ReduceTest : public KernelTest {
 protected:
  Dims RandomDims() {
    Dims dims;
    for (int64_t i = RandomInt(0, 4); i > 0; --i) dims.push_back(RandomInt(1, 12));
    if (!dims.empty()) dims[static_cast<size_t>(RandomInt(0, dims.size() - 1))] = RandomInt(1, 150);
    return dims;
  }
  std::vector<int64_t> RandomAxes(size_t rank) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < rank; ++i) {
      const auto axis = static_cast<int64_t>(i);
      if (RandomInt(0, 1) == 1) axes.push_back(RandomInt(0, 1) == 1 ? axis : axis - rank);
    }
    return axes;
  }
  // Positive, so that logarithms exist, and near 1, so that products do.
  template <typename T>
  std::vector<T> Values(const Dims& dims) {
    std::vector<T> values;
    for (int64_t i = ElementCount(dims); i > 0; --i) {
      const bool whole = std::is_integral_v<T>;
      values.push_back(static_cast<T>(whole ? RandomInt(-9, 9) : 1 + RandomInt(-99, 99) / 1e4));
    }
    return values;
  }
  template <typename T>
  void CheckOne(const char* op) {
    const Dims dims = RandomDims();
    OneNodeRun run(op);
    run.In(dims, Values<T>(dims)).With("keepdims", RandomInt(0, 1));
    const auto axes = RandomAxes(dims.size());
    if (RandomInt(0, 3) != 0) run.Constant<int64_t>({static_cast<int64_t>(axes.size())}, axes);
    run.Threads(static_cast<int>(RandomInt(1, 3))).Check(DTypeOf<T>::value);
  }
};

TEST_P(ReduceTest, RandomShapesAndAxes) {
  for (const char* op : kReductions) {
    for (int i = 0; i < 12; ++i) {
      CheckOne<float>(op);
      CheckOne<double>(op);
    }
  }
}

TEST_P(ReduceTest, Integers) {
  for (const char* op :
       {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"}) {
    for (int i = 0; i < 6; ++i) {
      CheckOne<int32_t>(op);
      CheckOne<int64_t>(op);
    }
  }
}

TEST_P(ReduceTest, AxesAsAnAttribute) {
  OneNodeRun run("ReduceMax", "", 13);
  run.In({5, 6, 7}, Random<float>(210)).With("axes", std::vector<int64_t>{-1, 0}).Check();
}

// Large enough for threads: many outputs, few outputs, one output.
TEST_P(ReduceTest, Threads) {
  const std::pair<Dims, std::vector<int64_t>> cases[] = {
      {{300, 401}, {1}}, {{300, 401}, {0}},      {{100003}, {0}},         {{50001, 3}, {0}},
      {{3, 50001}, {1}}, {{7, 3, 9001}, {0, 2}}, {{4001, 3, 11}, {0, 2}}, {{2, 60000}, {0}}};
  for (const auto& [dims, axes] : cases) {
    for (const char* op : {"ReduceSum", "ReduceMax", "ReduceLogSumExp"}) {
      OneNodeRun run(op);
      run.In(dims, Random<float>(ElementCount(dims)));
      run.Constant<int64_t>({static_cast<int64_t>(axes.size())}, axes);
      run.Threads(3).Check(1e-5, 1e-4);
    }
  }
}

// A running float32 sum of so many would stop growing.
TEST_P(ReduceTest, LongSumsAreExact) {
  constexpr int64_t kCount = 20'000'000;
  OneNodeRun row("ReduceMean");
  row.In({kCount}, std::vector<float>(kCount, 0.1f));
  EXPECT_NEAR(*row.MustRun()[0].as<float>(), 0.1, 1e-7);
  OneNodeRun columns("ReduceMean");
  columns.In({kCount / 4, 4}, std::vector<float>(kCount, 0.1f)).Constant<int64_t>({1}, {0});
  for (float mean : ValuesOf<float>(columns.MustRun()[0])) EXPECT_NEAR(mean, 0.1, 1e-7);
}

TEST_P(ReduceTest, NanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* op : kReductions) {
    for (int64_t axis : {0, 1}) {
      for (float special : {nan, inf}) {
        for (int64_t at : {0, 18, 19 * 19 - 1}) {
          std::vector<float> x(19 * 19, 2.0f);
          x[static_cast<size_t>(at)] = special;
          OneNodeRun run(op);
          run.In({19, 19}, x).Constant<int64_t>({1}, {axis}).Check();
        }
      }
    }
  }
  OneNodeRun all_low("ReduceLogSumExp");
  all_low.In<float>({3}, {-inf, -inf, -inf}).Check();
}

TEST_P(ReduceTest, EmptyTensors) {
  for (const char* op : kReductions) {
    OneNodeRun none(op);
    EXPECT_EQ(none.In<float>({0, 3}, {}).Constant<int64_t>({1}, {1}).MustRun()[0].elements(), 0);
    OneNodeRun over(op);
    over.In<double>({0, 3}, {}).Constant<int64_t>({1}, {0}).Check();
  }
}

TEST_P(ReduceTest, NoAxesMayMeanNothing) {
  OneNodeRun run("ReduceSum");
  const auto x = Random<float>(12);
  run.In({3, 4}, x).With("noop_with_empty_axes", int64_t{1});
  EXPECT_EQ(ValuesOf<float>(run.MustRun()[0]), x);
}

TEST_P(ReduceTest, SumTo) {
  const std::pair<Dims, Dims> cases[] = {{{64, 500}, {500}},     {{5, 6, 7}, {6, 1}},
                                         {{5, 6, 7}, {5, 1, 7}}, {{5, 6}, {}},
                                         {{5, 6}, {1, 5, 6}},    {{2, 3, 4, 5}, {3, 1, 5}}};
  for (const auto& [x, like] : cases) {
    if (like.size() > x.size()) continue;
    OneNodeRun run("SumTo", "headrace.grad");
    run.In(x, Random<float>(ElementCount(x))).In(like, Random<float>(ElementCount(like))).Check();
  }
}

TEST_P(ReduceTest, TileGrad) {
  OneNodeRun run("TileGrad", "headrace.grad");
  run.In({6, 5, 8}, Random<float>(240)).In({2, 5, 4}, Random<float>(40)).Check();
}

TEST_P(ReduceTest, PositionsOfExtremes) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (int i = 0; i < 20; ++i) {
      Dims dims = RandomDims();
      if (dims.empty()) dims = {1};
      const auto rank = static_cast<int64_t>(dims.size());
      OneNodeRun run(op);
      std::vector<float> x;
      for (int64_t k = ElementCount(dims); k > 0; --k)
        x.push_back(static_cast<float>(RandomInt(0, 5)));
      run.In(dims, x).With("axis", RandomInt(-rank, rank - 1)).With("keepdims", RandomInt(0, 1));
      run.With("select_last_index", RandomInt(0, 1)).Threads(2).Check(0, 0);
    }
  }
}

TEST(Reduce, FirstNanIsTheExtreme) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t last : {0, 1}) {
    for (Dims dims : {Dims{5, 1}, Dims{5, 2}}) {
      std::vector<float> x;
      for (float value : {1.0f, nan, 9.0f, nan, 3.0f}) x.insert(x.end(), dims[1], value);
      OneNodeRun run("ArgMax");
      run.In(dims, x).With("axis", int64_t{0}).With("select_last_index", last);
      for (int64_t at : ValuesOf<int64_t>(run.MustRun()[0])) EXPECT_EQ(at, last == 1 ? 3 : 1);
    }
  }
}

TEST(Reduce, ExtremeOfNothing) {
  OneNodeRun run("ArgMax");
  run.In<float>({2, 0}, {}).With("axis", int64_t{1});
  ExpectFailure(run, "ArgMax along an axis of size 0 has no answer");
}

TEST(Reduce, UnknownTypes) {
  OneNodeRun run("ReduceSum");
  run.In<uint8_t>({2}, {1, 2});
  ExpectFailure(run, "ReduceSum has no CPU kernel for uint8; insert a Cast to float32");
}

HR_KERNEL_TESTS(ReduceTest);

}  // namespace
}  // namespace hr::cpu
