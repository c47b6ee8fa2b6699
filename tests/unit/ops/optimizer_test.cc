// What the definitions of optimizers say, and that the documentation says the same.
#include "runtime/ops/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace hr::ops {
namespace {

std::vector<double> Defaults(const OptimizerDef& def) { return SettingsOf(def, {}); }

// As documentation has it: "variable, m_variable, step_variable (int64 []), beta1 (0.9)".
std::string AttributesText(const OptimizerDef& def) {
  std::string out = "variable";
  for (const OptimizerState& state : def.state) {
    const bool optional = !std::string_view(state.setting).empty();
    out += Cat(", ", state.attribute, optional ? "?" : "", state.counter ? " (int64 [])" : "");
  }
  for (const OptimizerSetting& setting : def.settings) {
    std::string number = Cat(setting.otherwise);
    if (size_t at = number.find("e-0"); at != std::string::npos) number.erase(at + 2, 1);
    out += Cat(", ", setting.name, " (", number, ")");
  }
  return out;
}

TEST(OptimizersTest, DocumentationListsEach) {
  std::stringstream page;
  page << std::ifstream(HEADRACE_SOURCE_DIR "/docs/operators.md").rdbuf();
  for (const OptimizerDef& def : Optimizers()) {
    const std::string row =
        Cat("\n| `headrace.train.", def.op, "` (", def.name,
            ") | learning_rate [], grad, when [] bool? → | ", AttributesText(def), " | ");
    EXPECT_NE(page.str().find(row), std::string::npos) << "docs/operators.md has no row" << row;
  }
}

TEST(OptimizersTest, OperatorsHaveTheirAttributes) {
  const OpRegistry registry;
  for (const OptimizerDef& def : Optimizers()) {
    const OpDef* op = registry.Newest(kTrain, def.op);
    ASSERT_NE(op, nullptr) << def.op.data();
    ASSERT_EQ(op->attributes.size(), 1 + def.state.size() + def.settings.size());
    for (const OptimizerState& state : def.state)
      EXPECT_TRUE(FindAttribute(*op, state.attribute).value()->effect.writes)
          << state.attribute.data();
    for (const OptimizerSetting& setting : def.settings) {
      const AttributeKind kind =
          setting.range == SettingRange::kFlag ? AttributeKind::kInt : AttributeKind::kFloat;
      EXPECT_EQ(FindAttribute(*op, setting.name).value()->kind, kind) << setting.name.data();
    }
  }
}

TEST(OptimizersTest, AreFoundByBothNames) {
  std::vector<std::string_view> names;
  for (const OptimizerDef& def : Optimizers()) {
    EXPECT_EQ(*FindOptimizer(def.name), &def);
    EXPECT_EQ(FindOptimizerOfOp(def.op), &def);
    names.push_back(def.name);
  }
  EXPECT_EQ(FindOptimizer("none").status().message(),
            Cat("there is no optimizer 'none'; there are: ", Join(names)));
  EXPECT_EQ(FindOptimizerOfOp("None"), nullptr);
}

TEST(OptimizersTest, StateComesWithItsSetting) {
  for (const OptimizerDef& def : Optimizers()) {
    for (const OptimizerState& state : def.state) {
      std::vector<double> settings = Defaults(def);
      const bool always = std::string_view(state.setting).empty();
      EXPECT_EQ(Needs(def, state, settings), always) << state.attribute.data();
      for (size_t i = 0; i < settings.size(); ++i)
        if (def.settings[i].name == state.setting) settings[i] = 0.5;
      EXPECT_TRUE(Needs(def, state, settings)) << state.attribute.data();
    }
  }
}

struct Values {
  std::vector<double> inside, outside;
};
Values ValuesOf(SettingRange range) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = HUGE_VAL;
  Values out{.inside = {0}, .outside = {kNaN, kInfinity, -kInfinity}};
  const auto add = [](std::vector<double>& to, std::initializer_list<double> values) {
    to.insert(to.end(), values);
  };
  if (range == SettingRange::kFinite) add(out.inside, {-2, 0.5, 2});
  if (range == SettingRange::kNotNegative) add(out.inside, {0.5, 2}), add(out.outside, {-1e-300});
  if (range == SettingRange::kBelowOne) add(out.inside, {0.5}), add(out.outside, {-0.1, 1});
  if (range == SettingRange::kFlag) add(out.outside, {-1, 0.5, 2, 1e300});
  return out;
}

TEST(OptimizersTest, SettingsStayInTheirRanges) {
  for (const OptimizerDef& def : Optimizers()) {
    EXPECT_TRUE(CheckSettings(def, Defaults(def)).ok()) << def.name.data();
    for (size_t i = 0; i < def.settings.size(); ++i) {
      const std::string words = Cat("optimizer '", def.name, "': ", def.settings[i].name, " must ");
      const auto check = [&](double value) {
        std::vector<double> settings = Defaults(def);
        settings[i] = value;
        return CheckSettings(def, settings);
      };
      const Values values = ValuesOf(def.settings[i].range);
      for (double value : values.inside) EXPECT_EQ(check(value).message(), "") << words << value;
      for (double value : values.outside)
        EXPECT_TRUE(check(value).message().starts_with(words)) << words << "not be " << value;
    }
  }
}

TEST(OptimizersTest, NesterovWantsMomentumAndNoDampening) {
  const OptimizerDef& sgd = **FindOptimizer("sgd");
  EXPECT_TRUE(CheckSettings(sgd, std::vector<double>{0.9, 0, 0, 1}).ok());
  EXPECT_EQ(CheckSettings(sgd, std::vector<double>{0.9, 0.1, 0, 1}).message(),
            "optimizer 'sgd': nesterov wants momentum above 0 and no dampening, got 0.9 and 0.1");
}

}  // namespace
}  // namespace hr::ops
