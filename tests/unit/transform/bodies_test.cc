// Bodies in the place of their calls, as files may ask for them.
#include "gtest/gtest.h"
#include "runtime/transform/body_scope.h"
#include "runtime/transform/compose.h"

namespace hr::transform {
namespace {

class Bodies : public ::testing::Test {
 protected:
  Result<graph::GraphIndex> Body(auto make) {
    BodyScope scope(builder_);
    HR_ASSIGN_OR_RETURN(ValueId x, scope.AddInput(graph::ValueType::Tensor(DType::kFloat32, {2})));
    HR_ASSIGN_OR_RETURN(ValueId y, make(x));
    scope.SetOutputs({y});
    return scope.index();
  }
  Result<ValueId> Call(graph::GraphIndex body, ValueId x) {
    HR_ASSIGN_OR_RETURN(
        auto&& y, builder_.Emit(ops::kControl, "Call", std::span(&x, 1), 1, {{"body", body}}));
    return y[0];
  }
  ops::OpRegistry registry_;
  GraphBuilder builder_{SystemAllocator(), registry_};
};

// Forty levels of two calls each would be a billion nodes.
TEST_F(Bodies, ThatDoubleWithEachLevelAreRefused) {
  auto body = Body([&](ValueId x) { return builder_.EmitOne(ops::kOnnx, "Neg", {x}); });
  for (int level = 0; level < 40 && body.ok(); ++level) {
    const graph::GraphIndex inner = *body;
    body = Body([&](ValueId x) -> Result<ValueId> {
      HR_ASSIGN_OR_RETURN(ValueId y, Call(inner, x));
      return Call(inner, y);
    });
  }
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  const ValueId x = *builder_.AddInput("x", graph::ValueType::Tensor(DType::kFloat32, {2}));
  ASSERT_TRUE(Call(*body, x).ok());
  const Status status = Composed(SystemAllocator(), registry_, builder_.module()).status().Clone();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_NE(status.message().find("call fewer of them"), std::string::npos);
}

TEST_F(Bodies, ThatAreGivenTooFewValuesAreRefused) {
  auto body = Body([&](ValueId x) { return builder_.EmitOne(ops::kOnnx, "Neg", {x}); });
  const ValueId x = *builder_.AddInput("x", graph::ValueType::Tensor(DType::kFloat32, {2}));
  ASSERT_TRUE(Call(*body, x).ok());
  graph::Module module = builder_.module();
  module.main().nodes[0].inputs.clear();
  EXPECT_EQ(Composed(SystemAllocator(), registry_, module).status().message(),
            "a body takes 1 values, it is given 0");
}

}  // namespace
}  // namespace hr::transform
