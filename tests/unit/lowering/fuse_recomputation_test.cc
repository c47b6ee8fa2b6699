// Activations that a gradient's step computes again are what they were.
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

// y = f(x) feeds a product; a "gradient" is computed of x and that product, and another product
// takes y behind both.
class Recomputation : public QuantizedChains {
 protected:
  // Some function of x, whose `inner` the gradient may take, too.
  ValueId Function(ValueId x, ValueId* inner) {
    const char* const ops[] = {"Erf", "Tanh", "Sigmoid", "Softplus", "LeakyRelu"};
    const char* const op = ops[Between(0, 4)];
    const ValueId of = Chance() ? x : Apply("Mul", {x, Constant({}, 0, 1)});
    const bool has_slope = std::string_view(op) == "LeakyRelu";  // as the HardSigmoid below
    *inner = has_slope ? Apply(op, {of}, {{"alpha", 0.5f}}) : Apply(op, {of});
    return Apply("Mul", {*inner, Chance() ? x : Constant({}, 1, 2)});
  }
  ValueId Gradient(ValueId x, ValueId inner, ValueId dy) {
    const ValueId slope = Chance()   ? Apply("HardSigmoid", {x})
                          : Chance() ? Apply("Cos", {x})
                                     : Apply("Mul", {x, Apply("Sin", {x})});
    const ValueId sum = Chance() ? slope : Apply("Add", {inner, slope});
    return Chance() ? Apply("Mul", {sum, dy}) : Apply("Mul", {dy, sum});
  }
  ValueId Weights() { return Constant({kWidth, kWidth}, -1, 1); }
  ValueId Reshaped(ValueId x) {
    const int64_t dims[] = {1, -1, kWidth};
    return Apply(
        "Reshape",
        {x, *builder_->Constant(
                MakeTensor<int64_t>(SystemAllocator(), Dims{3}, std::span(dims)).value())});
  }

  // Blocks of 512 elements and a rest.
  static constexpr int64_t kRows = 41, kWidth = 50;
};

TEST_F(Recomputation, GivesWhatTheForwardPassGave) {
  for (int round = 0; round < 100 && !HasFailure(); ++round, Reset()) {
    const ValueId x = Apply("MatMul", {Fed({kRows, kWidth}, -1, 1), Weights()});
    ValueId inner;
    const ValueId y = Function(x, &inner), z = Apply("MatMul", {y, Weights()});
    const ValueId dy = Chance() ? z : Apply("MatMul", {z, Weights()});
    const ValueId dx = Gradient(x, inner, dy);
    const ValueId late = Apply("MatMul", {Apply("Transpose", {z}), Chance() ? Reshaped(y) : y});
    Check(Apply("MatMul", {dx, late}), 1e-3, "", "nothing");
  }
}

TEST_F(Recomputation, IsPartOfTheGradientsStep) {
  const ValueId x = Apply("MatMul", {Fed({kRows, kWidth}, -1, 1), Weights()});
  const ValueId y = Apply("Erf", {x}), dy = Apply("MatMul", {y, Weights()});
  const ValueId dx = Apply("Mul", {Apply("Cos", {x}), dy});
  const ValueId late = Apply("MatMul", {Apply("Transpose", {dy}), Reshaped(y)});
  Check(Apply("MatMul", {dx, late}), 1e-3, "elementwise Erf+Cos+Mul", "nothing");
}

TEST_F(Recomputation, IsLeftOutWhereTheValueIsKeptAnyway) {
  const ValueId x = Apply("MatMul", {Fed({kRows, kWidth}, -1, 1), Weights()});
  const ValueId y = Apply("Erf", {x}), dy = Apply("MatMul", {y, Weights()});
  const std::string_view joined = "elementwise Erf+";
  {  // the step reads y itself
    const ValueId dx = Apply("Mul", {Apply("Cos", {x}), Apply("Mul", {dy, y})});
    Check(Apply("MatMul", {dx, Apply("MatMul", {Apply("Transpose", {dy}), y})}), 1e-3, "", joined);
  }
  {  // the function is dear
    const ValueId dear = Apply("Atan", {x}), other = Apply("MatMul", {dear, Weights()});
    const ValueId dx = Apply("Mul", {Apply("Cos", {x}), other});
    const ValueId late = Apply("MatMul", {Apply("Transpose", {other}), dear});
    Check(Apply("MatMul", {dx, late}), 1e-3, "", "elementwise Atan+Cos");
  }
  {  // what takes y late comes before the step
    const ValueId late = Apply("MatMul", {Apply("Transpose", {dy}), y});
    Check(Apply("Mul", {Apply("Cos", {x}), Apply("MatMul", {dy, late})}), 1e-1, "", joined);
  }
}

}  // namespace
}  // namespace hr::lowering
