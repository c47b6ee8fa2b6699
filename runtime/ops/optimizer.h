// The optimizers, one definition each (optimizer.cc): the operators of headrace.train, what
// hr_graph_minimize takes, which updates are joined, the kernels' operands and the tests follow.
// docs/operators.md has the formulas.
#pragma once

#include "runtime/base/errors.h"
#include "runtime/ops/op_def.h"

namespace hr::ops {

// A variable that an update changes beside the parameter; 0 at first.
struct OptimizerState {
  Literal attribute;     // names the variable: "m_variable"
  Literal suffix;        // of the variable's name: "adam_m"
  bool counter = false;  // an int64 scalar, the number of updates so far; else like the parameter
  Literal setting = "";  // needed only if this setting is not 0; empty: always
};

enum class SettingRange : uint8_t { kFinite, kNotNegative, kBelowOne, kFlag };

struct OptimizerSetting {
  Literal name;
  double otherwise;  // the value where none is given
  SettingRange range;
};

// Attributes of the operator are "variable", the states' and the settings, in this order. Lists of
// settings' values have the order of `settings`.
struct OptimizerDef {
  Literal name;  // "sgd"
  Literal op;    // "SGD"
  std::span<const OptimizerState> state;
  std::span<const OptimizerSetting> settings;
  // What is wrong with the settings together; empty where nothing is, or null.
  std::string (*fault)(std::span<const double> settings) = nullptr;
};

std::span<const OptimizerDef> Optimizers();
// By name. INVALID_ARGUMENT, which lists those there are, where there is none.
Result<const OptimizerDef*> FindOptimizer(std::string_view name);
// By the name of the operator; null where that is none of an optimizer.
const OptimizerDef* FindOptimizerOfOp(std::string_view op);

// The values that a node of the operator has.
std::vector<double> SettingsOf(const OptimizerDef& def, const Node& node);
// INVALID_ARGUMENT where one lies outside its range, or they do not go together.
Status CheckSettings(const OptimizerDef& def, std::span<const double> settings);
// Whether an update with these settings has the state.
bool Needs(const OptimizerDef& def, const OptimizerState& state, std::span<const double> settings);

}  // namespace hr::ops
