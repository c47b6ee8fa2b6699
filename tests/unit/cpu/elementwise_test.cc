#include "backends/cpu/kernels/elementwise.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

using Spans = std::vector<std::span<const int64_t>>;

// Runs a program of float-like values on vectors.
class ElementwiseTest : public KernelTest {
 protected:
  // One operation on same-shape operands.
  template <typename T>
  std::vector<T> Apply(ElementOp op, const std::vector<std::vector<T>>& operands) {
    ElementProgramBuilder builder(DTypeOf<T>::value);
    std::array<int, 3> x{};
    for (size_t i = 0; i < operands.size(); ++i) x[i] = builder.Input(DTypeOf<T>::value);
    const int y = operands.size() == 1   ? builder.Apply(op, {x[0]})
                  : operands.size() == 2 ? builder.Apply(op, {x[0], x[1]})
                                         : builder.Apply(op, {x[0], x[1], x[2]});
    builder.Output(y, DTypeOf<T>::value);
    auto program = builder.Build();
    EXPECT_TRUE(program.ok()) << program.status().message();
    const std::array<int64_t, 1> dims = {static_cast<int64_t>(operands[0].size())};
    const Spans shapes(operands.size(), dims);
    auto layout = ElementLayout::Make(dims, shapes);
    std::vector<T> out(operands[0].size());
    std::vector<const void*> in;
    for (const auto& operand : operands) in.push_back(operand.data());
    void* outputs[] = {out.data()};
    RunElementProgram(three_, program.value(), layout.value(), in, outputs, 3);
    return out;
  }

  template <typename T>
  void ExpectUnary(ElementOp op, const std::function<double(double)>& want, double low, double high,
                   double tolerance) {
    std::vector<T> x;
    for (int i = 0; i <= 1000; ++i) x.push_back(static_cast<T>(low + (high - low) * i / 1000));
    const auto y = Apply<T>(op, {x});
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = want(static_cast<double>(x[i]));
      ASSERT_NEAR(y[i], expected, tolerance * (1 + std::fabs(expected)))
          << ops::InfoOf(op).name << "(" << x[i] << ")";
    }
  }

  void ExpectUnary(ElementOp op, double (*want)(double), double low, double high) {
    ExpectUnary<float>(op, want, low, high, 3e-7);
    ExpectUnary<double>(op, want, low, high, 2e-15);
  }
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

TEST_P(ElementwiseTest, Functions) {
  using enum ElementOp;
  const std::pair<ElementOp, double (*)(double)> everywhere[] = {
      {kExp, std::exp},
      {kExpm1, std::expm1},
      {kTanh, std::tanh},
      {kSigmoid, Sigmoid},
      {kErf, std::erf},
      {kSoftplus, Softplus},
      {kSin, std::sin},
      {kCos, std::cos},
      {kAtan, std::atan},
      {kSinh, std::sinh},
      {kCosh, std::cosh},
      {kAsinh, std::asinh},
      {kFloor, std::floor},
      {kCeil, std::ceil},
      {kRound, std::nearbyint},
      {kAbs, std::fabs},
      {kGelu, [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }},
      {kGeluTanh,
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {kMish, [](double x) { return x * std::tanh(Softplus(x)); }},
      {kSoftsign, [](double x) { return x / (1 + std::fabs(x)); }},
      {kHardSwish, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {kRelu, [](double x) { return x > 0 ? x : 0; }},
      {kSquare, [](double x) { return x * x; }},
      {kNeg, [](double x) { return -x; }},
      {kIdentity, [](double x) { return x; }},
      {kSign, [](double x) { return x > 0   ? 1.
                                    : x < 0 ? -1.
                                            : 0.; }},
      {kNot, [](double x) { return x == 0 ? 1. : 0.; }}};
  for (const auto& [op, want] : everywhere) ExpectUnary(op, want, -9, 9);
  for (auto [op, want] : {std::pair<ElementOp, double (*)(double)>{kLog, std::log},
                          {kSqrt, std::sqrt},
                          {kAcosh, std::acosh},
                          {kReciprocal, [](double x) { return 1 / x; }}}) {
    ExpectUnary(op, want, 1, 50);
  }
  for (auto [op, want] : {std::pair<ElementOp, double (*)(double)>{kAsin, std::asin},
                          {kAcos, std::acos},
                          {kAtanh, std::atanh},
                          {kTan, std::tan}}) {
    ExpectUnary(op, want, -0.99, 0.99);
  }
}

TEST_P(ElementwiseTest, FloatEdges) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto is = [&](ElementOp op, float x, float want) {
    const float got = Apply<float>(op, {{x}})[0];
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
        << ops::InfoOf(op).name << "(" << x << ") = " << got << ", want " << want;
  };
  using enum ElementOp;
  is(kExp, inf, inf), is(kExp, -inf, 0), is(kExp, nan, nan), is(kExp, 0, 1), is(kExp, 1000, inf);
  is(kExp, -100, std::exp(-100.f)), is(kExp, 88.5f, std::exp(88.5f));
  is(kLog, 0, -inf), is(kLog, -1, nan), is(kLog, inf, inf), is(kLog, nan, nan), is(kLog, 1, 0);
  is(kLog, 1e-40f, static_cast<float>(std::log(static_cast<double>(1e-40f))));
  is(kTanh, inf, 1), is(kTanh, -inf, -1), is(kTanh, nan, nan), is(kTanh, 1e-30f, 1e-30f);
  is(kSigmoid, inf, 1), is(kSigmoid, -inf, 0), is(kSigmoid, nan, nan), is(kErf, inf, 1);
  is(kErf, nan, nan), is(kSin, inf, nan), is(kCos, 1e6f, std::cos(1e6f)), is(kRelu, nan, nan);
  is(kSqrt, -1, nan), is(kSign, nan, nan), is(kIsNaN, nan, 1), is(kIsNaN, inf, 0);
  is(kIsInf, -inf, 1), is(kIsInf, nan, 0), is(kRound, 2.5f, 2), is(kRound, 1e10f, 1e10f);
  is(kExpm1, 88.6f, std::expm1(88.6f)), is(kExpm1, -inf, -1), is(kSoftplus, inf, inf);
  EXPECT_TRUE(std::isnan(Apply<float>(kMax, {{nan}, {1}})[0]));
  EXPECT_TRUE(std::isnan(Apply<float>(kMin, {{1}, {nan}})[0]));
}

TEST_P(ElementwiseTest, TwoAndThreeOperands) {
  using enum ElementOp;
  const std::vector<float> a = {-2, -1, 0, 1, 2, 3}, b = {1, -1, 3, 1, 0.5f, -2};
  const std::vector<float> c = {0, 1, 0, 1, 0, 1};
  const auto check = [&](ElementOp op, float (*want)(float, float)) {
    const auto y = Apply<float>(op, {a, b});
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_FLOAT_EQ(y[i], want(a[i], b[i]))
          << ops::InfoOf(op).name << " " << a[i] << ", " << b[i];
    }
  };
  check(kAdd, [](float x, float y) { return x + y; });
  check(kSub, [](float x, float y) { return x - y; });
  check(kMul, [](float x, float y) { return x * y; });
  check(kDiv, [](float x, float y) { return x / y; });
  check(kMin, [](float x, float y) { return std::min(x, y); });
  check(kMax, [](float x, float y) { return std::max(x, y); });
  check(kFmod, [](float x, float y) { return std::fmod(x, y); });
  check(kEqual, [](float x, float y) { return x == y ? 1.f : 0.f; });
  check(kLess, [](float x, float y) { return x < y ? 1.f : 0.f; });
  check(kLessOrEqual, [](float x, float y) { return x <= y ? 1.f : 0.f; });
  check(kGreater, [](float x, float y) { return x > y ? 1.f : 0.f; });
  check(kGreaterOrEqual, [](float x, float y) { return x >= y ? 1.f : 0.f; });
  check(kAnd, [](float x, float y) { return x != 0 && y != 0 ? 1.f : 0.f; });
  check(kOr, [](float x, float y) { return x != 0 || y != 0 ? 1.f : 0.f; });
  check(kXor, [](float x, float y) { return (x != 0) != (y != 0) ? 1.f : 0.f; });
  check(kLeakyRelu, [](float x, float y) { return x < 0 ? x * y : x; });
  check(kThresholdedRelu, [](float x, float y) { return x > y ? x : 0; });
  check(kElu, [](float x, float y) { return x < 0 ? y * std::expm1(x) : x; });
  check(kCelu, [](float x, float y) { return x < 0 ? y * std::expm1(x / y) : x; });
  check(kReluGrad, [](float dy, float y) { return y > 0 ? dy : 0; });
  check(kTanhGrad, [](float dy, float y) { return dy * (1 - y * y); });
  check(kSigmoidGrad, [](float dy, float y) { return dy * y * (1 - y); });
  EXPECT_EQ(Apply<float>(kPow, {{2, 3, -2}, {2, 2, 2}}), (std::vector<float>{4, 9, 4}));
  EXPECT_EQ(Apply<float>(kPow, {{2, 9}, {3, 0.5f}}), (std::vector<float>{8, 3}));
  EXPECT_EQ(Apply<float>(kWhere, {c, a, b}), (std::vector<float>{1, -1, 3, 1, 0.5f, 3}));
  EXPECT_EQ(Apply<float>(kClip, {a, c, c}), c);
  EXPECT_EQ(Apply<float>(kMulAdd, {{2}, {3}, {4}})[0], 10);
  EXPECT_EQ(Apply<float>(kHardSigmoid, {{-9, 1, 9}, {0.25f, 0.25f, 0.25f}, {0.5f, 0.5f, 0.5f}}),
            (std::vector<float>{0, 0.75f, 1}));
  EXPECT_FLOAT_EQ(Apply<float>(kSelu, {{-1}, {2}, {3}})[0], 6 * std::expm1(-1.f));
}

// Against differences of the function itself.
TEST_P(ElementwiseTest, GeluGradients) {
  using enum ElementOp;
  for (auto [function, gradient] : {std::pair{kGelu, kGeluGrad}, {kGeluTanh, kGeluTanhGrad}}) {
    for (double x = -4; x < 4; x += 0.3) {
      const double h = 1e-5;
      const auto y = Apply<double>(function, {{x - h, x + h}});
      EXPECT_NEAR(Apply<double>(gradient, {{3}, {x}})[0], 3 * (y[1] - y[0]) / (2 * h), 1e-8);
    }
  }
}

TEST_P(ElementwiseTest, Integers) {
  using enum ElementOp;
  const int64_t low = std::numeric_limits<int64_t>::min();
  using V = std::vector<int64_t>;
  EXPECT_EQ(Apply<int64_t>(kDiv, {{7, -7, 5, low}, {2, 2, 0, -1}}), (V{3, -3, 0, low}));
  EXPECT_EQ(Apply<int64_t>(kMod, {{7, -7, 7, 5, low}, {3, 3, -3, 0, -1}}), (V{1, 2, -2, 0, 0}));
  EXPECT_EQ(Apply<int64_t>(kFmod, {{7, -7, 7}, {3, 3, -3}}), (V{1, -1, 1}));
  EXPECT_EQ(Apply<int64_t>(kPow, {{3, -1, 2, -1, 0}, {4, -3, -1, -2, 0}}), (V{81, -1, 0, 1, 1}));
  EXPECT_EQ(Apply<int64_t>(kAbs, {{-3, 4, low}}), (V{3, 4, low}));
  EXPECT_EQ(Apply<int64_t>(kShiftLeft, {{1, 1}, {4, 64}}), (V{16, 0}));
  EXPECT_EQ(Apply<int64_t>(kBitwiseNot, {{0}}), (V{-1}));
  EXPECT_EQ(Apply<int64_t>(kWhere, {{1, 0}, {5, 6}, {7, 8}}), (V{5, 8}));
  const int32_t least = std::numeric_limits<int32_t>::min();
  using W = std::vector<int32_t>;
  EXPECT_EQ(Apply<int32_t>(kMul, {{1 << 30}, {4}}), W{0});
  EXPECT_EQ(Apply<int32_t>(kDiv, {{7, -7, 5, least}, {2, 2, 0, -1}}), (W{3, -3, 0, least}));
  EXPECT_EQ(Apply<int32_t>(kMod, {{-7, 7, least}, {3, -3, -1}}), (W{2, -2, 0}));
  EXPECT_EQ(Apply<int32_t>(kPow, {{3, -1, 46341}, {4, -3, 2}}), (W{81, -1, -2147479015}));
  EXPECT_EQ(Apply<int32_t>(kShiftLeft, {{1, 1, 1}, {31, 32, 64}}), (W{least, 0, 0}));
  EXPECT_EQ(Apply<int32_t>(kShiftRight, {{256, 256}, {4, 40}}), (W{16, 0}));
  EXPECT_EQ(Apply<int32_t>(kAbs, {{least}}), W{least});
  EXPECT_EQ(Apply<uint32_t>(kGreater, {{~0u}, {1}}), std::vector<uint32_t>{1});
  EXPECT_EQ(Apply<uint32_t>(kSub, {{1}, {2}}), std::vector<uint32_t>{~0u});
  EXPECT_EQ(Apply<uint64_t>(kGreater, {{~0ull}, {1}}), (std::vector<uint64_t>{1}));
}

TEST_P(ElementwiseTest, NarrowIntegersWrapAtEachOperator) {
  ElementProgramBuilder builder(DType::kUint8);  // (a + b) / 2
  const int a = builder.Input(DType::kUint8), b = builder.Input(DType::kUint8);
  const int sum = builder.Apply(ElementOp::kAdd, {a, b});
  builder.Output(builder.Apply(ElementOp::kDiv, {sum, builder.Constant(2.0)}), DType::kUint8);
  const auto program = builder.Build().value();
  const std::array<int64_t, 1> dims = {1};
  const auto layout = ElementLayout::Make(dims, Spans{dims, dims}).value();
  const uint8_t x = 200, y = 100;
  uint8_t out = 0;
  const void* in[] = {&x, &y};
  void* outs[] = {&out};
  RunElementProgram(one_, program, layout, in, outs, 1);
  EXPECT_EQ(out, (200 + 100 - 256) / 2);
}

// relu(x * 2 + bias) > 1 ? x : 0, and the sum itself, with x [3, 5, 700], bias [5, 1]
TEST_P(ElementwiseTest, ChainsBroadcastAndConvert) {
  ElementProgramBuilder builder(DType::kFloat32);
  const int x = builder.Input(DType::kFloat32), bias = builder.Input(DType::kFloat64);
  const int scale = builder.Input(DType::kInt32);
  const int sum =
      builder.Apply(ElementOp::kAdd, {builder.Apply(ElementOp::kMul, {x, scale}), bias});
  const int relu = builder.Apply(ElementOp::kRelu, {sum});
  const int big = builder.Apply(ElementOp::kGreater, {relu, builder.Constant(1.0)});
  builder.Output(builder.Apply(ElementOp::kWhere, {big, x, builder.Constant(0.0)}),
                 DType::kFloat32);
  builder.Output(sum, DType::kFloat32);
  builder.Output(big, DType::kBool);
  auto program = builder.Build();
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::array<int64_t, 3> dims = {3, 5, 700};
  const std::array<int64_t, 2> bias_dims = {5, 1};
  const auto layout = ElementLayout::Make(dims, Spans{dims, bias_dims, {}}).value();
  const auto xs = Random<float>(3 * 5 * 700);
  const auto biases = Random<double>(5);
  const int32_t two = 2;
  std::vector<float> first(xs.size()), second(xs.size());
  std::vector<uint8_t> third(xs.size());
  const void* in[] = {xs.data(), biases.data(), &two};
  void* outs[] = {first.data(), second.data(), third.data()};
  for (int slices : {1, 3}) {
    RunElementProgram(three_, program.value(), layout, in, outs, slices);
    for (size_t i = 0; i < xs.size(); ++i) {
      const float want = xs[i] * 2 + static_cast<float>(biases[i / 700 % 5]);
      ASSERT_NEAR(second[i], want, 1e-6);
      ASSERT_EQ(third[i], second[i] > 1);
      ASSERT_EQ(first[i], second[i] > 1 ? xs[i] : 0) << i;
    }
  }
}

// Some rows have several blocks, some blocks begin within rows and end planes later.
TEST_P(ElementwiseTest, BroadcastsOfEveryKind) {
  ElementProgramBuilder builder(DType::kFloat32);
  builder.Output(builder.Apply(ElementOp::kIdentity, {builder.Input(DType::kFloat32)}),
                 DType::kFloat32);
  const auto program = builder.Build().value();
  const std::array<int64_t, 4> all[] = {{2, 3, 4, 5}, {5, 9, 40, 3}, {3, 2, 2, 700}};
  for (int kept = 0; kept < 16 * 3; ++kept) {  // which dimensions are not 1, of which shape
    const auto& dims = all[kept / 16];
    Dims input;
    for (int i = 0; i < 4; ++i) input.push_back(kept >> i & 1 ? dims[static_cast<size_t>(i)] : 1);
    const auto data = Random<float>(ElementCount(input));
    const auto layout = ElementLayout::Make(dims, Spans{input}).value();
    const int64_t count = ElementCount(dims);
    std::vector<float> out(static_cast<size_t>(count));
    const void* in[] = {data.data()};
    void* outs[] = {out.data()};
    RunElementProgram(one_, program, layout, in, outs, 2);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, offset = 0, stride = 1;
      for (size_t d = 4; d-- > 0; rest /= dims[d]) {
        offset += input[d] == 1 ? 0 : rest % dims[d] * stride;
        stride *= input[d];
      }
      ASSERT_EQ(out[static_cast<size_t>(i)], data[static_cast<size_t>(offset)]) << kept;
    }
  }
}

TEST_P(ElementwiseTest, RegistersAreReused) {
  ElementProgramBuilder builder(DType::kFloat64);
  int value = builder.Input(DType::kFloat64);
  for (int i = 0; i < 100; ++i) value = builder.Apply(ElementOp::kAdd, {value, value});
  builder.Output(value, DType::kFloat64);
  const auto program = builder.Build().value();
  const auto layout = ElementLayout::Make({}, Spans{{}}).value();
  double x = 1, y = 0;
  const void* in[] = {&x};
  void* outs[] = {&y};
  RunElementProgram(one_, program, layout, in, outs, 1);
  EXPECT_EQ(y, std::ldexp(1.0, 100));
}

// An output read by a later instruction, written over its own input.
TEST_P(ElementwiseTest, InPlace) {
  ElementProgramBuilder builder(DType::kFloat32);
  const int x = builder.Input(DType::kFloat32);
  builder.Output(builder.Apply(ElementOp::kNeg, {x}), DType::kFloat32);
  const auto program = builder.Build().value();
  const std::array<int64_t, 1> dims = {1000};
  const auto layout = ElementLayout::Make(dims, Spans{dims}).value();
  auto data = Random<float>(1000);
  const auto before = data;
  const void* in[] = {data.data()};
  void* outs[] = {data.data()};
  RunElementProgram(three_, program, layout, in, outs, 3);
  for (size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], -before[i]);
}

TEST_P(ElementwiseTest, ErrorsSayWhat) {
  ElementProgramBuilder unknown(DType::kInt32);
  unknown.Output(unknown.Apply(ElementOp::kExp, {unknown.Input(DType::kInt32)}), DType::kInt32);
  EXPECT_EQ(unknown.Build().status().message(), "element-wise Exp has no meaning for int32");
  ElementProgramBuilder operands(DType::kFloat32);
  operands.Apply(ElementOp::kAdd, {operands.Input(DType::kFloat32)});
  EXPECT_EQ(operands.Build().status().message(), "element-wise Add takes 2 operands, got 1");
  const std::array<int64_t, 1> three = {3}, two = {2};
  EXPECT_FALSE(ElementLayout::Make(three, Spans{two}).ok());
}

TEST_P(ElementwiseTest, EmptyTensors) {
  EXPECT_TRUE(Apply<float>(ElementOp::kAdd, {{}, {}}).empty());
}

TEST_P(ElementwiseTest, Casts) {
  const float nan = std::nanf("");
  const std::vector<float> from = {1.7f, -1.7f, 300, nan, 1e30f, -0.0f};
  const auto cast = [&](DType dtype, auto zero) {
    std::vector<decltype(zero)> to(from.size());
    Cast(three_, DType::kFloat32, from.data(), dtype, to.data(), 6, 2);
    return to;
  };
  EXPECT_EQ(cast(DType::kInt32, int32_t{}),
            (std::vector<int32_t>{1, -1, 300, 0, std::numeric_limits<int32_t>::max(), 0}));
  EXPECT_EQ(cast(DType::kBool, uint8_t{}), (std::vector<uint8_t>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(cast(DType::kUint8, uint8_t{}), (std::vector<uint8_t>{1, 0, 255, 0, 255, 0}));
  EXPECT_EQ(cast(DType::kFloat16, uint16_t{})[2], 0x5cb0);
  EXPECT_EQ(cast(DType::kFloat16, uint16_t{})[4], 0x7c00);
  EXPECT_EQ(cast(DType::kBfloat16, uint16_t{})[2], 0x4396);
  const std::vector<int64_t> wide = {257, -1, 1ll << 40, (1ll << 53) + 1};
  std::vector<uint8_t> narrow(4);
  Cast(one_, DType::kInt64, wide.data(), DType::kUint8, narrow.data(), 4, 1);
  EXPECT_EQ(narrow, (std::vector<uint8_t>{1, 255, 0, 1}));
  std::vector<double> doubles(4);
  Cast(one_, DType::kInt64, wide.data(), DType::kFloat64, doubles.data(), 4, 1);
  EXPECT_EQ(doubles[3], 0x1p53);
  std::vector<int64_t> back(4);
  Cast(one_, DType::kUint8, narrow.data(), DType::kInt64, back.data(), 4, 1);
  EXPECT_EQ(back, (std::vector<int64_t>{1, 255, 0, 1}));
}

HR_KERNEL_TESTS(ElementwiseTest);

}  // namespace
}  // namespace hr::cpu
