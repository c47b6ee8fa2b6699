#include "runtime/transform/minimize.h"

#include "runtime/base/errors.h"
#include "runtime/ops/optimizer.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/gradients.h"
#include "runtime/transform/specialize.h"

namespace hr::transform {
namespace {

// An optimizer with all its settings; `attributes` are those that were given, for its nodes.
struct Optimizer {
  const ops::OptimizerDef* def = nullptr;
  std::vector<double> settings;
  std::vector<graph::Attribute> attributes;
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
    for (size_t i = 0; i < variables.size(); ++i) {
      if (gradients[i] != kNone) HR_RETURN_IF_ERROR(AddUpdate(variables[i], gradients[i]));
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
    return FailedPrecondition(
        "the loss depends on no trainable variable through differentiable operators");
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
    HR_ASSIGN_OR_RETURN(auto&& zero, Tensor::Create(builder_.allocator(), dtype, dims));
    if (zero.bytes() != 0) __builtin_memset(zero.data(), 0, zero.bytes());
    std::string name = Cat(declared.name, "/", state.suffix);
    if (module().FindVariable(name) != kNone)
      name = Cat(declared.name, "/", signature_, "/", state.suffix);
    return builder_.AddVariable(name, std::move(zero), false);
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
    HR_ASSIGN_OR_RETURN(NodeId node, builder_.AddNode({.domain = std::string(ops::kTrain),
                                                       .op = std::string(optimizer_.def->op),
                                                       .inputs = {learning_rate_, gradient},
                                                       .outputs = 0,
                                                       .attributes = std::move(attributes),
                                                       .controls = effects_[variable],
                                                       .chained = false,
                                                       .name = std::move(name)}));
    builder_.SignatureNamed(signature_).targets.push_back(node);
    return {};
  }

  GraphBuilder& builder_;
  const std::string_view signature_;
  const ValueId learning_rate_;
  const ValueId loss_;
  Optimizer optimizer_;
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

Status Minimize(GraphBuilder& builder, std::string_view signature, ValueId loss,
                std::string_view optimizer, ValueId learning_rate) {
  std::vector<uint32_t> variables;
  for (uint32_t i = 0; i < builder.module().variables.size(); ++i) {
    if (builder.module().variables[i].trainable) variables.push_back(i);
  }
  return builder.AllOrNothing([&]() -> Status {
    HR_ASSIGN_OR_RETURN(auto&& gradients, VariableGradients(builder, loss, variables));
    return Apply(builder, signature, optimizer, learning_rate, variables, gradients, loss);
  });
}

}  // namespace hr::transform
