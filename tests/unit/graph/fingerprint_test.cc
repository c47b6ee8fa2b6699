#include "runtime/graph/fingerprint.h"

#include <gtest/gtest.h>

#include "runtime/base/allocator.h"

namespace hr::graph {
namespace {

Tensor Numbers(int64_t count, float first) {
  Tensor out = Tensor::Create(SystemAllocator(), DType::kFloat32, {count}).value();
  for (int64_t i = 0; i < count; ++i) out.as<float>()[i] = first + static_cast<float>(i);
  return out;
}

// y = x + c, with a variable v that starts as a constant, too.
Module Small() {
  Module module;
  Graph& main = module.main();
  main.values.resize(3);
  for (Value& value : main.values) value.type = ValueType::Tensor(DType::kFloat32, {4});
  main.values[1].constant = 0;
  main.values[2].producer = 0;
  main.inputs = {0};
  main.nodes.push_back(
      {.op = module.InternOperator("", "Add", 14), .inputs = {0, 1}, .outputs = {2}});
  module.constants = {Numbers(4, 0), Numbers(4, 10)};
  module.variables.push_back(
      {.name = "v", .dtype = DType::kFloat32, .dims = {4}, .initial_constant = 1});
  module.signatures.push_back({.name = "run", .inputs = {{"x", 0}}, .outputs = {{"y", 2}}});
  return module;
}

TEST(Fingerprint, IsThatOfWhatIsComputed) {
  const Module module = Small();
  EXPECT_EQ(Fingerprint(module), Fingerprint(Small()));
  std::vector<Module> others(9, Small());
  others[0].main().nodes[0].inputs = {1, 0};
  others[1].operators[0].name = "Sub";
  others[2].constants[0] = Numbers(4, 1);
  others[3].main().values[0].type.dims[0].size = 5;
  others[4].variables[0].name = "w";
  others[5].signatures[0].outputs[0].name = "z";
  others[6].main().nodes[0].controls = {0};
  others[7].main().nodes[0].attributes.push_back({"axis", int64_t{1}});
  others[8].main().values[2].type.dtype = DType::kFloat64;
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(Fingerprint(others[i]), Fingerprint(module)) << "change " << i;
  }
}

TEST(Fingerprint, LeavesOutWhatRanksMayHaveOfTheirOwn) {
  Module other = Small();
  other.constants[1] = Numbers(4, 20);
  other.metadata["author"] = "somebody";
  EXPECT_EQ(Fingerprint(other), Fingerprint(Small()));
}

}  // namespace
}  // namespace hr::graph
