#include "runtime/transform/name_dequantizations.h"

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class NameDequantizationsTest : public BuiltGraph {
 protected:
  // Bytes of these dimensions, widened.
  ValueId Widened(const Dims& dims, DType dtype = DType::kInt8, DType to = DType::kFloat32) {
    Values numbers(static_cast<size_t>(ElementCount(dims)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 100);
    bytes_ = *builder_.Constant(Make(dtype, dims, numbers));
    return Node("Cast", {bytes_}, {{"to", static_cast<int64_t>(to)}});
  }
  ValueId Scales(const Dims& dims) {
    const Values numbers(static_cast<size_t>(ElementCount(dims)), 0.25);
    return *builder_.Constant(Make(DType::kFloat32, dims, numbers));
  }
  const graph::Node& NodeOf(ValueId value) {
    module_ = builder_.module();
    NameDequantizations(registry_, module_);
    return module_.main().nodes[Producer(value)];
  }
  std::string NameOf(ValueId value) { return module_.OperatorOf(NodeOf(value)).name; }
  Dims DimsOf(ValueId value) const { return *module_.main().values[value].type.FixedDims(); }

  ValueId bytes_ = kNone;
  graph::Module module_;
};

TEST_F(NameDequantizationsTest, OneScaleOnEitherSide) {
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{1, 1}}) {
    for (const bool swapped : {false, true}) {
      const ValueId wide = Widened({3, 4}), scale = Scales(dims);
      const ValueId y = swapped ? Node("Mul", {scale, wide}) : Node("Mul", {wide, scale});
      const graph::Node& node = NodeOf(y);
      ASSERT_EQ(module_.OperatorOf(node).name, "DequantizeLinear");
      EXPECT_EQ(node.inputs[0], bytes_);
      EXPECT_EQ(DimsOf(node.inputs[1]), Dims());
    }
  }
}

TEST_F(NameDequantizationsTest, OneScaleForEachIndexOfAnAxis) {
  struct Case {
    Dims scales;
    int64_t axis;
  };
  for (const Case& c : {Case{{3, 1, 1}, 0}, Case{{1, 4, 1}, 1}, Case{{4, 1}, 1}, Case{{5}, 2}}) {
    const graph::Node& node = NodeOf(Node("Mul", {Widened({3, 4, 5}), Scales(c.scales)}));
    ASSERT_EQ(module_.OperatorOf(node).name, "DequantizeLinear");
    EXPECT_EQ(node.Int("axis", -1), c.axis);
    EXPECT_EQ(DimsOf(node.inputs[1]), Dims{ElementCount(c.scales)});
  }
}

TEST_F(NameDequantizationsTest, OthersStay) {
  EXPECT_EQ(NameOf(Node("Mul", {Widened({3, 4}), Scales({3, 4})})), "Mul");  // each its own
  EXPECT_EQ(NameOf(Node("Mul", {Widened({3, 1}), Scales({1, 4})})), "Mul");  // grows
  EXPECT_EQ(NameOf(Node("Mul", {Widened({4}), Scales({1, 1})})), "Mul");     // of more dimensions
  EXPECT_EQ(NameOf(Node("Mul", {Widened({4}), Input("x", {})})), "Mul");     // not constant
  EXPECT_EQ(NameOf(Node("Mul", {Widened({4}, DType::kInt32), Scales({})})), "Mul");
  const ValueId wide = Widened({4}, DType::kInt8, DType::kFloat64);
  EXPECT_EQ(NameOf(Node("Mul", {wide, Constant({2}, DType::kFloat64)})), "Mul");
}

}  // namespace
}  // namespace hr::transform
