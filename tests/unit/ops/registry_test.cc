#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/ops/infer.h"
#include "tests/reference/evaluator.h"
#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

TEST(Registry, FindsTheNewestDefinitionNotNewerThanAsked) {
  OpRegistry registry;
  EXPECT_EQ(registry.Find("", "ReduceMean", 1)->since_version, 1);
  EXPECT_EQ(registry.Find("", "ReduceMean", 17)->since_version, 1);
  EXPECT_EQ(registry.Find("", "ReduceMean", 18)->since_version, 18);
  EXPECT_EQ(registry.Find("", "ReduceMean", 21)->since_version, 18);
  EXPECT_EQ(registry.Newest("", "ReduceMean")->since_version, 18);
  EXPECT_EQ(registry.Find("", "Gelu", 19), nullptr);
  EXPECT_EQ(registry.Find("headrace.grad", "Add", 13), nullptr);
}

TEST(Registry, SaysWhatIsClose) {
  EXPECT_EQ(OneNode("Conf").In("float32[1]").Text(),
            "there is no operator Conf; did you mean Conv?");
  EXPECT_EQ(OneNode("SGDD", "headrace.train").In("float32[1]").Text(),
            "there is no operator headrace.train.SGDD; did you mean SGD?");
  constexpr std::string_view kOfTheHost =
      "; one of the host's own must be added before its model is loaded";
  EXPECT_EQ(OneNode("Bar", "com.foo").In("float32[1]").Text(),
            Cat("there is no operator com.foo.Bar", kOfTheHost));
  EXPECT_EQ(OneNode("Lap").In("float32[1]").Text(), Cat("there is no operator Lap", kOfTheHost));
  EXPECT_EQ(OneNode("Gelu", "", 13).In("float32[1]").Text(),
            "operator Gelu is known, but not in version 13; the oldest known is not older than 20");
}

TEST(Registry, NamesAllUnknownOperatorsOfAModule) {
  OpRegistry registry;
  graph::Module module;
  module.operators = {{"", "Relu", 14}, {"", "Add", 14}};
  EXPECT_TRUE(CheckOperators(registry, module).ok());
  module.operators = {{"", "Bar", 1}, {"", "Relu", 14}, {"com.foo", "Foo", 2}, {"", "Gelu", 13}};
  const Status status = CheckOperators(registry, module);
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.message(),
            "the model has operators that are not known: Bar (version 1), com.foo.Foo (version 2), "
            "Gelu (version 13); those of the host must be added before its model is loaded");
}

TEST(Registry, TakesCustomOperatorsOnce) {
  OpRegistry registry;
  OpDef custom{.domain = "test", .name = "Twice", .infer = InferSameAsInput};
  EXPECT_TRUE(registry.Add(custom).ok());
  EXPECT_EQ(registry.Newest("test", "Twice"), &custom);
  EXPECT_EQ(registry.Add(custom).message(), "operator test.Twice version 1 is already defined");
}

TEST(Registry, DefinitionsAreWellFormed) {
  OpRegistry registry;
  const OpDef* before = nullptr;
  for (const OpDef* def : registry.all()) {
    SCOPED_TRACE(def->name.data());
    EXPECT_NE(def->infer, nullptr);
    EXPECT_FALSE(def->compose != nullptr && def->gradient);  // its composition has the gradient
    EXPECT_LE(def->inputs.min, def->inputs.max);
    EXPECT_LE(def->outputs.min, def->outputs.max);
    uint64_t type_only = def->type_only_inputs;
    EXPECT_EQ(type_only >> std::min<int>(def->inputs.max, 63), 0u);
    auto has = [&](std::string_view name) {
      return std::any_of(
          def->attributes.begin(), def->attributes.end(),
          [&](const AttributeDef& a) { return a.name == name && a.kind == AttributeKind::kInt; });
    };
    for (const AttributeDef& attribute : def->attributes) {
      if (!attribute.effect) continue;
      const bool variable = attribute.effect.kind == ResourceKind::kVariable;
      EXPECT_EQ(attribute.kind, variable ? AttributeKind::kInt : AttributeKind::kString)
          << attribute.name.data();
    }
    EXPECT_EQ(def->random, has("stream"));
    bool twice = before != nullptr && before->domain == def->domain && before->name == def->name &&
                 before->since_version == def->since_version;
    EXPECT_FALSE(twice);
    before = def;
  }
}

// Composed operators are evaluated as what they are composed of; ONNX's node tests judge them.
TEST(Registry, TheReferenceKnowsEveryOperator) {
  OpRegistry registry;
  for (const OpDef* def : registry.all()) {
    if (def->composed()) continue;
    // Sequences and optionals live between regions; ONNX's node tests judge them.
    if (def->containers && def->name != "Identity") continue;
    if (def->domain == kComm || def->domain == kData) continue;  // these reach outside the graph
    EXPECT_TRUE(reference::Knows(def->domain, def->name))
        << def->domain.data() << "." << def->name.data();
  }
}

}  // namespace
}  // namespace hr::ops
