#include "tests/unit/ops/one_node.h"

#include <gtest/gtest.h>

#include "runtime/transform/compose.h"

namespace hr::ops {

graph::ValueType OneNode::Parse(std::string_view text) {
  size_t open = text.find('[');
  graph::ValueType type{.dtype = *DTypeFromName(text.substr(0, open))};
  if (open == text.npos) return type;
  type.ranked = true;
  std::string inside(text.substr(open + 1, text.size() - open - 2));
  for (size_t begin = 0; begin < inside.size();) {
    size_t end = std::min(inside.find(',', begin), inside.size());
    std::string dim = inside.substr(begin, end - begin);
    dim.erase(0, dim.find_first_not_of(' '));
    if (dim == "?") {
      type.dims.push_back({});
    } else if (isdigit(static_cast<unsigned char>(dim[0]))) {
      type.dims.push_back({.size = std::stoll(dim)});
    } else {
      type.dims.push_back({.symbol = builder_.AddSymbol(dim)});
    }
    begin = end + 1;
  }
  return type;
}

OneNode& OneNode::In(std::string_view text) {
  ValueId value = kNone;
  if (!text.empty()) value = *builder_.AddInput(Cat("x", spec_.inputs.size()), Parse(text));
  spec_.inputs.push_back(value);
  return *this;
}

OneNode& OneNode::Ints(std::vector<int64_t> values) {
  Dims dims = {static_cast<int64_t>(values.size())};
  auto tensor = MakeTensor<int64_t>(SystemAllocator(), dims, values);
  spec_.inputs.push_back(*builder_.Constant(std::move(tensor).value()));
  return *this;
}

OneNode& OneNode::Variable(std::string_view name, DType dtype, Dims dims) {
  Tensor initial = Tensor::Create(SystemAllocator(), dtype, std::move(dims)).value();
  EXPECT_TRUE(builder_.AddVariable(name, initial, true).ok());
  return *this;
}

std::string OneNode::Text() {
  auto node = builder_.AddNode(spec_);
  if (!node.ok()) return std::string(node.status().message());
  std::vector<std::string> types;
  for (ValueId value : builder_.graph().nodes[*node].outputs) {
    types.push_back(
        graph::TypeText(builder_.graph().values[value].type, builder_.module().symbols));
  }
  return Join(types, "; ");
}

std::string OneNode::Composition() {
  auto node = builder_.AddNode(spec_);
  if (!node.ok()) return std::string(node.status().message());
  auto composed = transform::Composed(SystemAllocator(), registry_, builder_.module(), true);
  if (!composed.ok()) return composed.status().ToString();
  std::vector<std::string> names;
  for (size_t i = *node + 1; i < composed->main().nodes.size(); ++i) {
    names.push_back(composed->OperatorOf(composed->main().nodes[i]).name);
  }
  return Join(names, " ");
}

namespace {

TEST(OneNode, ReadsTypes) {
  EXPECT_EQ(OneNode("Identity").In("float32[batch, 3, ?]").Text(), "float32[batch, 3, ?]");
  EXPECT_EQ(OneNode("Identity").In("int64").Text(), "int64 of unknown rank");
  EXPECT_EQ(OneNode("Identity").In("bool[]").Text(), "bool[]");
}

}  // namespace
}  // namespace hr::ops
