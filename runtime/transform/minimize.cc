#include "runtime/transform/minimize.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/gradients.h"

namespace hr::transform {
namespace {

// A state variable of an optimizer: the attribute that names it, and what it holds.
struct StateDef {
  std::string_view attribute;
  std::string_view suffix;
  bool counter = false;  // an int64 scalar instead of the variable's type and shape
};

struct OptimizerDef {
  std::string_view name;
  std::string_view op;
  std::span<const StateDef> state;
};

constexpr StateDef kSgdState[] = {{"momentum_variable", "momentum"}};
constexpr StateDef kAdamState[] = {
    {"m_variable", "adam_m"}, {"v_variable", "adam_v"}, {"step_variable", "adam_step", true}};

Result<OptimizerDef> FindOptimizer(const NamedNumbers& spec) {
  if (spec.name == "sgd") {
    bool momentum = std::any_of(spec.numbers.begin(), spec.numbers.end(), [](const auto& number) {
      return number.first == "momentum" && number.second != 0;
    });
    return OptimizerDef{"sgd", "SGD", std::span(kSgdState).first(momentum ? 1 : 0)};
  }
  if (spec.name == "adam") return OptimizerDef{"adam", "Adam", kAdamState};
  return InvalidArgument("there is no optimizer '", spec.name, "'; there are: sgd, adam");
}

// The optimizer's settings as attributes of its node.
Result<std::vector<graph::Attribute>> Settings(const ops::OpDef& def, const NamedNumbers& spec) {
  std::vector<graph::Attribute> out;
  for (const auto& [key, value] : spec.numbers) {
    auto known = std::find_if(def.attributes.begin(), def.attributes.end(),
                              [&, &key = key](const auto& a) { return a.name == key; });
    if (known == def.attributes.end() || key.ends_with("variable")) {
      return InvalidArgument("optimizer '", spec.name, "' has no setting '", key, "'");
    }
    if (known->kind == ops::AttributeKind::kInt) {
      graph::Append(&out, {key, static_cast<int64_t>(value)});
    } else {
      graph::Append(&out, {key, value});
    }
  }
  return out;
}

Result<uint32_t> AddState(GraphBuilder& builder, uint32_t variable, const StateDef& state) {
  const graph::Variable declared = builder.module().variables[variable];
  DType dtype = state.counter ? DType::kInt64 : declared.dtype;
  Dims dims = state.counter ? Dims{} : declared.dims;
  HR_ASSIGN_OR_RETURN(auto&& zero, Tensor::Create(builder.allocator(), dtype, dims));
  if (zero.bytes() != 0) __builtin_memset(zero.data(), 0, zero.bytes());
  return builder.AddVariable(Cat(declared.name, "/", state.suffix), std::move(zero), false);
}

Result<std::vector<NodeId>> AddUpdates(GraphBuilder& builder, ValueId loss,
                                       std::string_view optimizer, ValueId learning_rate) {
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedNumbers(optimizer));
  HR_ASSIGN_OR_RETURN(auto&& def, FindOptimizer(spec));
  const ops::OpDef* op = builder.registry().Newest(ops::kTrain, def.op);
  if (op == nullptr) return Unimplemented("this build has no operator headrace.train.", def.op);
  HR_ASSIGN_OR_RETURN(auto&& settings, Settings(*op, spec));
  std::vector<uint32_t> variables;
  std::vector<ValueId> reads;
  for (uint32_t v = 0; v < builder.module().variables.size(); ++v) {
    if (!builder.module().variables[v].trainable) continue;
    HR_ASSIGN_OR_RETURN(ValueId read, builder.Read(v));
    variables.push_back(v);
    reads.push_back(read);
  }
  if (variables.empty()) return FailedPrecondition("there is no trainable variable to update");
  ValueId ys[] = {loss};
  HR_ASSIGN_OR_RETURN(auto&& gradients, AddGradients(builder, ys, reads));
  std::vector<NodeId> updates;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i] == kNone) continue;
    std::vector<graph::Attribute> attributes = settings;
    graph::Append(&attributes, {"variable", int64_t{variables[i]}});
    for (const StateDef& state : def.state) {
      HR_ASSIGN_OR_RETURN(uint32_t index, AddState(builder, variables[i], state));
      graph::Append(&attributes, {state.attribute, int64_t{index}});
    }
    HR_ASSIGN_OR_RETURN(
        NodeId node,
        builder.AddNode({.domain = std::string(ops::kTrain),
                         .op = std::string(def.op),
                         .inputs = {learning_rate, gradients[i]},
                         .outputs = 0,
                         .attributes = std::move(attributes),
                         .name = Cat(builder.module().variables[variables[i]].name, "/update")}));
    updates.push_back(node);
  }
  if (updates.empty()) {
    return FailedPrecondition(
        "the loss depends on no trainable variable through differentiable operators");
  }
  return updates;
}

}  // namespace

Result<std::vector<NodeId>> Minimize(GraphBuilder& builder, ValueId loss,
                                     std::string_view optimizer, ValueId learning_rate) {
  const std::string device = builder.SetDevice("");  // an update goes where its variable is
  auto updates = AddUpdates(builder, loss, optimizer, learning_rate);
  builder.SetDevice(device);
  return updates;
}

}  // namespace hr::transform
