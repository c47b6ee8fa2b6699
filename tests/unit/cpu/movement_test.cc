// Operators that move elements, over random shapes and all sizes of elements.
#include "runtime/base/half.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class MovementTest : public testing::Test {
 protected:
  int64_t RandomInt(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  Dims RandomDims(int64_t max_rank = 4, int64_t min_rank = 1) {
    Dims dims;
    for (int64_t i = RandomInt(min_rank, max_rank); i > 0; --i) dims.push_back(RandomInt(1, 9));
    if (!dims.empty()) dims[static_cast<size_t>(RandomInt(0, dims.size() - 1))] = RandomInt(1, 70);
    return dims;
  }
  // Elements of a random size.
  Tensor RandomTensor(const Dims& dims) {
    switch (RandomInt(0, 3)) {
      case 0: return Random<uint8_t>(dims);
      case 1: return Random<int16_t>(dims);
      case 2: return Random<float>(dims);
      default: return Random<int64_t>(dims);
    }
  }
  template <typename T>
  Tensor Random(const Dims& dims) {
    std::vector<T> values;
    for (int64_t i = ElementCount(dims); i > 0; --i)
      values.push_back(static_cast<T>(RandomInt(0, 99)));
    return OneNodeRun::Make<T>(dims, values);
  }
  template <typename T = int64_t>
  std::vector<T> Indices(int64_t count, int64_t size) {
    std::vector<T> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(RandomInt(-size, size - 1)));
    return out;
  }
  size_t RandomAxis(const Dims& dims) { return static_cast<size_t>(RandomInt(0, dims.size() - 1)); }
  // The axis, or the same counted from the end.
  int64_t Either(size_t axis, size_t rank) {
    const auto at = static_cast<int64_t>(axis);
    return RandomInt(0, 1) == 1 ? at : at - static_cast<int64_t>(rank);
  }
  int Threads() { return static_cast<int>(RandomInt(1, 3)); }

  std::mt19937_64 engine_{11};
};

TEST_F(MovementTest, Transpose) {
  for (int i = 0; i < 60; ++i) {
    const Dims dims = RandomDims(5);
    std::vector<int64_t> perm(dims.size());
    for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(d);
    std::shuffle(perm.begin(), perm.end(), engine_);
    OneNodeRun run("Transpose");
    run.In(RandomTensor(dims)).With("perm", perm).Threads(Threads()).Check(0, 0);
  }
  OneNodeRun reversed("Transpose");
  reversed.In(Random<float>({3, 4, 5})).Check(0, 0);
  OneNodeRun large("Transpose");
  large.In(Random<float>({2, 300, 301})).With("perm", std::vector<int64_t>{0, 2, 1}).Threads(3);
  large.Check(0, 0);
}

TEST_F(MovementTest, ConcatAndSplit) {
  for (int i = 0; i < 40; ++i) {
    Dims dims = RandomDims();
    const size_t axis = RandomAxis(dims);
    const Tensor first = RandomTensor(dims);
    OneNodeRun concat("Concat");
    concat.In(first);
    for (int64_t more = RandomInt(0, 2); more > 0; --more) {
      dims[axis] = RandomInt(0, 5);
      concat.In(Tensor::Create(SystemAllocator(), first.dtype(), dims).value());
    }
    concat.With("axis", Either(axis, dims.size())).Threads(Threads());

    dims[axis] = RandomInt(2, 9);
    OneNodeRun split("Split");
    split.In(RandomTensor(dims)).With("axis", Either(axis, dims.size())).Threads(Threads());
    const int64_t cut = RandomInt(0, dims[axis]);
    if (i % 2 == 0) {
      split.Constant<int64_t>({2}, {cut, dims[axis] - cut}).Outputs(2).Check(0, 0);
    } else {
      split.With("num_outputs", int64_t{2}).Outputs(2).Check(0, 0);
    }
  }
  OneNodeRun join("Concat");
  join.In(Random<float>({2, 3, 4})).In(Random<float>({2, 0, 4})).In(Random<float>({2, 5, 4}));
  join.With("axis", int64_t{-2}).Check(0, 0);
}

TEST_F(MovementTest, SliceAndItsGradient) {
  for (int i = 0; i < 80; ++i) {
    const Dims dims = RandomDims();
    std::vector<int64_t> starts, ends, axes, steps;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (RandomInt(0, 2) == 0) continue;
      starts.push_back(RandomInt(-dims[d] - 2, dims[d] + 2));
      ends.push_back(RandomInt(0, 5) == 0 ? INT64_MAX : RandomInt(-dims[d] - 2, dims[d] + 2));
      axes.push_back(Either(d, dims.size()));
      int64_t step = RandomInt(1, 3);
      steps.push_back(RandomInt(0, 9) == 0 ? INT64_MIN : RandomInt(0, 1) == 1 ? step : -step);
    }
    const Dims n = {static_cast<int64_t>(axes.size())};
    const Tensor x = RandomTensor(dims);
    OneNodeRun run("Slice");
    run.In(x).Constant(n, starts).Constant(n, ends).Constant(n, axes).Constant(n, steps);
    const auto outputs = run.Threads(Threads()).MustRun();
    ASSERT_EQ(outputs.size(), 1u);
    run.Check(0, 0);
    OneNodeRun grad("SliceGrad", "headrace.grad");
    grad.In(outputs[0]).In(x).Constant(n, starts).Constant(n, ends).Constant(n, axes);
    grad.Constant(n, steps).Threads(Threads()).Check(0, 0);
  }
}

TEST_F(MovementTest, ExpandAndTile) {
  for (int i = 0; i < 40; ++i) {
    Dims x = RandomDims(4, 0);
    Dims target = x;
    for (int64_t& dim : x) dim = RandomInt(0, 1) == 1 ? 1 : dim;
    for (int64_t more = RandomInt(0, 2); more > 0; --more)
      target.insert(target.begin(), RandomInt(1, 3));
    OneNodeRun expand("Expand");
    expand.In(RandomTensor(x)).Constant({static_cast<int64_t>(target.size())}, target);
    expand.Threads(Threads()).Check(0, 0);
    OneNodeRun like("ExpandLike", "headrace.grad");
    like.In(Random<float>(x)).In(Random<float>(target)).Threads(Threads()).Check(0, 0);
    std::vector<int64_t> repeats;
    for (size_t d = 0; d < x.size(); ++d) repeats.push_back(RandomInt(0, 3));
    OneNodeRun tile("Tile");
    tile.In(RandomTensor(x)).Constant({static_cast<int64_t>(x.size())}, repeats);
    tile.Threads(Threads()).Check(0, 0);
  }
}

TEST_F(MovementTest, PadAndItsGradient) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    for (int i = 0; i < 30; ++i) {
      Dims dims = RandomDims(3);
      std::vector<int64_t> pads;
      for (int side = 0; side < 2; ++side) {
        for (int64_t dim : dims)
          pads.push_back(RandomInt(-(dim / 2), std::max<int64_t>(0, dim - 1)));
      }
      const Dims count = {static_cast<int64_t>(pads.size())};
      const Tensor x = Random<float>(dims);
      OneNodeRun run("Pad");
      run.In(x).Constant(count, pads).With("mode", std::string(mode)).Threads(Threads());
      if (i % 2 == 0) run.In<float>({}, {2.5f});
      const auto y = run.MustRun();
      ASSERT_EQ(y.size(), 1u) << mode;
      run.Check(0, 0);
      OneNodeRun grad("PadGrad", "headrace.grad");
      grad.In(y[0]).In(x).Constant(count, pads).With("mode", std::string(mode)).Check();
    }
  }
  OneNodeRun axes("Pad");
  axes.In(Random<uint8_t>({3, 4, 5})).Constant<int64_t>({2}, {1, 2}).Omit();
  axes.Constant<int64_t>({1}, {-2}).Check(0, 0);
}

TEST_F(MovementTest, PadOfNothing) {
  OneNodeRun run("Pad");
  run.In<float>({0}, {}).Constant<int64_t>({2}, {1, 1}).With("mode", std::string("edge"));
  ExpectFailure(run, "Pad by 'edge' has nothing to repeat along axis 0 of [0]");
}

TEST_F(MovementTest, GatherAndItsGradient) {
  for (int i = 0; i < 40; ++i) {
    const Dims dims = RandomDims();
    const size_t axis = RandomAxis(dims);
    const Dims shape = RandomInt(0, 3) == 0 ? Dims{} : Dims{RandomInt(0, 3), RandomInt(1, 4)};
    const auto indices = Indices(ElementCount(shape), dims[axis]);
    OneNodeRun run("Gather");
    run.In(RandomTensor(dims)).In(shape, indices).With("axis", Either(axis, dims.size()));
    run.Threads(Threads()).Check(0, 0);
    Dims out = dims;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), shape.begin(), shape.end());
    OneNodeRun grad("GatherGrad", "headrace.grad");
    grad.In(Random<float>(out)).In(shape, std::vector<int32_t>(indices.begin(), indices.end()));
    grad.In(Random<float>(dims)).With("axis", Either(axis, dims.size())).Threads(Threads());
    grad.Check(1e-6, 0);
  }
  OneNodeRun large("GatherGrad", "headrace.grad");
  large.In(Random<float>({1000, 64})).In({1000}, Indices(1000, 50)).In(Random<float>({50, 64}));
  large.Threads(3).Check(1e-5, 0);
}

TEST_F(MovementTest, GatherAndScatterElements) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    for (int i = 0; i < 20; ++i) {
      const Dims dims = RandomDims();
      const size_t axis = RandomAxis(dims);
      Dims shape = dims;
      for (int64_t& dim : shape) dim = RandomInt(1, dim);
      if (std::string_view(reduction) != "none") shape[axis] = RandomInt(1, 12);
      auto indices = Indices(ElementCount(shape), dims[axis]);
      OneNodeRun gather("GatherElements");
      gather.In(RandomTensor(dims)).In(shape, indices).With("axis", Either(axis, dims.size()));
      gather.Threads(Threads()).Check(0, 0);
      OneNodeRun scatter("ScatterElements");
      const bool ints = std::string_view(reduction) != "mul" && RandomInt(0, 1) == 1;
      scatter.In(ints ? Random<int32_t>(dims) : Random<double>(dims)).In(shape, indices);
      scatter.In(ints ? Random<int32_t>(shape) : Random<double>(shape));
      scatter.With("axis", Either(axis, dims.size())).With("reduction", std::string(reduction));
      scatter.Check(1e-14, 0);
    }
  }
}

TEST_F(MovementTest, GatherAndScatterND) {
  for (int i = 0; i < 40; ++i) {
    const Dims dims = RandomDims(4, 2);
    const int64_t batch = RandomInt(0, 1);
    const int64_t taken = RandomInt(1, static_cast<int64_t>(dims.size()) - batch);
    const auto indices_of = [&](const Dims& rows, int64_t from) {
      std::vector<int64_t> out;
      for (int64_t row = ElementCount(rows); row > 0; --row) {
        for (int64_t k = 0; k < taken; ++k) {
          const int64_t size = dims[static_cast<size_t>(from + k)];
          out.push_back(RandomInt(-size, size - 1));
        }
      }
      return out;
    };
    Dims rows = {3};
    if (batch == 1) rows.insert(rows.begin(), dims[0]);
    Dims shape = rows;
    shape.push_back(taken);
    OneNodeRun gather("GatherND");
    gather.In(RandomTensor(dims)).In(shape, indices_of(rows, batch)).With("batch_dims", batch);
    gather.Threads(Threads()).Check(0, 0);

    Dims updates = {5};
    updates.insert(updates.end(), dims.begin() + taken, dims.end());
    OneNodeRun scatter("ScatterND");
    scatter.In(Random<float>(dims)).In({5, taken}, indices_of({5}, 0)).In(Random<float>(updates));
    scatter.With("reduction", std::string(i % 2 == 0 ? "none" : "add")).Check(1e-6, 0);
  }
}

TEST_F(MovementTest, IndicesOutside) {
  OneNodeRun gather("Gather");
  gather.In(Random<float>({4, 2})).In<int32_t>({3}, {0, -4, 4});
  ExpectFailure(gather, "index 4 at position 2 lies outside [-4, 4), for the axis has 4 elements");
  OneNodeRun grad("GatherGrad", "headrace.grad");
  grad.In(Random<float>({1, 2})).In<int64_t>({1}, {-5}).In(Random<float>({4, 2}));
  ExpectFailure(grad, "index -5 at position 0 lies outside [-4, 4)");
  OneNodeRun elements("GatherElements");
  elements.In(Random<float>({4})).In<int64_t>({2}, {1, 9});
  ExpectFailure(elements, "index 9 at position 1 lies outside");
  OneNodeRun scatter("ScatterElements");
  scatter.In(Random<float>({4})).In<int64_t>({1}, {-9}).In(Random<float>({1}));
  ExpectFailure(scatter, "index -9 at position 0 lies outside");
  OneNodeRun nd("GatherND");
  nd.In(Random<float>({4, 3})).In<int64_t>({2, 2}, {0, 0, 3, 3});
  ExpectFailure(nd, "index 3 at position 3 lies outside [-3, 3)");
  OneNodeRun place("ScatterND");
  place.In(Random<float>({4})).In<int64_t>({1, 1}, {4}).In(Random<float>({1}));
  ExpectFailure(place, "index 4 at position 0 lies outside");
  OneNodeRun wide("GatherElements");
  wide.In(Random<float>({2, 3})).In({2, 4}, std::vector<int64_t>(8)).With("axis", int64_t{0});
  ExpectFailure(wide,
                "GatherElements's indices [2, 4] are longer than the data [2, 3] along axis 1");
}

TEST_F(MovementTest, OneHot) {
  for (int64_t axis : {-1, 0, 1, -3}) {
    OneNodeRun run("OneHot");
    run.In<int64_t>({2, 3}, {0, -1, 4, 5, -5, -6}).Constant<int64_t>({}, {5});
    run.In<float>({2}, {-1, 2}).With("axis", axis).Check(0, 0);
  }
  OneNodeRun floats("OneHot");
  floats.In<float>({3}, {1, 1.5f, -1}).Constant<int64_t>({1}, {3}).In<uint8_t>({2}, {0, 7});
  floats.Check(0, 0);
}

TEST_F(MovementTest, TopK) {
  for (int i = 0; i < 30; ++i) {
    const Dims dims = RandomDims(3);
    const size_t axis = RandomAxis(dims);
    OneNodeRun run("TopK");
    run.In(Random<float>(dims)).Constant<int64_t>({1}, {RandomInt(0, dims[axis])}).Outputs(2);
    run.With("axis", Either(axis, dims.size())).With("largest", RandomInt(0, 1)).Check(0, 0);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OneNodeRun run("TopK");
  auto outputs =
      run.In<float>({5}, {1, nan, 3, nan, 2}).Constant<int64_t>({1}, {4}).Outputs(2).MustRun();
  EXPECT_EQ(ValuesOf<int64_t>(outputs[1]), (std::vector<int64_t>{1, 3, 2, 4}));
}

TEST_F(MovementTest, CumSum) {
  for (int i = 0; i < 20; ++i) {
    const Dims dims = RandomDims(3);
    OneNodeRun run("CumSum");
    run.In(Random<float>(dims)).In<int64_t>({}, {Either(RandomAxis(dims), dims.size())});
    run.With("exclusive", RandomInt(0, 1)).With("reverse", RandomInt(0, 1)).Check(1e-5, 0);
  }
  OneNodeRun run("CumSum");
  run.In(Random<float>({2, 2})).In<int32_t>({}, {2});
  ExpectFailure(run, "axis 2 lies outside [-2, 2)");
}

// Each element has the error of one rounding, as PyTorch's, however many are before it.
TEST_F(MovementTest, RunningSumsAndProductsOfLongLines) {
  constexpr int64_t kCount = 100000;
  for (const char* op : {"CumSum", "CumProd"}) {
    SCOPED_TRACE(op);
    const bool sum = op[3] == 'S';
    std::vector<float> x(kCount);
    for (size_t i = 0; i < x.size(); ++i) {
      const float wave = std::sin(static_cast<float>(i));
      x[i] = sum ? 1 + wave / 2 : 1 + wave / 10000;
    }
    OneNodeRun run(op);
    run.In<float>({kCount}, x).In<int64_t>({}, {0});
    const auto outputs = run.MustRun();
    const auto y = ValuesOf<float>(outputs[0]);
    double want = sum ? 0 : 1;
    for (size_t i = 0; i < y.size(); ++i) {
      want = sum ? want + x[i] : want * x[i];
      ASSERT_NEAR(y[i] / want, 1, 0x1p-24) << i;
    }
  }
}

TEST_F(MovementTest, CumProd) {
  for (int i = 0; i < 40; ++i) {
    const Dims dims = RandomDims(3);
    const int64_t axis = Either(RandomAxis(dims), dims.size());
    const int64_t exclusive = RandomInt(0, 1), reverse = RandomInt(0, 1);
    OneNodeRun run("CumProd");
    run.In(Random<double>(dims)).In<int64_t>({}, {axis});
    run.With("exclusive", exclusive).With("reverse", reverse).Check(1e-12, 1e-300);
    OneNodeRun grad("CumProdGrad", "headrace.grad");
    grad.In(Random<double>(dims)).In(Random<double>(dims)).In<int64_t>({}, {axis});
    grad.With("exclusive", exclusive).With("reverse", reverse).Check(1e-12, 1e-12);
  }
  OneNodeRun wraps("CumProd");
  wraps.In<uint32_t>({3}, {70000, 70000, 3}).In<int64_t>({}, {0});
  EXPECT_EQ(ValuesOf<uint32_t>(wraps.MustRun()[0]),
            (std::vector<uint32_t>{70000, 605032704, 1815098112}));
  OneNodeRun outside("CumProd");
  outside.In(Random<float>({2, 2})).In<int32_t>({}, {-3});
  ExpectFailure(outside, "axis -3 lies outside [-2, 2)");
}

// Of the two factors of a gradient one may lie outside of float32's range.
TEST_F(MovementTest, GradientsOfProductsAtTheEndsOfTheRange) {
  const auto gradient = [](const std::vector<float>& x, int64_t exclusive) {
    const Dims dims = {static_cast<int64_t>(x.size())};
    OneNodeRun grad("CumProdGrad", "headrace.grad");
    grad.In<float>(dims, std::vector<float>(x.size(), 1)).In<float>(dims, x).In<int64_t>({}, {0});
    return ValuesOf<float>(grad.With("exclusive", exclusive).MustRun()[0]);
  };
  EXPECT_EQ(gradient({1e30F, 1e30F, 5}, 1), (std::vector<float>{1e30F, 1e30F, 0}));
  // The last one has the product 1e-25 before it.
  const std::vector<float> dx = gradient({1e-30F, 1e-30F, 1e35F, 1e30F}, 0);
  EXPECT_NEAR(dx[2] / 1e-30F, 1, 1e-6);
  EXPECT_NEAR(dx[3] / 1e-25F, 1, 1e-6);
}

TEST_F(MovementTest, Trilu) {
  for (int64_t k = -6; k < 8; ++k) {
    for (int64_t upper : {0, 1}) {
      OneNodeRun run("Trilu");
      run.In(RandomTensor({2, 4, 5})).In<int64_t>({}, {k}).With("upper", upper).Check(0, 0);
    }
  }
}

// Of numbers that either type has.
void CheckSixteenBitRange(DType dtype, uint16_t (*bits)(float)) {
  OneNodeRun range("Range");
  for (const float x : {1.0f, 2.5f, 0.25f}) {
    Tensor number = *Tensor::Create(SystemAllocator(), dtype, {});
    *number.as<uint16_t>() = bits(x);
    range.Constant(std::move(number));
  }
  range.Check(0, 0);
}

TEST_F(MovementTest, MadeFromNothing) {
  OneNodeRun size("Size");
  size.In(Random<float>({3, 4})).Check(0, 0);
  OneNodeRun fill("ConstantOfShape");
  fill.Constant<int64_t>({2}, {3, 5}).WithTensor("value", Random<int16_t>({1})).Check(0, 0);
  OneNodeRun range("Range");
  range.Constant<int64_t>({}, {9}).Constant<int64_t>({}, {-4}).Constant<int64_t>({}, {-3}).Check(0,
                                                                                                 0);
  OneNodeRun steps("Range");
  steps.Constant<float>({}, {1}).Constant<float>({}, {2.1f}).Constant<float>({}, {0.25f}).Check();
  OneNodeRun shorts("Range");
  shorts.Constant<int16_t>({}, {-3}).Constant<int16_t>({}, {9}).Constant<int16_t>({}, {4}).Check(0,
                                                                                                 0);
  OneNodeRun of_one("Range");
  of_one.Constant<int64_t>({1}, {2}).Constant<int64_t>({}, {9}).Constant<int64_t>({1}, {3});
  of_one.Check(0, 0);
  OneNodeRun of_two("Range");
  of_two.Constant<int64_t>({2}, {2, 3}).Constant<int64_t>({}, {9}).Constant<int64_t>({}, {3});
  EXPECT_NE(of_two.Failure().find("Range takes one number as input 0, got int64[2]"),
            std::string::npos);
  OneNodeRun axis("Unsqueeze");
  axis.In(Random<float>({3, 2})).Constant<int64_t>({}, {-1}).Check(0, 0);
  CheckSixteenBitRange(DType::kFloat16, FloatToHalf);
  CheckSixteenBitRange(DType::kBfloat16, FloatToBfloat16);
  OneNodeRun constant("Constant");
  constant.With("value_floats", std::vector<double>{1, 2.5}).Check(0, 0);
  OneNodeRun tensor("Constant");
  tensor.WithTensor("value", Random<int32_t>({2, 2})).Check(0, 0);
  for (int64_t k : {-9, -1, 0, 2, 9}) {
    OneNodeRun eye("EyeLike");
    eye.In(Random<double>({4, 3})).With("k", k).Check(0, 0);
  }
}

TEST_F(MovementTest, EmptyTensors) {
  OneNodeRun transpose("Transpose");
  EXPECT_EQ(transpose.In(Random<float>({0, 3, 2})).MustRun()[0].dims(), (Dims{2, 3, 0}));
  OneNodeRun gather("Gather");
  gather.In(Random<float>({0, 3})).In<int64_t>({0}, {});
  EXPECT_EQ(gather.MustRun()[0].dims(), (Dims{0, 3}));
  OneNodeRun grad("GatherGrad", "headrace.grad");
  grad.In(Random<float>({0, 3})).In<int64_t>({0}, {}).In(Random<float>({4, 3})).Check(0, 0);
}

}  // namespace
}  // namespace hr::cpu
