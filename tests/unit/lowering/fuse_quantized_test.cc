// Chains around products of 8-bit numbers: fused they give what they give one node at a time, and
// what exact arithmetic says.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "runtime/base/half.h"
#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::lowering {
namespace {

using graph::ValueId;

class QuantizedChains : public testing::Test {
 protected:
  QuantizedChains() { Reset(); }
  void Reset() {
    builder_ = std::make_unique<transform::GraphBuilder>(SystemAllocator(), registry_);
    feeds_.clear();
  }

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool Chance() { return Between(0, 1) != 0; }
  std::vector<float> Floats(int64_t count, double low, double high) {
    std::vector<float> out(static_cast<size_t>(count));
    std::uniform_real_distribution<double> uniform(low, high);
    for (float& x : out) x = static_cast<float>(uniform(engine_));
    return out;
  }
  ValueId Fed(const Dims& dims, double low, double high) {
    const auto id = builder_->AddInput(Cat("x", feeds_.size()),
                                       graph::ValueType::Tensor(DType::kFloat32, dims));
    feeds_.push_back(
        {*id, MakeTensor<float>(SystemAllocator(), dims, Floats(ElementCount(dims), low, high))
                  .value()});
    return *id;
  }
  ValueId Constant(const Dims& dims, double low, double high) {
    return builder_
        ->Constant(MakeTensor<float>(SystemAllocator(), dims, Floats(ElementCount(dims), low, high))
                       .value())
        .value();
  }
  // Of int8 or uint8.
  template <typename T>
  ValueId Bytes(const Dims& dims, int64_t low, int64_t high) {
    std::vector<T> values(static_cast<size_t>(ElementCount(dims)));
    for (T& value : values) value = static_cast<T>(Between(low, high));
    return builder_->Constant(MakeTensor<T>(SystemAllocator(), dims, values).value()).value();
  }
  ValueId Apply(std::string op, std::initializer_list<ValueId> inputs,
                std::initializer_list<graph::AttributeInit> attributes = {}) {
    const auto value = builder_->EmitOne("", op, inputs, attributes);
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return *value;
  }
  std::vector<ValueId> Quantized(ValueId x) {
    return builder_->Emit("", "DynamicQuantizeLinear", std::span(&x, 1), 3, {}).value();
  }
  // Through 8 bits and back.
  ValueId Limited(ValueId x, double scale) {
    const ValueId s = Constant({}, scale, scale), z = Bytes<uint8_t>({}, 100, 140);
    return Apply("DequantizeLinear", {Apply("QuantizeLinear", {x, s, z}), s, z});
  }
  ValueId Weights(const Dims& dims, int64_t axis) {
    const Dims each = Chance() ? Dims{dims[static_cast<size_t>(axis)]} : Dims{};
    return Apply("DequantizeLinear", {Bytes<int8_t>(dims, -127, 127), Constant(each, 0.002, 0.01)},
                 {{"axis", axis}});
  }

  // What may bound a product's result.
  ValueId Bounded(ValueId x) {
    switch (Between(0, 3)) {
      case 0: return x;
      case 1: return Apply("Relu", {x});
      case 2: return Apply("Clip", {x, Constant({}, -0.5, 0.5), Constant({}, 1, 2)});
      default: return Apply("Clip", {x, graph::kNone, Constant({}, 0.5, 3)});
    }
  }

  // Of 16 bits, widened.
  ValueId Short(const Dims& dims) {
    return Short(dims, Chance() ? DType::kFloat16 : DType::kBfloat16);
  }
  ValueId Short(const Dims& dims, DType dtype) {
    std::vector<uint16_t> bits(static_cast<size_t>(ElementCount(dims)));
    for (uint16_t& b : bits) {
      const float x = Floats(1, -1, 1)[0];
      b = dtype == DType::kFloat16 ? FloatToHalf(x) : FloatToBfloat16(x);
    }
    Tensor tensor = Tensor::Create(SystemAllocator(), dtype, dims).value();
    std::copy(bits.begin(), bits.end(), tensor.as<uint16_t>());
    return Apply("Cast", {builder_->Constant(tensor).value()},
                 {{"to", static_cast<int64_t>(DType::kFloat32)}});
  }

  std::vector<float> Run(ValueId fetch, bool fuse) {
    transform::Request request{.fetches = {fetch}};
    for (const auto& [value, tensor] : feeds_) {
      request.feeds.push_back({value, tensor.dtype(), tensor.dims()});
    }
    auto region =
        transform::Specialize(registry_, builder_->module(), request, nullptr, SystemAllocator());
    EXPECT_TRUE(region.ok()) << region.status().ToString();
    auto executable = backend_->devices()[0]
                          ->Compile(*region, {.allocator = &SystemAllocator(),
                                              .operators = &registry_,
                                              .fuse = fuse,
                                              .check_memory = true})
                          .value();
    described_ = executable->Describe();
    auto invocation = executable->Instantiate().value();
    uint32_t slot = 0;
    for (const auto& feed : feeds_) invocation->Bind(slot++, feed.second.data());
    for (const Tensor& constant : region->constants) invocation->Bind(slot++, constant.data());
    const graph::ValueType& type =
        region->main().values[region->signatures[0].outputs[0].value].type;
    Tensor out = Tensor::Create(SystemAllocator(), type.dtype, *type.FixedDims()).value();
    invocation->Bind(slot, out.data());
    const Lease lease;
    EXPECT_TRUE(invocation->Run({.threads = lease}).ok());
    std::vector<float> numbers;
    for (int64_t i = 0; i < out.elements(); ++i) {
      numbers.push_back(type.dtype == DType::kFloat32 ? out.as<float>()[i]
                        : type.dtype == DType::kInt8  ? static_cast<float>(out.as<int8_t>()[i])
                                                      : static_cast<float>(out.as<uint8_t>()[i]));
    }
    return numbers;
  }

  // Fused and not fused, the results are at most `distance` apart. `kernels`: what must be there
  // (and no other product).
  void Check(ValueId fetch, double distance, std::string_view kernel, std::string_view gone) {
    const std::vector<float> want = Run(fetch, false), got = Run(fetch, true);
    EXPECT_NE(described_.find(kernel), std::string::npos) << described_;
    EXPECT_EQ(described_.find(gone), std::string::npos) << described_;
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], distance) << "at " << i;
  }

  ops::OpRegistry registry_;
  std::unique_ptr<transform::GraphBuilder> builder_;
  std::unique_ptr<Backend> backend_ = cpu::CreateTestedBackend();
  std::vector<std::pair<ValueId, Tensor>> feeds_;
  std::string described_;
  std::mt19937_64 engine_{5};
};

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

// Products of numbers that were rounded to bfloat16 run on instructions for these, if there are
// any; those of which one operand was not rounded are those of the test before.
TEST_F(QuantizedChains, ProductsOfRoundedNumbers) {
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
    Check(y, 1e-4, has ? "gemm_bfloat16" : "gemm", has ? "gemm_of_narrow" : "gemm_bfloat16");
  }
}

// A graph of bfloat16: what follows a product is joined with it, and the sum is rounded once.
TEST_F(QuantizedChains, ChainsOfBfloat16) {
  const bool has = cpu::KernelsForBfloat16() != nullptr;
  const auto to = [&](ValueId x, DType dtype) {
    return Apply("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}});
  };
  const auto numbers = [&](const Dims& dims) { return to(Fed(dims, -1, 1), DType::kBfloat16); };
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(1, 20), k = Between(1, 50), n = Between(2, 40);
    const bool conv = Chance(), biased = Chance(), relu = Chance();
    ValueId y = conv ? Apply("Conv", {numbers({2, 8, 5, m}), numbers({32, 8, 2, 3})},
                             {{"pads", std::vector<int64_t>{0, 1, 1, 1}}})
                     : Apply("MatMul", {numbers({2, m, k}), numbers({k, n})});
    if (biased) {
      const ValueId bias = numbers(conv ? Dims{32, 1, 1} : Chance() ? Dims{n} : Dims{m, n});
      y = Chance() ? Apply("Add", {y, bias}) : Apply("Add", {bias, y});
    }
    if (relu) y = Apply("Relu", {y});
    // Nodes round the product, and the sum again; both are below 32.
    const std::string_view kernel = conv ? "conv_bfloat16" : "gemm_bfloat16";
    Check(to(y, DType::kFloat32), 2 * 0x1p-8 * 32, has ? kernel : "conv",
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
