#include "runtime/ops/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/ops/builtin.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

using enum SettingRange;

constexpr OptimizerState kSgdState[] = {
    {.attribute = "momentum_variable", .suffix = "momentum", .setting = "momentum"}};
constexpr OptimizerSetting kSgdSettings[] = {{"momentum", 0, kNotNegative},
                                             {"dampening", 0, kFinite},
                                             {"weight_decay", 0, kNotNegative},
                                             {"nesterov", 0, kFlag}};
std::string SgdFault(std::span<const double> settings) {
  const double momentum = settings[0], dampening = settings[1], nesterov = settings[3];
  if (nesterov == 0 || (momentum > 0 && dampening == 0)) return "";
  return Cat("nesterov wants momentum above 0 and no dampening, got ", momentum, " and ",
             dampening);
}

constexpr OptimizerState kAdamState[] = {
    {.attribute = "m_variable", .suffix = "adam_m"},
    {.attribute = "v_variable", .suffix = "adam_v"},
    {.attribute = "step_variable", .suffix = "adam_step", .counter = true}};
constexpr OptimizerSetting kAdamSettings[] = {{"beta1", 0.9, kBelowOne},
                                              {"beta2", 0.999, kBelowOne},
                                              {"epsilon", 1e-8, kNotNegative},
                                              {"weight_decay", 0, kNotNegative},
                                              {"decoupled", 0, kFlag}};

constexpr OptimizerState kAdamaxState[] = {
    {.attribute = "m_variable", .suffix = "adamax_m"},
    {.attribute = "u_variable", .suffix = "adamax_u"},
    {.attribute = "step_variable", .suffix = "adamax_step", .counter = true}};
constexpr OptimizerSetting kAdamaxSettings[] = {{"beta1", 0.9, kBelowOne},
                                                {"beta2", 0.999, kBelowOne},
                                                {"epsilon", 1e-8, kNotNegative},
                                                {"weight_decay", 0, kNotNegative}};

constexpr OptimizerState kAdaGradState[] = {{.attribute = "sum_variable", .suffix = "adagrad_sum"}};
constexpr OptimizerSetting kAdaGradSettings[] = {{"epsilon", 1e-10, kNotNegative},
                                                 {"weight_decay", 0, kNotNegative}};

constexpr OptimizerState kRmsPropState[] = {
    {.attribute = "square_variable", .suffix = "rmsprop_square"},
    {.attribute = "momentum_variable", .suffix = "rmsprop_momentum", .setting = "momentum"}};
constexpr OptimizerSetting kRmsPropSettings[] = {{"alpha", 0.99, kNotNegative},
                                                 {"momentum", 0, kNotNegative},
                                                 {"epsilon", 1e-8, kNotNegative},
                                                 {"weight_decay", 0, kNotNegative}};

constexpr OptimizerState kLionState[] = {{.attribute = "m_variable", .suffix = "lion_m"}};
constexpr OptimizerSetting kLionSettings[] = {
    {"beta1", 0.9, kBelowOne}, {"beta2", 0.99, kBelowOne}, {"weight_decay", 0, kNotNegative}};

constexpr OptimizerState kLambState[] = {
    {.attribute = "m_variable", .suffix = "lamb_m"},
    {.attribute = "v_variable", .suffix = "lamb_v"},
    {.attribute = "step_variable", .suffix = "lamb_step", .counter = true}};
constexpr OptimizerSetting kLambSettings[] = {{"beta1", 0.9, kBelowOne},
                                              {"beta2", 0.999, kBelowOne},
                                              {"epsilon", 1e-6, kNotNegative},
                                              {"weight_decay", 0, kNotNegative}};

constexpr OptimizerState kFtrlState[] = {{.attribute = "sum_variable", .suffix = "ftrl_sum"},
                                         {.attribute = "z_variable", .suffix = "ftrl_z"}};
constexpr OptimizerSetting kFtrlSettings[] = {
    {"beta", 1, kNotNegative}, {"l1", 0, kNotNegative}, {"l2", 0, kNotNegative}};

// Ranges and defaults are PyTorch's; those of Lion, LAMB and FTRL, which it does not have, are
// those of their papers.
constexpr OptimizerDef kOptimizers[] = {
    {"sgd", "SGD", kSgdState, kSgdSettings, SgdFault},
    {"adam", "Adam", kAdamState, kAdamSettings},
    {"adamax", "Adamax", kAdamaxState, kAdamaxSettings},
    {"adagrad", "AdaGrad", kAdaGradState, kAdaGradSettings},
    {"rmsprop", "RMSProp", kRmsPropState, kRmsPropSettings},
    {"lion", "Lion", kLionState, kLionSettings},
    {"lamb", "LAMB", kLambState, kLambSettings},
    {"ftrl", "FTRL", kFtrlState, kFtrlSettings},
};

bool InRange(SettingRange range, double value) {
  switch (range) {
    case kFinite: return std::isfinite(value);
    case kNotNegative: return std::isfinite(value) && value >= 0;
    case kBelowOne: return value >= 0 && value < 1;
    case kFlag: return value == 0 || value == 1;
  }
  return false;
}

Literal RangeText(SettingRange range) {
  constexpr Literal kTexts[] = {"finite", "at least 0 and finite", "at least 0 and below 1",
                                "0 or 1"};
  return kTexts[static_cast<size_t>(range)];
}

Status CheckStateType(const InferContext& context, const OptimizerState& def,
                      const graph::Variable& parameter) {
  HR_ASSIGN_OR_RETURN(const graph::Variable* state, context.VariableOf(def.attribute));
  if (def.counter) {
    if (state->dtype == DType::kInt64 && state->dims.empty()) return {};
    return InvalidArgument(context.def().name, "'s variable '", state->name,
                           "' wants int64[], got ", DTypeName(state->dtype), state->dims);
  }
  if (state->dtype == parameter.dtype && state->dims == parameter.dims) return {};
  return InvalidArgument(context.def().name, "'s variable '", state->name, "' wants the type of '",
                         parameter.name, "', ", DTypeName(parameter.dtype), parameter.dims,
                         ", got ", DTypeName(state->dtype), state->dims);
}

Status CheckGradient(const InferContext& context, const graph::Variable& parameter) {
  const auto dims = context.input(1).FixedDims();
  if (context.input(1).dtype == parameter.dtype && (!dims || *dims == parameter.dims)) return {};
  return InvalidArgument(context.def().name, " of variable '", parameter.name,
                         "' takes a gradient of type ", DTypeName(parameter.dtype), parameter.dims,
                         ", got ", context.Text(context.input(1)));
}

// (learning_rate [], gradient, when [] bool?) → (). The learning rate is converted to what the
// update computes in. Nothing is updated where `when` is false.
Status InferUpdate(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kFloat32, DType::kFloat64}));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 0));
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  if (context.has_input(2)) {
    HR_RETURN_IF_ERROR(context.ExpectDType(2, {DType::kBool}));
    HR_RETURN_IF_ERROR(context.ExpectRank(2, 0));
  }
  HR_ASSIGN_OR_RETURN(const graph::Variable* parameter, context.VariableOf("variable"));
  HR_RETURN_IF_ERROR(CheckGradient(context, *parameter));
  const OptimizerDef& def = *FindOptimizerOfOp(context.def().name);
  const std::vector<double> settings = SettingsOf(def, context.node());
  for (const OptimizerState& state : def.state) {
    if (context.node().Find(state.attribute) != nullptr) {
      HR_RETURN_IF_ERROR(CheckStateType(context, state, *parameter));
    } else if (Needs(def, state, settings)) {
      return InvalidArgument(def.op, " with ", state.setting, " needs its attribute '",
                             state.attribute, "'");
    }
  }
  return {};
}

constexpr size_t AttributeCount(const OptimizerDef& def) {
  return 1 + def.state.size() + def.settings.size();
}

// An attribute that names a variable which the update changes.
constexpr AttributeDef Changed(Literal name, bool required) {
  return {name, AttributeKind::kInt, required, Changes(ResourceKind::kVariable)};
}

constexpr AttributeDef AttributeOf(const OptimizerDef& def, size_t i) {
  if (i == 0) return Changed("variable", true);
  if (i <= def.state.size()) {
    const OptimizerState& state = def.state[i - 1];
    return Changed(state.attribute, std::string_view(state.setting).empty());
  }
  const OptimizerSetting& setting = def.settings[i - 1 - def.state.size()];
  return {setting.name, setting.range == kFlag ? AttributeKind::kInt : AttributeKind::kFloat};
}

template <size_t kDef, size_t... kIndex>
constexpr auto AttributesOf(std::index_sequence<kIndex...>) {
  return std::array{AttributeOf(kOptimizers[kDef], kIndex)...};
}
template <size_t kDef>
constexpr auto kOptimizerAttributes =
    AttributesOf<kDef>(std::make_index_sequence<AttributeCount(kOptimizers[kDef])>());

template <size_t... kDef>
constexpr auto OpsOf(std::index_sequence<kDef...>) {
  return std::array{OpDef{.domain = kTrain,
                          .name = kOptimizers[kDef].op,
                          .inputs = {2, 3},
                          .outputs = {0, 0},
                          .attributes = kOptimizerAttributes<kDef>,
                          .infer = InferUpdate}...};
}
constexpr auto kOptimizerOps = OpsOf(std::make_index_sequence<std::size(kOptimizers)>());

}  // namespace

OpFamily OptimizerOps() { return Chosen<kOptimizerOps>(); }
std::span<const OptimizerDef> Optimizers() { return kOptimizers; }

Result<const OptimizerDef*> FindOptimizer(std::string_view name) {
  std::vector<std::string_view> known;
  for (const OptimizerDef& def : kOptimizers) {
    const bool built = IsChosen(kTrain, def.op);
    if (built && def.name == name) return &def;
    if (built) known.push_back(def.name);
    if (def.name == name) {
      return Unimplemented("there is no operator ", kTrain, ".", def.op, kHowToAdd);
    }
  }
  return InvalidArgument("there is no optimizer '", name, "'; there are: ", Join(known));
}

const OptimizerDef* FindOptimizerOfOp(std::string_view op) {
  const auto* found = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                   [&](const OptimizerDef& def) { return def.op == op; });
  return found == std::end(kOptimizers) ? nullptr : found;
}

std::vector<double> SettingsOf(const OptimizerDef& def, const Node& node) {
  std::vector<double> out;
  for (const auto& [name, otherwise, range] : def.settings) {
    out.push_back(range == kFlag
                      ? static_cast<double>(node.Int(name, static_cast<int64_t>(otherwise)))
                      : node.Float(name, otherwise));
  }
  return out;
}

Status CheckSettings(const OptimizerDef& def, std::span<const double> settings) {
  for (size_t i = 0; i < settings.size(); ++i) {
    const OptimizerSetting& setting = def.settings[i];
    if (InRange(setting.range, settings[i])) continue;
    return InvalidArgument("optimizer '", def.name, "': ", setting.name, " must be ",
                           RangeText(setting.range), ", got ", settings[i]);
  }
  const std::string fault = def.fault == nullptr ? "" : def.fault(settings);
  if (fault.empty()) return {};
  return InvalidArgument("optimizer '", def.name, "': ", fault);
}

bool Needs(const OptimizerDef& def, const OptimizerState& state, std::span<const double> settings) {
  for (size_t i = 0; i < settings.size(); ++i) {
    if (def.settings[i].name == state.setting) return settings[i] != 0;
  }
  return true;
}

}  // namespace hr::ops
