#include "runtime/transform/minimize.h"

#include "runtime/base/errors.h"
#include "runtime/device/zeros.h"
#include "runtime/graph/unknown_name.h"
#include "runtime/ops/optimizer.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/average.h"
#include "runtime/transform/gradient_path.h"
#include "runtime/transform/gradients.h"
#include "runtime/transform/name_pattern.h"
#include "runtime/transform/specialize.h"
#include "runtime/transform/step_options.h"

namespace hr::transform {
namespace {

// An optimizer with all its settings; `attributes` are those that were given, for its nodes.
struct Optimizer {
  const ops::OptimizerDef* def = nullptr;
  std::vector<double> settings;
  std::vector<graph::Attribute> attributes;
  StepOptions step;
};

Result<size_t> FindSetting(const ops::OptimizerDef& def, std::string_view name) {
  for (size_t i = 0; i < def.settings.size(); ++i) {
    if (def.settings[i].name == name) return i;
  }
  return InvalidArgument("optimizer '", def.name, "' has no setting '", name, "'");
}

Result<Optimizer> ParseOptimizer(std::string_view text) {
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedNumbers(text));
  Optimizer out;
  HR_ASSIGN_OR_RETURN(out.def, ops::FindOptimizer(spec.name));
  out.settings = ops::SettingsOf(*out.def, {});
  std::vector<bool> given(out.settings.size(), false);
  for (const auto& [name, value] : spec.numbers) {
    HR_ASSIGN_OR_RETURN(const bool taken, TakeStepOption(name, value, &out.step));
    if (taken) continue;
    HR_ASSIGN_OR_RETURN(size_t i, FindSetting(*out.def, name));
    out.settings[i] = value;
    given[i] = true;
  }
  HR_RETURN_IF_ERROR(ops::CheckSettings(*out.def, out.settings));
  for (size_t i = 0; i < given.size(); ++i) {
    const auto& [name, otherwise, range] = out.def->settings[i];
    if (!given[i]) continue;
    if (range == ops::SettingRange::kFlag) {
      graph::Append(&out.attributes, {name, static_cast<int64_t>(out.settings[i])});
    } else {
      graph::Append(&out.attributes, {name, out.settings[i]});
    }
  }
  return out;
}

class Updater {
 public:
  // `loss`: what the updates wait for beside the signature, or kNone.
  Updater(GraphBuilder& builder, std::string_view signature, ValueId learning_rate, ValueId loss)
      : builder_(builder), signature_(signature), learning_rate_(learning_rate), loss_(loss) {}

  Status Run(std::string_view optimizer, std::span<const uint32_t> variables,
             std::span<const ValueId> gradients) {
    HR_ASSIGN_OR_RETURN(optimizer_, ParseOptimizer(optimizer));
    if (builder_.registry().Newest(ops::kTrain, optimizer_.def->op) == nullptr) {
      return Unimplemented("this build has no operator headrace.train.", optimizer_.def->op);
    }
    HR_RETURN_IF_ERROR(CheckGradients(variables, gradients));
    FindEffects(gradients);
    std::vector<ValueId> ready(gradients.begin(), gradients.end());
    if (optimizer_.step.accumulate != 1 || optimizer_.step.clip.any()) {
      HR_RETURN_IF_ERROR(MarkGradients(builder_, ready));
    }
    HR_RETURN_IF_ERROR(Accumulate(variables, ready));
    HR_RETURN_IF_ERROR(
        ClipGradients(builder_, optimizer_.step.clip, false, ready).status().Clone());
    for (size_t i = 0; i < variables.size(); ++i) {
      if (ready[i] != kNone) HR_RETURN_IF_ERROR(AddUpdate(variables[i], ready[i]));
    }
    return {};
  }

 private:
  const graph::Module& module() const { return builder_.module(); }

  Status CheckGradients(std::span<const uint32_t> variables, std::span<const ValueId> gradients) {
    bool any = false;
    for (size_t i = 0; i < variables.size(); ++i) {
      HR_RETURN_IF_ERROR(builder_.CheckVariable(variables[i]));
      if (gradients[i] == kNone) continue;
      any = true;
      const graph::Variable& variable = module().variables[variables[i]];
      if (gradients[i] >= builder_.graph().values.size()) {
        return InvalidArgument("the gradient of variable '", variable.name, "' is value #",
                               gradients[i], ", which is not of this graph");
      }
      if (!variable.trainable) {
        return FailedPrecondition("variable '", variable.name,
                                  "' is frozen; make it trainable before it is updated");
      }
    }
    if (any) return {};
    return NoGradient(builder_.registry(), module(), loss_);
  }

  // An update comes after what its own signature does with the variable; other signatures' updates
  // are none of its business.
  void FindEffects(std::span<const ValueId> gradients) {
    Request step{.fetches = {gradients.begin(), gradients.end()},
                 .targets = builder_.SignatureNamed(signature_).targets};
    step.fetches.push_back(loss_);
    std::erase(step.fetches, kNone);
    if (learning_rate_ < builder_.graph().values.size()) step.fetches.push_back(learning_rate_);
    for (const graph::Port& port : builder_.SignatureNamed(signature_).outputs)
      step.fetches.push_back(port.value);
    const graph::Graph& graph = builder_.graph();
    const graph::Marks needed = NeededNodes(graph, graph::Marks(graph.values.size(), false), step);
    effects_.resize(module().variables.size());
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const graph::Node& node = graph.nodes[id];
      if (!needed[id]) continue;
      for (const ops::VariableUse& use : ops::VariablesOf(builder_.registry(), module(), node)) {
        // A read without controls is of the start of the step, whatever comes first.
        if (use.writes || !node.controls.empty()) effects_[use.variable].push_back(id);
      }
    }
  }

  Status Accumulate(std::span<const uint32_t> variables, std::span<ValueId> gradients) {
    HR_ASSIGN_OR_RETURN(auto&& accumulation,
                        Accumulation::Begin(builder_, signature_, optimizer_.step.accumulate));
    when_ = accumulation.when();
    for (size_t i = 0; when_ != kNone && i < variables.size(); ++i) {
      if (gradients[i] == kNone) continue;
      const std::string name = StateName(variables[i], "accumulated");
      HR_ASSIGN_OR_RETURN(gradients[i], accumulation.Add(gradients[i], name));
    }
    return {};
  }

  Status CheckOnlyUpdate(uint32_t variable) {
    for (NodeId target : builder_.SignatureNamed(signature_).targets) {
      const graph::Node& node = builder_.graph().nodes[target];
      if (module().OperatorOf(node).domain == ops::kTrain && node.Int("variable", -1) == variable) {
        return AlreadyExists("signature '", signature_, "' updates variable '",
                             module().variables[variable].name,
                             "' already; minimize the sum of the losses, or use another signature");
      }
    }
    return {};
  }

  Result<uint32_t> AddState(uint32_t variable, const ops::OptimizerState& state) {
    const graph::Variable declared = module().variables[variable];
    DType dtype = state.counter ? DType::kInt64 : declared.dtype;
    Dims dims = state.counter ? Dims{} : declared.dims;
    HR_ASSIGN_OR_RETURN(auto&& zero, MakeZeros(builder_.allocator(), dtype, dims));
    return builder_.AddVariable(StateName(variable, state.suffix), std::move(zero), false);
  }

  std::string StateName(uint32_t variable, std::string_view suffix) const {
    const std::string& owner = module().variables[variable].name;
    std::string name = Cat(owner, "/", suffix);
    if (module().FindVariable(name) == kNone) return name;
    return Cat(owner, "/", signature_, "/", suffix);
  }

  Status AddUpdate(uint32_t variable, ValueId gradient) {
    HR_RETURN_IF_ERROR(CheckOnlyUpdate(variable));
    std::vector<graph::Attribute> attributes = optimizer_.attributes;
    graph::Append(&attributes, {"variable", int64_t{variable}});
    for (const ops::OptimizerState& state : optimizer_.def->state) {
      if (!ops::Needs(*optimizer_.def, state, optimizer_.settings)) continue;
      HR_ASSIGN_OR_RETURN(uint32_t index, AddState(variable, state));
      graph::Append(&attributes, {state.attribute, int64_t{index}});
    }
    std::string name = builder_.UniqueName(Cat(module().variables[variable].name, "/update"));
    std::vector<ValueId> inputs = {learning_rate_, gradient};
    if (when_ != kNone) inputs.push_back(when_);
    HR_ASSIGN_OR_RETURN(NodeId node, builder_.AddNode({.domain = std::string(ops::kTrain),
                                                       .op = std::string(optimizer_.def->op),
                                                       .inputs = std::move(inputs),
                                                       .outputs = 0,
                                                       .attributes = std::move(attributes),
                                                       .controls = effects_[variable],
                                                       .chained = false,
                                                       .name = std::move(name)}));
    builder_.SignatureNamed(signature_).targets.push_back(node);
    if (optimizer_.step.average == 0) return {};
    return AddAverage(builder_, signature_, variable, optimizer_.step.average, node, when_);
  }

  GraphBuilder& builder_;
  const std::string_view signature_;
  const ValueId learning_rate_;
  const ValueId loss_;
  Optimizer optimizer_;
  ValueId when_ = kNone;                      // whether this run updates; kNone: each does
  std::vector<std::vector<NodeId>> effects_;  // by variable
};

Status Apply(GraphBuilder& builder, std::string_view signature, std::string_view optimizer,
             ValueId learning_rate, std::span<const uint32_t> variables,
             std::span<const ValueId> gradients, ValueId loss) {
  std::string device = builder.SetDevice("");  // an update goes where its variable is
  HR_RETURN_IF_ERROR(
      Updater(builder, signature, learning_rate, loss).Run(optimizer, variables, gradients));
  builder.SetDevice(std::move(device));
  return {};
}

}  // namespace

Status ApplyGradients(GraphBuilder& builder, std::string_view signature, std::string_view optimizer,
                      ValueId learning_rate, std::span<const uint32_t> variables,
                      std::span<const ValueId> gradients) {
  return builder.AllOrNothing([&] {
    return Apply(builder, signature, optimizer, learning_rate, variables, gradients, kNone);
  });
}

namespace {

std::vector<uint32_t> Trainable(const graph::Module& module) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    if (module.variables[i].trainable) out.push_back(i);
  }
  return out;
}

std::vector<std::string> NamesOf(const graph::Module& module, std::span<const uint32_t> variables) {
  std::vector<std::string> out;
  for (uint32_t variable : variables) out.push_back(module.variables[variable].name);
  return out;
}

// The gradients of the group's variables, which are taken out of `gradients`.
Result<std::vector<ValueId>> TakeGroup(std::string_view patterns,
                                       std::span<const std::string> names,
                                       std::span<ValueId> gradients) {
  HR_ASSIGN_OR_RETURN(auto&& fits, MatchNames("trainable variable", patterns, names));
  std::vector<ValueId> out(names.size(), kNone);
  for (size_t i = 0; i < names.size(); ++i) {
    if (fits[i]) out[i] = std::exchange(gradients[i], kNone);
  }
  return out;
}

Status CheckAllTaken(std::span<const std::string> names, std::span<const ValueId> gradients) {
  std::vector<std::string> left;
  for (size_t i = 0; i < names.size(); ++i) {
    if (gradients[i] != kNone) left.push_back(names[i]);
  }
  if (left.empty()) return {};
  return FailedPrecondition("no group has", ListText(left).substr(1),
                            "; end with a group whose pattern is '*', or freeze them");
}

}  // namespace

Status MinimizeGroups(GraphBuilder& builder, std::string_view signature, ValueId loss,
                      std::span<const ParameterGroup> groups) {
  const std::vector<uint32_t> variables = Trainable(builder.module());
  const std::vector<std::string> names = NamesOf(builder.module(), variables);
  return builder.AllOrNothing([&]() -> Status {
    HR_ASSIGN_OR_RETURN(auto&& gradients, VariableGradients(builder, loss, variables));
    for (const ParameterGroup& group : groups) {
      HR_ASSIGN_OR_RETURN(auto&& own, TakeGroup(group.patterns, names, gradients));
      Status status =
          Apply(builder, signature, group.optimizer, group.learning_rate, variables, own, loss);
      if (!status.ok())
        return std::move(status).WithContext(Cat("the group '", group.patterns, "'"));
    }
    return CheckAllTaken(names, gradients);
  });
}

Result<size_t> SetTrainable(GraphBuilder& builder, std::string_view patterns, bool trainable) {
  HR_ASSIGN_OR_RETURN(auto&& fits,
                      MatchNames("variable", patterns, graph::NamesOf(builder.module().variables)));
  size_t count = 0;
  for (uint32_t i = 0; i < fits.size(); ++i) {
    if (!fits[i]) continue;
    HR_RETURN_IF_ERROR(builder.SetTrainable(i, trainable));
    ++count;
  }
  return count;
}

Status Minimize(GraphBuilder& builder, std::string_view signature, ValueId loss,
                std::string_view optimizer, ValueId learning_rate) {
  const std::vector<uint32_t> variables = Trainable(builder.module());
  return builder.AllOrNothing([&]() -> Status {
    HR_ASSIGN_OR_RETURN(auto&& gradients, VariableGradients(builder, loss, variables));
    return Apply(builder, signature, optimizer, learning_rate, variables, gradients, loss);
  });
}

}  // namespace hr::transform
