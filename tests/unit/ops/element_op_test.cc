#include "runtime/ops/element_op.h"

#include <gtest/gtest.h>

#include "runtime/ops/op_def.h"

namespace hr::ops {
namespace {

// A row that names an operator says what that operator computes: its operands are the operator's
// inputs, then the attributes that it names.
TEST(ElementOps, AreWhatTheirOperatorsTake) {
  const OpRegistry registry;
  for (int i = 0; i < kElementOps; ++i) {
    const ElementOpInfo& info = InfoOf(static_cast<ElementOp>(i));
    if (info.of == ElementOpInfo::Operator::kNone) continue;
    const std::string_view domain =
        info.of == ElementOpInfo::Operator::kOnnx ? kOnnx : std::string_view(kGrad);
    const OpDef* def = registry.Newest(domain, info.name);
    ASSERT_NE(def, nullptr) << info.name;
    int operands = def->inputs.min;
    EXPECT_EQ(def->inputs.max, operands) << info.name;
    for (const ElementAttribute& attribute : info.attributes) {
      if (attribute.name == "") continue;
      EXPECT_TRUE(FindAttribute(*def, attribute.name).ok())
          << info.name << " " << attribute.name.data();
      ++operands;
    }
    EXPECT_EQ(operands, info.operands) << info.name;
    EXPECT_EQ(ElementOpOf(domain, info.name), static_cast<ElementOp>(i)) << info.name;
  }
  EXPECT_FALSE(ElementOpOf(kOnnx, "MulAdd").has_value());
  EXPECT_FALSE(ElementOpOf(kOnnx, "MatMul").has_value());
  EXPECT_FALSE(ElementOpOf(kGrad, "Relu").has_value());
}

}  // namespace
}  // namespace hr::ops
