// Products whose results go through Gelu, as an operator and as exporters write it.
#include <cmath>
#include <numbers>

#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

class GeluOfProducts : public QuantizedChains {
 protected:
  static constexpr double kDistance = 2e-6;

  ValueId Product(bool bias) {
    const int64_t m = Between(1, 40), n = Between(1, 70), k = Between(1, 40);
    const ValueId y = Apply("MatMul", {Fed({m, k}, -1, 1), Fed({k, n}, -1, 1)});
    return bias ? Apply("Add", {y, Fed({n}, -1, 1)}) : y;
  }
  ValueId Number(double number) { return Constant({}, number, number); }
  ValueId Times(ValueId a, ValueId b) {
    return Chance() ? Apply("Mul", {a, b}) : Apply("Mul", {b, a});
  }
  ValueId Scaled(ValueId x) {
    return Chance() ? Apply("Div", {x, Number(std::numbers::sqrt2)})
                    : Times(x, Number(std::numbers::sqrt2 / 2));
  }
  // 1 + erf(x / sqrt(2))
  ValueId Sum(ValueId x) {
    const ValueId erf = Apply("Erf", {Scaled(x)});
    return Chance() ? Apply("Add", {erf, Number(1)}) : Apply("Add", {Number(1), erf});
  }
  ValueId Half(ValueId x) {
    return Chance() ? Times(x, Number(0.5)) : Apply("Div", {x, Number(2)});
  }
};

TEST_F(GeluOfProducts, IsPartOfThem) {
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round, Reset()) {
    const ValueId x = Product(true);
    ValueId y = x;
    switch (round % 4) {
      case 0: y = Apply("Gelu", {x}); break;
      case 1: y = Times(Times(x, Sum(x)), Number(0.5)); break;
      case 2: y = Times(Half(x), Sum(x)); break;
      default: y = Times(Times(Sum(x), Number(0.5)), x); break;
    }
    Check(y, kDistance, "+gelu\"", "elementwise");
  }
}

TEST_F(GeluOfProducts, WhatIsAlmostGeluIsNot) {
  const auto leaves = [&](ValueId y) {
    Check(y, kDistance, "", "+gelu");
    Reset();
  };
  leaves(Apply("Gelu", {Product(true)}, {{"approximate", "tanh"}}));
  ValueId x = Product(true);
  leaves(Times(Times(x, Sum(x)), Number(0.25)));
  x = Product(true);
  leaves(Times(Half(x), Apply("Add", {Apply("Erf", {x}), Number(1)})));
  x = Product(true);
  leaves(Times(Half(x), Apply("Sub", {Number(1), Apply("Erf", {Scaled(x)})})));
  x = Product(true);  // which something else takes, too
  leaves(Apply("Add", {Times(Half(x), Sum(x)), x}));
  x = Product(true);
  const ValueId half = Half(x);
  leaves(Apply("Add", {Times(half, Sum(x)), half}));
  x = Product(true);
  const ValueId sum = Sum(x);
  leaves(Apply("Add", {Times(Half(x), sum), sum}));
}

// A constant with more axes than the product gives the result its own.
TEST_F(GeluOfProducts, KeepsTheShape) {
  const ValueId x = Product(true);
  Check(Apply("Mul", {Apply("Mul", {x, Sum(x)}), Constant({1, 1, 1}, 0.5, 0.5)}), kDistance, "",
        "+gelu");
}

TEST_F(GeluOfProducts, PassesOnWhatIsNotFinite) {
  const ValueId a = Fed({3, 1}, -1, 1), b = Fed({1, 4}, -1, 1), bias = Fed({4}, -1, 1);
  const auto set = [&](size_t feed, size_t at, float value) {
    feeds_[feed].second.as<float>()[at] = value;
  };
  set(0, 1, INFINITY), set(0, 2, NAN), set(1, 0, 1);
  const ValueId y = Apply("Gelu", {Apply("Gemm", {a, b, bias})});
  const std::vector<float> want = Run(y, false), got = Run(y, true);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << i;
    } else {
      EXPECT_NEAR(got[i], want[i], kDistance) << i;
    }
  }
}

}  // namespace
}  // namespace hr::lowering
