#include "runtime/session/staged_run.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/ops/control.h"
#include "runtime/session/containers.h"
#include "runtime/session/session.h"

namespace hr::session {
namespace {

using transform::StageValue;
using From = StageValue::From;
using Operands = std::span<const RunValue* const>;

// The key of random numbers in one iteration of a loop.
uint64_t SeedOf(uint64_t seed, int64_t iteration) {
  uint64_t mixed = seed ^ (static_cast<uint64_t>(iteration) + 1) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  return mixed ^ mixed >> 27;
}

RunValue ValueAt(const StageNode& node, const StageValue& at, std::span<const RunValue> inputs,
                 std::span<const RunValue> ready, std::span<const RunValue> host) {
  switch (at.from) {
    case From::kInput: return inputs[at.index];
    case From::kConstant: return RunValue::Of(node.stage().whole.constants[at.index]);
    case From::kReady: return ready[at.index];
    case From::kHost: return host[at.index];
    case From::kNone: break;
  }
  return {};
}

// What a loop has to know before it begins.
struct LoopStart {
  int64_t trips = INT64_MAX;
  bool go = true;
};

LoopStart StartOf(Operands inputs) {
  LoopStart out;
  if (inputs[0] != nullptr) out.trips = *inputs[0]->tensor.as<int64_t>();
  if (inputs[1] != nullptr) out.go = *inputs[1]->tensor.as<bool>();
  return out;
}

// A number or condition as the body declares it: a scalar, or one element.
Result<RunValue> OneElement(Allocator& allocator, const graph::ValueType& declared, DType dtype,
                            int64_t value) {
  Dims dims = declared.rank() == 1 ? Dims{1} : Dims{};
  HR_ASSIGN_OR_RETURN(auto&& tensor, Tensor::Create(allocator, dtype, std::move(dims)));
  if (dtype == DType::kBool) {
    *tensor.as<bool>() = value != 0;
  } else {
    *tensor.as<int64_t>() = value;
  }
  return RunValue::Of(std::move(tensor));
}

Result<bool> ConditionOf(const RunValue& value) {
  const Tensor& tensor = value.tensor;
  if (tensor.defined() && tensor.dtype() == DType::kBool && tensor.elements() == 1) {
    return *tensor.as<bool>();
  }
  return InvalidArgument("a Loop's body gives one bool as its condition, it gave ",
                         graph::TypeText(value.type(), {}));
}

const graph::Graph& BodyGraph(const graph::Module& module, const graph::Node& node) {
  return module.graphs[std::get<graph::GraphIndex>(*node.Find("body")).index];
}

}  // namespace

Status StagedRun::CheckLimits() const {
  const bool* begun = context_.update_begun;
  return begun != nullptr && *begun ? Status() : context_.limits->Check();
}

Result<std::vector<Tensor>> StagedRun::Run(const graph::Signature& signature, StageTree& tree,
                                           std::vector<RunValue> inputs, Check check) {
  HR_ASSIGN_OR_RETURN(Values values, RunTree(tree, std::move(inputs), context_.seed, &check));
  std::vector<Tensor> out;
  for (size_t i = 0; i < values.size(); ++i) {
    Tensor& tensor = values[i].tensor;
    if (!tensor.defined()) {
      return FailedPrecondition("output '", signature.outputs[i].name, "' is a ",
                                graph::KindName(values[i].kind()),
                                "; fetch tensors, for example what SequenceAt or "
                                "ConcatFromSequence make of it");
    }
    out.push_back(std::move(tensor));
  }
  values.clear();
  for (size_t i = 0; i < out.size(); ++i) {
    HR_RETURN_IF_ERROR(check(i, {out[i].dtype(), out[i].dims()}));
    // Inputs, constants and other outputs stay what they are, whatever is done with this one.
    if (out[i].buffer().use_count() == 1) continue;
    HR_ASSIGN_OR_RETURN(out[i], out[i].Clone(session_.env().allocator()));
  }
  return out;
}

Result<StagedRun::Values> StagedRun::RunTree(StageTree& first, Values inputs, uint64_t seed,
                                             const Check* check) {
  StageTree* tree = &first;
  std::shared_ptr<StageNode> node;  // keeps `tree`, which may be its rest
  while (true) {
    HR_RETURN_IF_ERROR(CheckLimits());
    HR_ASSIGN_OR_RETURN(auto&& at, tree->At(inputs));
    const bool last = at->stage().last;
    if (last && check != nullptr) HR_RETURN_IF_ERROR(CheckTypes(*at, inputs, *check));
    HR_ASSIGN_OR_RETURN(Values ready, RunCompiled(*at, inputs, seed));
    HR_ASSIGN_OR_RETURN(Values host, RunHost(*at, inputs, ready, seed));
    Values next;
    next.reserve(at->stage().next.size());
    for (const StageValue& value : at->stage().next) {
      next.push_back(ValueAt(*at, value, inputs, ready, host));
    }
    if (last) return next;
    inputs = std::move(next);
    node = std::move(at);
    tree = node->rest();
  }
}

Status StagedRun::CheckTypes(const StageNode& node, const Values& inputs,
                             const Check& check) const {
  for (size_t i = 0; i < node.stage().next.size(); ++i) {
    const StageValue& at = node.stage().next[i];
    if (at.from == From::kReady) {
      HR_RETURN_IF_ERROR(check(i, node.plan()->full().outputs[at.index]));
    } else if (at.from == From::kInput && inputs[at.index].tensor.defined()) {
      HR_RETURN_IF_ERROR(check(i, {inputs[at.index].dtype, inputs[at.index].tensor.dims()}));
    }
  }
  return {};
}

Result<StagedRun::Values> StagedRun::RunCompiled(const StageNode& node, const Values& inputs,
                                                 uint64_t seed) {
  Values outputs;
  Plan* plan = node.plan();
  if (plan == nullptr) return outputs;
  HR_ASSIGN_OR_RETURN(Instance instance, Instance::Of(node.shared_plan(), plan->shared_full()));
  const auto& feeds = node.stage().ready_inputs;
  for (size_t i = 0; i < feeds.size(); ++i) {
    instance->Bind(plan->input_slot(i), inputs[feeds[i]].tensor.data());
  }
  outputs.reserve(plan->full().outputs.size());
  for (size_t i = 0; i < plan->full().outputs.size(); ++i) {
    const ConcreteType& type = plan->full().outputs[i];
    HR_ASSIGN_OR_RETURN(auto&& tensor,
                        Tensor::Create(session_.env().allocator(), type.dtype, type.dims));
    instance->Bind(plan->output_slot(i), tensor.data());
    outputs.push_back(RunValue::Of(std::move(tensor)));
  }
  HR_RETURN_IF_ERROR(session_.BindVariables(*plan, *instance));
  RunContext context = context_;
  context.seed = seed;
  HR_RETURN_IF_ERROR(instance->Run(context));
  return outputs;
}

Result<StagedRun::Values> StagedRun::RunHost(const StageNode& node, const Values& inputs,
                                             const Values& ready, uint64_t seed) {
  Values outputs;
  const transform::Stage& stage = node.stage();
  for (size_t i = 0; i < stage.host.size(); ++i) {
    const graph::Node& what = stage.whole.main().nodes[stage.host[i].node];
    const graph::Operator& op = stage.whole.OperatorOf(what);
    Values operands;
    for (const StageValue& at : stage.host[i].inputs) {
      operands.push_back(ValueAt(node, at, inputs, ready, outputs));
    }
    std::vector<const RunValue*> given;
    for (size_t k = 0; k < operands.size(); ++k) {
      given.push_back(stage.host[i].inputs[k].from == From::kNone ? nullptr : &operands[k]);
    }
    Status status;
    if (op.name == "Loop") {
      status = RunLoop(node, i, given, seed, outputs);
    } else if (op.name == "SequenceMap") {
      status = RunMap(node, i, given, seed, outputs);
    } else {
      auto value = RunContainerNode(session_.env().allocator(), op, what, given);
      if (value.ok()) {
        outputs.push_back(std::move(value).value());
      } else {
        status = std::move(value).status();
      }
    }
    if (!status.ok()) {
      return std::move(status).WithNode(
          graph::NodeText(stage.whole, stage.whole.main(), stage.host[i].node));
    }
  }
  return outputs;
}

Status StagedRun::RunLoop(const StageNode& node, size_t host, Operands inputs, uint64_t seed,
                          Values& outputs) {
  const graph::Module& whole = node.stage().whole;
  const graph::Node& what = whole.main().nodes[node.stage().host[host].node];
  HR_ASSIGN_OR_RETURN(const ops::LoopLayout layout, ops::LoopLayoutOf(whole, what));
  const graph::Graph& body = BodyGraph(whole, what);
  const auto declared = [&](size_t i) -> const graph::ValueType& {
    return body.values[body.inputs[i]].type;
  };
  Allocator& allocator = session_.env().allocator();
  const LoopStart start = StartOf(inputs);
  bool go = start.go;
  Values states;
  for (size_t i = 0; i < layout.states; ++i) states.push_back(*inputs[2 + i]);
  std::vector<std::vector<Tensor>> scans(layout.scans);
  const auto wanted = [&](size_t output) {
    return output < what.outputs.size() && what.outputs[output] != graph::kNone;
  };
  for (int64_t i = 0; go && i < start.trips; ++i) {
    Values arguments;
    arguments.reserve(inputs.size());
    HR_ASSIGN_OR_RETURN(auto&& number, OneElement(allocator, declared(0), DType::kInt64, i));
    HR_ASSIGN_OR_RETURN(auto&& condition, OneElement(allocator, declared(1), DType::kBool, 1));
    arguments.push_back(std::move(number));
    arguments.push_back(std::move(condition));
    for (RunValue& state : states) arguments.push_back(std::move(state));
    for (size_t k = 0; k < layout.captured; ++k) {
      arguments.push_back(*inputs[layout.first_captured() + k]);
    }
    auto results = RunTree(*node.body(host), std::move(arguments), SeedOf(seed, i), nullptr);
    if (!results.ok()) return std::move(results).status().WithContext(Cat("iteration ", i));
    HR_ASSIGN_OR_RETURN(go, ConditionOf((*results)[0]));
    states.assign(
        std::make_move_iterator(results->begin() + 1),
        std::make_move_iterator(results->begin() + 1 + static_cast<std::ptrdiff_t>(layout.states)));
    for (size_t k = 0; k < layout.scans; ++k) {
      if (!wanted(layout.states + k)) continue;
      const RunValue& scan = (*results)[1 + layout.states + k];
      if (!scan.tensor.defined()) {
        return Unimplemented("a Loop joins tensors, its body gives a ",
                             graph::KindName(scan.kind()), " as output ", 1 + layout.states + k);
      }
      scans[k].push_back(std::move((*results)[1 + layout.states + k].tensor));
    }
  }
  for (size_t i = 0; i < what.outputs.size() && i < layout.states; ++i) {
    outputs.push_back(std::move(states[i]));
  }
  for (size_t i = layout.states; i < what.outputs.size(); ++i) {
    RunValue joined;
    if (wanted(i)) {
      const graph::ValueType& step = body.values[body.outputs[1 + i]].type;
      auto stacked = Stack(allocator, scans[i - layout.states], step);
      if (!stacked.ok()) return std::move(stacked).status().WithContext(Cat("output ", i));
      joined = RunValue::Of(std::move(stacked).value());
    }
    outputs.push_back(std::move(joined));
  }
  return {};
}

Status StagedRun::RunMap(const StageNode& node, size_t host, Operands inputs, uint64_t seed,
                         Values& outputs) {
  const graph::Module& whole = node.stage().whole;
  const graph::Node& what = whole.main().nodes[node.stage().host[host].node];
  const auto captured = static_cast<size_t>(what.Int("captured", 0));
  const size_t mapped = inputs.size() - captured;
  const size_t count = inputs[0]->sequence->size();
  std::vector<std::vector<Tensor>> results(what.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    Values arguments;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const bool element = k < mapped && inputs[k]->sequence != nullptr;
      if (element && inputs[k]->sequence->size() != count) {
        return InvalidArgument("SequenceMap takes sequences of one length, got ", count, " and ",
                               inputs[k]->sequence->size());
      }
      arguments.push_back(element ? RunValue::Of((*inputs[k]->sequence)[i]) : *inputs[k]);
    }
    auto given = RunTree(*node.body(host), std::move(arguments),
                         SeedOf(seed, static_cast<int64_t>(i)), nullptr);
    if (!given.ok()) return std::move(given).status().WithContext(Cat("element ", i));
    for (size_t k = 0; k < results.size(); ++k) {
      results[k].push_back(std::move((*given)[k].tensor));
    }
  }
  const graph::Graph& body = BodyGraph(whole, what);
  for (size_t k = 0; k < results.size(); ++k) {
    const DType dtype = body.values[body.outputs[k]].type.dtype;
    outputs.push_back(RunValue::Sequence(dtype, std::move(results[k])));
  }
  return {};
}

}  // namespace hr::session
