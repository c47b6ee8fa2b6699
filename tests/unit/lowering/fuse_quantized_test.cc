// Chains around products of 8-bit numbers: fused they give what they give one node at a time, and
// what exact arithmetic says.
#include <hwy/targets.h>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

// Cast, scale, bias and activation give every bit that they give as nodes.
TEST_F(QuantizedChains, ScaledSumsOfIntegers) {
  for (int round = 0; round < 30 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(1, 20), k = Between(1, 50), n = Between(2, 40);
    const auto x = Quantized(Fed({2, m, k}, -2, 3));
    const bool per_channel = Chance();
    ValueId y = Apply("MatMulInteger", {x[0], Bytes<int8_t>({k, n}, -127, 127), x[2]});
    y = Apply("Cast", {y}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
    const ValueId scale = Constant(per_channel ? Dims{n} : Dims{}, 0.001, 0.01);
    y = Apply("Mul", {y, Apply("Mul", {scale, x[1]})});
    if (Chance()) y = Apply("Add", {Constant({n}, -1, 1), y});
    y = Bounded(y);
    Check(y, 0, "matmul_int8", "cast");
  }
}

TEST_F(QuantizedChains, ScaledSumsOfIntegersInImages) {
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t c = Between(1, 5), oc = Between(2, 20);
    const auto x = Quantized(Fed({2, c, 9, 8}, -2, 3));
    ValueId y = Apply("ConvInteger", {x[0], Bytes<int8_t>({oc, c, 3, 3}, -127, 127), x[2]},
                      {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    y = Apply("Cast", {y}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
    y = Apply("Mul", {y, Apply("Mul", {x[1], Constant({oc, 1, 1}, 0.001, 0.01)})});
    if (Chance()) y = Apply("Add", {y, Constant({1, oc, 1, 1}, -1, 1)});
    Check(y, 0, "conv_int8", "cast");
  }
}

// Quantized results: nodes round while they sum.
TEST_F(QuantizedChains, QuantizedProducts) {
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(1, 20), k = Between(1, 50), n = Between(2, 40);
    const ValueId x = Limited(Fed({m, k}, -3, 3), 0.03);
    const bool gemm = Chance(), transposed = gemm && Chance();
    const ValueId w = Weights(transposed ? Dims{n, k} : Dims{k, n}, transposed ? 0 : 1);
    ValueId y = gemm
                    ? Apply("Gemm", {x, w, Constant({n}, -1, 1)}, {{"transB", int64_t{transposed}}})
                    : Apply("MatMul", {x, w});
    if (!gemm && Chance()) y = Apply("Add", {y, Constant({n}, -1, 1)});
    y = Bounded(y);
    if (Chance()) {
      y = Apply("QuantizeLinear", {y, Constant({}, 0.02, 0.05), Bytes<uint8_t>({}, 90, 150)});
      Check(y, 1, "matmul_int8", "gemm");
    } else {
      Check(y, 1e-4, "matmul_int8", "gemm");
    }
  }
}

TEST_F(QuantizedChains, QuantizedConvolutions) {
  for (int round = 0; round < 30 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t groups = Between(1, 3), c = Between(1, 4), oc = groups * Between(2, 9);
    const ValueId x = Limited(Fed({2, groups * c, 9, 8}, -3, 3), 0.03);
    const ValueId w = Weights({oc, c, 3, 3}, 0);
    const std::vector<int64_t> pads = {1, 0, 1, 2};
    std::initializer_list<graph::AttributeInit> attributes = {{"group", groups}, {"pads", pads}};
    ValueId y = Chance() ? Apply("Conv", {x, w}, attributes)
                         : Apply("Conv", {x, w, Constant({oc}, -1, 1)}, attributes);
    y = Bounded(y);
    if (Chance()) {
      y = Apply("QuantizeLinear", {y, Constant({}, 0.02, 0.05), Bytes<int8_t>({}, -20, 20)});
      Check(y, 1, "conv_int8", "conv_plain");
    } else {
      Check(y, 1e-4, "conv_int8", "conv_plain");
    }
  }
}

TEST_F(QuantizedChains, WeightsAlone) {
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(1, 40), k = Between(1, 50), n = Between(2, 90);
    const bool gemm = Chance(), transposed = gemm && Chance();
    const Dims dims = transposed ? Dims{n, k} : Dims{k, n};
    const ValueId w = Chance() ? Weights(dims, transposed ? 0 : 1) : Short(dims);
    const ValueId x = Fed({m, k}, -3, 3);
    ValueId y = gemm ? Apply("Gemm", {x, w, Constant(Chance() ? Dims{n} : Dims{1}, -1, 1)},
                             {{"transB", int64_t{transposed}}})
                     : Apply("MatMul", {x, w});
    if (!gemm && Chance()) y = Apply("Add", {y, Constant({n}, -1, 1)});
    if (Chance()) y = Apply("Relu", {y});
    Check(y, 1e-4, "gemm_of_narrow", "\"dequantize\"");
  }
}

// Of bfloat16, on instructions for it where the processor has any, and as if it had none.
class Bfloat16Chains : public QuantizedChains, public testing::WithParamInterface<bool> {
 protected:
  Bfloat16Chains() {
    if (!GetParam()) cpu::DisableAvx512();
  }
  ~Bfloat16Chains() override {
#if HWY_ARCH_X86
    hwy::DisableTargets(0);
#endif
  }
};
INSTANTIATE_TEST_SUITE_P(Instructions, Bfloat16Chains, testing::Bool());

// Products of numbers that were rounded to bfloat16 run on instructions for these, if there are
// any; those of which one operand was not rounded are those of the test before.
TEST_P(Bfloat16Chains, ProductsOfRoundedNumbers) {
  const bool has = cpu::KernelsForBfloat16() != nullptr;
  const auto through = [&](ValueId x, DType dtype) {
    return Apply("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}});
  };
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(1, 20), k = Between(1, 50), n = Between(2, 40);
    const bool gemm = Chance(), transposed = gemm && Chance();
    const Dims dims = transposed ? Dims{n, k} : Dims{k, n};
    const auto rounded = [&](ValueId x) {
      return through(through(x, DType::kBfloat16), DType::kFloat32);
    };
    const ValueId x = rounded(Fed({m, k}, -3, 3));
    const ValueId w = Chance() ? rounded(Fed(dims, -1, 1)) : Short(dims, DType::kBfloat16);
    ValueId y = gemm ? Apply("Gemm", {x, w, Constant(Chance() ? Dims{m, 1} : Dims{n}, -1, 1)},
                             {{"transB", int64_t{transposed}}, {"alpha", 0.5}, {"beta", 2.0}})
                     : Apply("MatMul", {x, w});
    if (!gemm && Chance()) y = Apply("Add", {y, Constant({n}, -1, 1)});
    if (Chance()) y = Apply("Relu", {y});
    Check(y, 1e-4, has ? "gemm_bfloat16" : "", has ? "gemm_of_narrow" : "gemm_bfloat16");
  }
}

// A graph of bfloat16: what follows a product is joined with it, and the sum is rounded once.
TEST_P(Bfloat16Chains, Chains) {
  const bool has = cpu::KernelsForBfloat16() != nullptr;
  const auto to = [&](ValueId x, DType dtype) {
    return Apply("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}});
  };
  const auto numbers = [&](const Dims& dims) { return to(Fed(dims, -1, 1), DType::kBfloat16); };
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(1, 20), k = Between(1, 50), n = Between(2, 40);
    const bool conv = Chance(), biased = Chance(), relu = Chance();
    const bool image = conv && biased && Chance();
    ValueId y = conv ? Apply("Conv", {numbers({2, 8, 5, m}), numbers({32, 8, 2, 3})},
                             {{"pads", std::vector<int64_t>{0, 1, 1, 1}}})
                     : Apply("MatMul", {numbers({2, m, k}), numbers({k, n})});
    if (biased) {
      const ValueId bias = numbers(image      ? Dims{2, 32, 5, m}
                                   : conv     ? Dims{32, 1, 1}
                                   : Chance() ? Dims{n}
                                              : Dims{m, n});
      y = Chance() ? Apply("Add", {y, bias}) : Apply("Add", {bias, y});
    }
    if (relu) y = Apply("Relu", {y});
    // Nodes round the product, and the sum again; both are below 32.
    const std::string_view kernel = image  ? "conv_bfloat16+add"
                                    : conv ? "conv_bfloat16"
                                           : "gemm_bfloat16";
    Check(to(y, DType::kFloat32), 2 * 0x1p-8 * 32, has ? kernel : "",
          has ? "\"matmul\"" : "bfloat16");
  }
}

// Between products, quantized numbers are computed with in one pass.
TEST_F(QuantizedChains, SumsOfDequantized) {
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round, Reset()) {
    const Dims dims = {3, Between(1, 9), Between(1, 200)};
    const auto dequantized = [&] {
      return Apply("DequantizeLinear", {Bytes<uint8_t>(dims, 0, 255), Constant({}, 0.01, 0.1),
                                        Bytes<uint8_t>({}, 90, 150)});
    };
    ValueId y = Apply("Add", {dequantized(), Chance() ? dequantized() : Fed(dims, -9, 9)});
    y = Bounded(y);
    if (Chance()) {
      const ValueId zero = Chance() ? graph::kNone : Bytes<uint8_t>({1}, 0, 200);
      y = Apply("QuantizeLinear", {y, Constant({1}, 0.02, 0.05), zero});
    } else {
      y = Apply("QuantizeLinear", {y, Constant({}, 0.02, 0.05), Bytes<int8_t>({}, -20, 20)});
    }
    Check(y, 0, "+Div+Round", "quantize");
  }
}

// A chain has no place for scales of channels.
TEST_F(QuantizedChains, ScalesOfChannelsAreNoOperands) {
  const ValueId x =
      Apply("DequantizeLinear", {Bytes<int8_t>({2, 3, 3}, -9, 9), Constant({3}, 0.01, 0.1)},
            {{"axis", int64_t{1}}});
  Check(Apply("Relu", {x}), 0, "\"dequantize\"", "Mul");
}

// What others use, too, is not taken in.
TEST_F(QuantizedChains, LeaveWhatOthersUse) {
  const ValueId x = Limited(Fed({4, 6}, -3, 3), 0.03);
  const ValueId product = Apply("MatMul", {x, Weights({6, 5}, 1)});
  const ValueId both = Apply("Add", {Apply("Relu", {product}), product});
  Check(both, 1e-4, "matmul_int8", "matmul_int8+");
}

TEST_F(QuantizedChains, ScaleOfRowsIsNoScaleOfColumns) {
  const auto x = Quantized(Fed({5, 5}, -2, 3));
  ValueId y = Apply("MatMulInteger", {x[0], Bytes<int8_t>({5, 5}, -127, 127), x[2]});
  y = Apply("Cast", {y}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
  Check(Apply("Mul", {y, Constant({5, 1}, 0.001, 0.01)}), 0, "matmul_int8", "nothing");
}

}  // namespace
}  // namespace hr::lowering
