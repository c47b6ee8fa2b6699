// Graphs of numbers in 8 and 16 bits, run as they are and rewritten.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/half.h"
#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::lowering {

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
    auto compiled = backend_->devices()[0]->Compile(*region, {.allocator = &SystemAllocator(),
                                                              .operators = &registry_,
                                                              .fuse = fuse,
                                                              .check_memory = true});
    EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
    if (!compiled.ok()) return {};
    const auto executable = std::move(compiled).value();
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

  // Fused and not fused, the results are at most `distance` apart. `kernel`: what must be there
  // (empty: whatever there is), and `gone` must not.
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

}  // namespace hr::lowering
