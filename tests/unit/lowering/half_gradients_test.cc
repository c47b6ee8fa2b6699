// Gradients of 16 bits are those of the formulas, where nodes are joined, too.
#include "runtime/transform/gradients.h"
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

class HalfGradients : public QuantizedChains {
 protected:
  // Of the float32 that is fed.
  ValueId Narrowed(ValueId x, DType dtype) {
    return Apply("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}});
  }
  ValueId GradientOf(ValueId y, ValueId x) {
    const auto gradients = transform::AddGradients(*builder_, std::span(&y, 1), std::span(&x, 1));
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    return Narrowed((*gradients)[0], DType::kFloat32);
  }
};

// The clipped value is rounded to be stored; what is compared with it must be so, too.
TEST_F(HalfGradients, OfAClipBehindAFunction) {
  for (const DType dtype : {DType::kBfloat16, DType::kFloat16}) {
    for (const char* const op : {"Sin", "Tanh", "Sigmoid", "Softplus"}) {
      for (const char* const limit : {"Clip", "Max"}) {
        Reset();
        const ValueId x = Narrowed(Fed({16, 20}, -1, 1), dtype), f = Apply(op, {x});
        const ValueId low = Narrowed(Constant({}, -3, -2), dtype);
        const ValueId y = Apply(limit, {f, low});
        const ValueId product = Apply("MatMul", {y, Narrowed(Constant({20, 5}, 1, 2), dtype)});
        const ValueId slope = GradientOf(product, x);
        // A copy, so that the clipped value is in memory.
        const ValueId copies = Apply("Concat", {y, Narrowed(slope, dtype)}, {{"axis", int64_t{0}}});
        Check(Narrowed(copies, DType::kFloat32), 0.1, "", "nothing");
      }
    }
  }
}

// 90,000 is beyond float16, and no number of bfloat16.
TEST_F(HalfGradients, OfALargeMean) {
  for (const DType dtype : {DType::kBfloat16, DType::kFloat16}) {
    Reset();
    const ValueId x = Narrowed(Fed({300, 300}, -1, 1), dtype);
    const ValueId mean = Apply("ReduceMean", {x}, {{"keepdims", int64_t{0}}});
    const ValueId scaled = Apply("Mul", {mean, Narrowed(Constant({}, 9000, 9000), dtype)});
    const double want = dtype == DType::kFloat16 ? 0.1 : 9024.0 / 90000;
    for (const float got : Run(GradientOf(scaled, x), true)) ASSERT_NEAR(got, want, want * 0x1p-8);
  }
}

TEST_F(HalfGradients, OfExponentialsFarBelowZero) {
  for (const char* const op : {"Elu", "Selu", "Celu"}) {
    Reset();
    const ValueId x = Fed({4}, -14, -10);
    const double factor =
        std::string_view(op) == "Selu" ? 1.0507009873554805 * 1.6732632423543772 : 1;
    const std::vector<float> got = Run(GradientOf(Apply(op, {x}), x), true);
    for (size_t i = 0; i < got.size(); ++i) {
      const double want = factor * std::exp(static_cast<double>(feeds_[0].second.as<float>()[i]));
      EXPECT_NEAR(got[i] / want, 1, 1e-5) << op;
    }
  }
}

}  // namespace
}  // namespace hr::lowering
