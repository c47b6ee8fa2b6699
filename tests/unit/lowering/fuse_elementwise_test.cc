// Chains of element-wise nodes give what their nodes give one by one.
#include <gtest/gtest.h>

#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::lowering {
namespace {

using graph::ValueId;

class Chains : public testing::Test {
 protected:
  Chains() : builder_(SystemAllocator(), registry_) {
    x_ = builder_.AddInput("x", graph::ValueType::Tensor(DType::kFloat64, Dims{kCount})).value();
    for (int i = 0; i < kCount; ++i) data_[i] = 0.3 * i - 0.7;
  }

  ValueId Apply(std::string op, std::initializer_list<ValueId> inputs) {
    return builder_.EmitOne("", op, inputs).value();
  }
  ValueId Sines(ValueId x, int count) {
    for (int i = 0; i < count; ++i) x = Apply("Sin", {x});
    return x;
  }

  std::vector<double> Run(ValueId fetch, bool fuse, int64_t* steps) {
    transform::Request request{.feeds = {{x_, DType::kFloat64, Dims{kCount}}}, .fetches = {fetch}};
    auto region =
        transform::Specialize(registry_, builder_.module(), request, nullptr, SystemAllocator());
    auto executable = backend_->devices()[0]->Compile(*region, {.allocator = &SystemAllocator(),
                                                                .operators = &registry_,
                                                                .fuse = fuse,
                                                                .check_memory = true});
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    if (!executable.ok()) return {};
    const std::string description = (*executable)->Describe();
    *steps = 0;
    for (size_t at = 0; (at = description.find("\"kernel\"", at)) != std::string::npos; ++at)
      ++*steps;
    auto invocation = (*executable)->Instantiate().value();
    uint32_t slot = 1;
    invocation->Bind(0, data_);
    for (const Tensor& constant : region->constants) invocation->Bind(slot++, constant.data());
    std::vector<double> out(kCount);
    invocation->Bind(slot, out.data());
    const Lease lease;
    EXPECT_TRUE(invocation->Run({.threads = lease}).ok());
    return out;
  }

  // Runs with and without fusion, and returns how many steps the fused plan has.
  int64_t Check(ValueId fetch) {
    int64_t fused = 0, single = 0;
    EXPECT_EQ(Run(fetch, true, &fused), Run(fetch, false, &single));
    EXPECT_LT(fused, single);
    return fused;
  }

  static constexpr int kCount = 7;
  ops::OpRegistry registry_;
  transform::GraphBuilder builder_;
  std::unique_ptr<Backend> backend_ = cpu::CreateTestedBackend();
  ValueId x_ = 0;
  double data_[kCount] = {};
};

// Twice the eight steps would be beyond what a chain may have; the value is still computed.
TEST_F(Chains, TakeAValueThatANodeUsesTwice) {
  ValueId h = Sines(x_, 8);
  EXPECT_EQ(Check(Apply("Mul", {h, h})), 1);
}

TEST_F(Chains, LeaveOutAValueThatDoesNotFit) {
  ValueId h = Sines(x_, 16);
  EXPECT_EQ(Check(Apply("Mul", {h, h})), 2);
}

TEST_F(Chains, TakeAValueThatAChainUsesTwice) {
  ValueId h = Sines(x_, 5);
  ValueId twice = Apply("Add", {Apply("Cos", {h}), h});  // h has two consumers, both in the chain
  EXPECT_EQ(Check(Apply("Mul", {twice, twice})), 1);
}

// What the sum needs is computed, and computed again behind it, so that it is never written.
TEST_F(Chains, ComputeAgainWhatSeveralTake) {
  const ValueId h = Apply("Exp", {Apply("Neg", {x_})});
  const ValueId sum = Apply("ReduceSum", {Apply("Mul", {h, h})});
  EXPECT_EQ(Check(Apply("Add", {Apply("Mul", {h, x_}), sum})), 3);
}

TEST_F(Chains, ReadWhatIsDear) {
  const ValueId dear = Apply("Atan", {Apply("Neg", {x_})});
  const ValueId other = Apply("ReduceSum", {Apply("Mul", {dear, dear})});
  EXPECT_EQ(Check(Apply("Add", {Apply("Mul", {dear, x_}), other})), 4);
}

// Attributes that are operands need registers of their own.
TEST_F(Chains, StayWithinTheirConstants) {
  ValueId h = x_;
  for (int i = 0; i < 12; ++i) h = Apply("HardSigmoid", {h});
  Check(h);
}

// Each of the products reads its own x and one of the sums, over more than 8 inputs in all.
TEST_F(Chains, StayWithinTheirInputs) {
  std::vector<ValueId> terms;
  for (int i = 0; i < 12; ++i) {
    terms.push_back(
        builder_.Constant(Tensor::Create(SystemAllocator(), DType::kFloat64, {kCount}).value())
            .value());
    auto constant = builder_.module().constants.back().span<double>();
    for (int j = 0; j < kCount; ++j) const_cast<double&>(constant[j]) = i + j;
  }
  ValueId sum = x_;
  for (ValueId term : terms) sum = Apply("Add", {Apply("Mul", {term, sum}), sum});
  Check(sum);
}

}  // namespace
}  // namespace hr::lowering
