// Products of one-hot rows and constants give what they give one node at a time.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::lowering {
namespace {

using graph::ValueId;

class OneHotProducts : public testing::Test {
 protected:
  OneHotProducts() : builder_(SystemAllocator(), registry_) {
    index_ =
        builder_.AddInput("index", graph::ValueType::Tensor(DType::kInt32, Dims{2, 3, 1})).value();
  }

  template <typename T>
  ValueId Constant(const Dims& dims, const std::vector<T>& values) {
    return builder_.Constant(MakeTensor<T>(SystemAllocator(), dims, values).value()).value();
  }
  ValueId Counted(std::vector<int32_t> values = {0, 1, 2, 3}) {
    return Constant<int32_t>({1, 4}, values);
  }
  ValueId Matrix(float last = -4) {
    return Constant<float>({4, 2}, {1, -1, 2, -2, 3, -3, 4, last});
  }
  ValueId Apply(std::string op, std::initializer_list<ValueId> inputs) {
    return builder_.EmitOne("", op, inputs).value();
  }
  ValueId Product(ValueId equal, ValueId matrix) {
    const ValueId rows =
        builder_.EmitOne("", "Cast", {equal}, {{"to", static_cast<int64_t>(DType::kFloat32)}})
            .value();
    return Apply("MatMul", {rows, matrix});
  }

  std::vector<float> Run(ValueId fetch, bool fuse, bool* fused) {
    transform::Request request{.feeds = {{index_, DType::kInt32, Dims{2, 3, 1}}},
                               .fetches = {fetch}};
    auto region =
        transform::Specialize(registry_, builder_.module(), request, nullptr, SystemAllocator());
    auto executable = backend_->devices()[0]
                          ->Compile(*region, {.allocator = &SystemAllocator(),
                                              .operators = &registry_,
                                              .fuse = fuse,
                                              .check_memory = true})
                          .value();
    *fused = executable->Describe().find("one_hot_product") != std::string::npos;
    auto invocation = executable->Instantiate().value();
    uint32_t slot = 1;
    int32_t index[6] = {0, 3, -1, 4, 2, 2};  // two of them are no rows
    invocation->Bind(0, index);
    for (const Tensor& constant : region->constants) invocation->Bind(slot++, constant.data());
    std::vector<float> out(12);
    invocation->Bind(slot, out.data());
    const Lease lease;
    EXPECT_TRUE(invocation->Run({.threads = lease}).ok());
    return out;
  }

  // Whether the product is fused; its result is the same as if it is not.
  bool Fuses(ValueId fetch) {
    bool fused = false, single = true;
    const std::vector<float> got = Run(fetch, true, &fused), want = Run(fetch, false, &single);
    EXPECT_FALSE(single);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << "at " << i;
    }
    return fused;
  }

  ops::OpRegistry registry_;
  transform::GraphBuilder builder_;
  std::unique_ptr<Backend> backend_ = cpu::CreateTestedBackend();
  ValueId index_ = 0;
};

TEST_F(OneHotProducts, AreRowsOrNothing) {
  EXPECT_TRUE(Fuses(Product(Apply("Equal", {index_, Counted()}), Matrix())));
  EXPECT_TRUE(Fuses(Product(Apply("Equal", {Counted(), index_}), Matrix())));
}

TEST_F(OneHotProducts, NeedEveryNumberInOrder) {
  EXPECT_FALSE(Fuses(Product(Apply("Equal", {index_, Counted({0, 1, 3, 2})}), Matrix())));
  EXPECT_FALSE(Fuses(Product(Apply("Equal", {index_, Counted({1, 2, 3, 4})}), Matrix())));
}

TEST_F(OneHotProducts, KeepWhatIsNotFinite) {
  for (float last : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    EXPECT_FALSE(Fuses(Product(Apply("Equal", {index_, Counted()}), Matrix(last))));
  }
}

// Both are compared element by element.
TEST_F(OneHotProducts, NeedOneIndexForARow) {
  const ValueId wide = Apply("Add", {index_, Constant<int32_t>({4}, {0, 0, 1, 2})});
  EXPECT_FALSE(Fuses(Product(Apply("Equal", {wide, Counted()}), Matrix())));
}

}  // namespace
}  // namespace hr::lowering
