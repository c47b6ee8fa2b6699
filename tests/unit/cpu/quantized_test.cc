// Operators of 8-bit numbers against what they are composed of, in exact arithmetic.
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class QuantizedTest : public testing::Test {
 protected:
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool Chance() { return Between(0, 1) != 0; }
  std::vector<float> Floats(const Dims& dims, double low, double high) {
    std::vector<float> out(static_cast<size_t>(ElementCount(dims)));
    std::uniform_real_distribution<double> uniform(low, high);
    for (float& x : out) x = static_cast<float>(uniform(engine_));
    return out;
  }
  template <typename T>
  std::vector<T> Bytes(const Dims& dims) {
    std::vector<T> out(static_cast<size_t>(ElementCount(dims)));
    for (T& x : out) x = static_cast<T>(Between(0, 255));
    return out;
  }

  // An operand of 8 bits, known to the plan or fed.
  void AddBytes(OneNodeRun& run, const Dims& dims, bool is_signed, bool constant) {
    const Tensor tensor = is_signed ? OneNodeRun::Make(dims, Bytes<int8_t>(dims))
                                    : OneNodeRun::Make(dims, Bytes<uint8_t>(dims));
    constant ? run.Constant(tensor) : run.In(tensor);
  }
  void AddScale(OneNodeRun& run, const Dims& dims) {
    run.In<float>(dims, Floats(dims, 0.001, 0.02));
  }

  // (a, a_zero?, b, b_zero?), with scales if it is a QLinear operator.
  void AddOperands(OneNodeRun& run, bool scales, const Dims& a, const Dims& a_each, const Dims& b,
                   const Dims& b_each) {
    const bool a_signed = Chance(), b_signed = Chance(), constant = Chance();
    AddBytes(run, a, a_signed, false);
    if (!scales) {
      AddBytes(run, b, b_signed, constant);
      if (Chance()) return;
      AddBytes(run, a_each, a_signed, Chance());
      if (Chance()) AddBytes(run, b_each, b_signed, Chance());
      return;
    }
    AddScale(run, a_each);
    AddBytes(run, a_each, a_signed, Chance());
    AddBytes(run, b, b_signed, constant);
    AddScale(run, b_each);
    AddBytes(run, b_each, b_signed, Chance());
    run.In<float>({}, Floats({}, 0.05, 0.5));
    AddBytes(run, {}, Chance(), Chance());
  }

  void CheckMatMul(const std::string& op) {
    const int64_t m = Between(1, 30), k = Between(1, 70), n = Between(1, 40);
    Dims a = {m, k}, b = {k, n};
    if (Chance()) a.insert(a.begin(), 3);
    if (a.size() == 3 && Chance()) b.insert(b.begin(), Chance() ? 3 : 1);
    const bool rows = Chance();
    OneNodeRun run(op);
    run.Threads(static_cast<int>(Between(1, 3)));
    AddOperands(run, op == "QLinearMatMul", a, rows ? Dims{m} : Dims{}, b,
                rows       ? Dims{}
                : Chance() ? Dims{n}
                           : Dims{1});
    run.Check();
  }

  void CheckConv(const std::string& op, size_t axes) {
    const int64_t groups = Between(1, 3), in = Between(1, 5), out = Between(1, 9);
    Dims x = {Between(1, 3), groups * in}, w = {groups * out, in};
    std::vector<int64_t> pads(2 * axes), strides(axes), dilations(axes);
    for (size_t i = 0; i < axes; ++i) {
      const int64_t kernel = Between(1, 3);
      w.push_back(kernel);
      dilations[i] = Between(1, 2);
      strides[i] = Between(1, 2);
      pads[i] = Between(0, kernel - 1), pads[i + axes] = Between(0, kernel - 1);
      x.push_back(kernel * 2 + Between(0, axes == 1 ? 300 : 14));
    }
    OneNodeRun run(op);
    run.Threads(static_cast<int>(Between(1, 3)));
    run.With("group", groups).With("pads", pads).With("strides", strides);
    run.With("dilations", dilations);
    AddOperands(run, op == "QLinearConv", x, {}, w, Chance() ? Dims{w[0]} : Dims{});
    if (op == "QLinearConv" && Chance()) {
      std::vector<int32_t> bias(static_cast<size_t>(w[0]));
      for (int32_t& b : bias) b = static_cast<int32_t>(Between(-3000, 3000));
      run.In<int32_t>({w[0]}, bias);
    }
    run.Check();
  }

  std::mt19937_64 engine_{11};
};

TEST_F(QuantizedTest, ProductsOfMatrices) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    CheckMatMul(round % 2 == 0 ? "MatMulInteger" : "QLinearMatMul");
  }
}

TEST_F(QuantizedTest, Convolutions) {
  for (size_t round = 0; round < 60 && !HasFatalFailure(); ++round) {
    CheckConv(round % 2 == 0 ? "ConvInteger" : "QLinearConv", 1 + round % 3);
  }
}

TEST_F(QuantizedTest, Vectors) {
  for (const auto& [a, b] : std::vector<std::pair<Dims, Dims>>{
           {{9}, {9, 4}}, {{3, 9}, {9}}, {{9}, {9}}, {{2, 3, 9}, {9}}, {{0, 5}, {5, 3}}}) {
    OneNodeRun run("MatMulInteger");
    AddBytes(run, a, true, false);
    AddBytes(run, b, false, true);
    run.Check();
  }
}

// Nothing is known about a size that changes from run to run but the memory that it needs.
TEST_F(QuantizedTest, QuantizeAndDequantize) {
  for (int round = 0; round < 40; ++round) {
    const Dims dims = {Between(1, 5), Between(1, 6), Between(1, 50)};
    const auto axis = Between(0, 2);
    const Dims each = Chance() ? Dims{} : Dims{dims[static_cast<size_t>(axis)]};
    const bool is_signed = Chance();
    const Tensor zero = is_signed ? OneNodeRun::Make(each, Bytes<int8_t>(each))
                                  : OneNodeRun::Make(each, Bytes<uint8_t>(each));
    OneNodeRun to("QuantizeLinear");
    to.With("axis", axis).In<float>(dims, Floats(dims, -30, 30));
    AddScale(to, each);
    to.In(zero).Check();
    OneNodeRun from("DequantizeLinear");
    AddBytes(from.With("axis", axis), dims, is_signed, false);
    AddScale(from, each);
    from.In(zero).Check();
    if (HasFatalFailure()) return;
  }
}

TEST_F(QuantizedTest, DynamicQuantize) {
  for (const auto& [low, high] : {std::pair(-3.0, 5.0), {0.5, 2.0}, {-7.0, -1.0}, {0.0, 0.0}}) {
    for (const Dims& dims : {Dims{}, Dims{7}, Dims{3, 41}}) {
      OneNodeRun run("DynamicQuantizeLinear");
      run.Threads(3).Outputs(3).In<float>(dims, Floats(dims, low, high)).Check();
    }
  }
}

// Enough for several threads; among so many numbers some are next to a tie in float32.
TEST_F(QuantizedTest, DynamicQuantizeOnThreads) {
  const std::vector<float> x = Floats({130, 1000}, -3, 4);
  OneNodeRun run("DynamicQuantizeLinear");
  const auto out = run.Threads(3).Outputs(3).In<float>({130, 1000}, x).MustRun();
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const float scale = (*most - *least) / 255, zero = std::nearbyint(-*least / scale);
  EXPECT_EQ(ValuesOf<float>(out[1])[0], scale);
  EXPECT_EQ(ValuesOf<uint8_t>(out[2])[0], zero);
  const auto y = ValuesOf<uint8_t>(out[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i], std::clamp(std::nearbyint(x[i] / scale) + zero, 0.0f, 255.0f)) << "at " << i;
  }
}

TEST_F(QuantizedTest, DynamicScaleShowsNaN) {
  std::vector<float> x(200, 1);
  x[130] = NAN;
  OneNodeRun run("DynamicQuantizeLinear");
  const auto out = run.Outputs(3).In<float>({200}, x).MustRun();
  EXPECT_TRUE(std::isnan(ValuesOf<float>(out[1])[0]));
}

}  // namespace
}  // namespace hr::cpu
