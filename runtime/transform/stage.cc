#include "runtime/transform/stage.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/transform/compose.h"
#include "runtime/transform/extract.h"
#include "runtime/transform/infer_types.h"
#include "runtime/transform/specialize.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using From = StageValue::From;

bool IsContainer(const graph::ValueType& type) { return type.kind != graph::ValueKind::kTensor; }

bool TouchesContainer(const graph::Graph& graph, const graph::Node& node) {
  const auto is = [&](ValueId id) { return id != kNone && IsContainer(graph.values[id].type); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is);
}

// Whether the session runs the node and no region does.
bool RunsOnHost(const ops::OpDef& def, const graph::Graph& graph, const graph::Node& node) {
  if (def.control == ops::Control::kLoop) return true;
  return def.containers && (def.name != "Identity" || TouchesContainer(graph, node));
}

bool Writes(const ops::OpDef& def, const graph::Node& node) {
  const auto effects = ops::EffectsOf(def, node);
  return std::any_of(effects.begin(), effects.end(), [](const auto& e) { return e.writes; });
}

// The branch of an If whose condition is known; kNone for other nodes.
uint32_t KnownBranch(const FoldTools& tools, const graph::Module& module, NodeId id) {
  const graph::Node& node = module.main().nodes[id];
  if (ops::DefOf(tools.operators, module, node).control != ops::Control::kIf) return kNone;
  const uint32_t condition = module.main().values[node.inputs[0]].constant;
  if (condition == kNone) return kNone;
  const bool value = *module.constants[condition].as<bool>();
  const auto* body = node.Find(value ? Literal("then_branch") : Literal("else_branch"));
  return std::get<graph::GraphIndex>(*body).index;
}

// Puts branches that are known in the place of their Ifs. Returns whether there were any.
Result<bool> TakeBranches(const FoldTools& tools, graph::Module& module) {
  std::vector<std::pair<NodeId, uint32_t>> known;
  for (NodeId id = 0; id < module.main().nodes.size(); ++id) {
    const uint32_t branch = KnownBranch(tools, module, id);
    if (branch != kNone) known.push_back({id, branch});
  }
  if (known.empty()) return false;
  GraphBuilder builder(tools.allocator, tools.operators, std::move(module));
  for (const auto& [id, branch] : known) {
    const graph::Node node = builder.graph().nodes[id];  // a copy: the graph grows
    const std::string device = builder.SetDevice(node.device);
    builder.SetScope(node.name);
    auto outputs = builder.EmitBody(branch, std::span(node.inputs).subspan(1));
    builder.SetScope("");
    builder.SetDevice(device);
    HR_RETURN_IF_ERROR(outputs.status().Clone());
    builder.Redirect(id, *outputs);
  }
  module = std::move(builder).Take();
  return true;
}

// Makes one stage out of a module.
class StageMaker {
 public:
  StageMaker(const FoldTools& tools, std::span<const StageInput> inputs)
      : tools_(tools), inputs_(inputs) {}

  Result<Stage> Make(const graph::Module& module) {
    whole_ = module;
    TakeInputs();
    HR_RETURN_IF_ERROR(Reduce());
    HR_RETURN_IF_ERROR(Divide());
    Stage out;
    MakeReady(out);
    MakeHost(out);
    MakeRest(out);
    const bool advances =
        !out.ready.main().nodes.empty() || !out.host.empty() ||
        std::any_of(out.decides.begin(), out.decides.end(), [](char d) { return d; });
    if (!out.last && !advances) return Stuck();
    out.whole = std::move(whole_);
    return out;
  }

 private:
  graph::Graph& main() { return whole_.main(); }
  graph::Signature& run() { return whole_.signatures[0]; }
  const ops::OpDef& DefOf(NodeId id) {
    return ops::DefOf(tools_.operators, whole_, main().nodes[id]);
  }

  // Gives the inputs their types; those whose contents are known become constants.
  void TakeInputs() {
    std::vector<graph::Port> stay;
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      const graph::Port port = run().inputs[i];
      graph::Value& value = main().values[port.value];
      value.type = inputs_[i].type;
      if (inputs_[i].contents == nullptr) {
        stay.push_back(port);
        input_index_.push_back(i);
        continue;
      }
      value.constant = static_cast<uint32_t>(whole_.constants.size());
      whole_.constants.push_back(*inputs_[i].contents);
      std::erase(main().inputs, port.value);
    }
    run().inputs = std::move(stay);
  }

  // Types, constants, compositions and branches, until nothing changes.
  Status Reduce() {
    // A node that another one waits for must run, even if the value of that other one becomes a
    // constant.
    for (const graph::Node& node : main().nodes) {
      for (NodeId awaited : node.controls) run().targets.push_back(awaited);
    }
    for (bool again = true; again;) {
      FoldRecord record;
      HR_RETURN_IF_ERROR(InferAndFold(tools_, whole_, &record));
      MergeEqualNodes(tools_.operators, record.order, whole_);
      whole_ = NeededPart(whole_).module;
      HR_ASSIGN_OR_RETURN(again, TakeBranches(tools_, whole_));
      if (HasComposed(tools_.operators, whole_)) {
        HR_ASSIGN_OR_RETURN(auto&& composed, ComposedWhereKnown(tools_.allocator, tools_.operators,
                                                                std::move(whole_)));
        again |= composed.any;
        whole_ = std::move(composed.module);
      }
    }
    return {};
  }

  // Which nodes run in this stage: in the compiled part, or after it on the host.
  Status Divide() {
    const size_t nodes = main().nodes.size();
    HR_ASSIGN_OR_RETURN(order_, graph::TopologicalOrder(main()));
    asked_.assign(nodes, 0);
    for (NodeId id : order_) {
      HR_RETURN_IF_ERROR(InferNode(tools_.operators, whole_, main(), id, &asked_[id]));
    }
    MarkReady(false);
    bool all = std::all_of(ready_.begin(), ready_.end(), [](char ready) { return ready; });
    // Variables are written when nothing else is left that could fail.
    if (all) return {};
    const graph::Marks eager = ready_;
    MarkReady(true);
    MarkHost();
    const auto any = [](const graph::Marks& marks) {
      return std::any_of(marks.begin(), marks.end(), [](char mark) { return mark; });
    };
    if (any(ready_) || any(host_) || Decides()) return {};
    ready_ = eager;
    MarkHost();
    return {};
  }

  void MarkReady(bool defer_writes) {
    const size_t nodes = main().nodes.size();
    ready_.assign(nodes, false);
    host_.assign(nodes, false);
    for (NodeId id : order_) {
      const graph::Node& node = main().nodes[id];
      const ops::OpDef& def = DefOf(id);
      const bool before = std::all_of(node.controls.begin(), node.controls.end(),
                                      [&](NodeId control) { return ready_[control]; });
      const bool given = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        return input == kNone || main().values[input].producer == kNone ||
               ready_[main().values[input].producer];
      });
      const bool sized = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
        return out == kNone || main().values[out].type.FixedDims().has_value();
      });
      ready_[id] = before && given && sized && asked_[id] == 0 && !def.is_composed(main(), node) &&
                   def.control == ops::Control::kNone && !RunsOnHost(def, main(), node) &&
                   !(defer_writes && Writes(def, node));
    }
  }

  // Whether the value is there when the compiled part has run.
  bool IsThere(ValueId value) {
    const NodeId producer = value == kNone ? kNone : main().values[value].producer;
    return producer == kNone || ready_[producer];
  }

  void MarkHost() {
    for (NodeId id : order_) {
      const graph::Node& node = main().nodes[id];
      host_[id] = !ready_[id] && RunsOnHost(DefOf(id), main(), node) &&
                  std::all_of(node.inputs.begin(), node.inputs.end(),
                              [&](ValueId input) { return IsThere(input); }) &&
                  std::all_of(node.controls.begin(), node.controls.end(),
                              [&](NodeId control) { return ready_[control]; });
    }
  }

  // The values that nodes wait for to be known.
  graph::Marks Wanted() {
    graph::Marks wanted(main().values.size(), false);
    for (NodeId id = 0; id < main().nodes.size(); ++id) {
      const auto& inputs = main().nodes[id].inputs;
      if (ready_[id] || host_[id]) continue;
      for (size_t i = 0; i < inputs.size() && i < 64; ++i) {
        if ((asked_[id] >> i & 1) != 0) wanted[inputs[i]] = true;
        if (DefOf(id).compose != nullptr && IsParameter(inputs[i])) wanted[inputs[i]] = true;
      }
    }
    return wanted;
  }

  // Compositions do not say which values they need: integers of shapes, axes and sizes.
  bool IsParameter(ValueId value) {
    if (value == kNone || main().values[value].constant != kNone) return false;
    const graph::ValueType& type = main().values[value].type;
    return (type.dtype == DType::kInt64 || type.dtype == DType::kInt32) && type.rank() <= 1;
  }

  bool Decides() {
    const graph::Marks wanted = Wanted();
    for (ValueId id = 0; id < wanted.size(); ++id) {
      if (wanted[id] && IsThere(id)) return true;
    }
    return false;
  }

  // The inputs of the nodes for which `chosen(node)` holds.
  template <typename Chosen>
  graph::Marks InputsOf(const Chosen& chosen) {
    graph::Marks inputs(main().values.size(), false);
    for (NodeId id = 0; id < main().nodes.size(); ++id) {
      if (!chosen(id)) continue;
      for (ValueId input : main().nodes[id].inputs) {
        if (input != kNone) inputs[input] = true;
      }
    }
    return inputs;
  }

  // Values that somebody needs after the compiled part: host nodes, later stages, the caller.
  graph::Marks NeededLater() {
    graph::Marks needed = InputsOf([&](NodeId id) { return !ready_[id]; });
    for (const graph::Port& port : run().outputs) needed[port.value] = true;
    return needed;
  }

  void MakeReady(Stage& out) {
    places_.assign(main().values.size(), {});
    for (uint32_t i = 0; i < run().inputs.size(); ++i) {
      places_[run().inputs[i].value] = {From::kInput, input_index_[i]};
    }
    const graph::Marks needed = NeededLater();
    Request request;
    for (ValueId id = 0; id < main().values.size(); ++id) {
      const graph::Value& value = main().values[id];
      if (value.constant != kNone) places_[id] = {From::kConstant, value.constant};
      if (value.producer == kNone || !ready_[value.producer] || !needed[id]) continue;
      places_[id] = {From::kReady, static_cast<uint32_t>(request.fetches.size())};
      request.fetches.push_back(id);
    }
    for (NodeId id = 0; id < main().nodes.size(); ++id) {
      if (ready_[id] && !ops::EffectsOf(DefOf(id), main().nodes[id]).empty())
        request.targets.push_back(id);
    }
    const graph::Marks read = InputsOf([&](NodeId id) { return ready_[id] != 0; });
    for (uint32_t i = 0; i < run().inputs.size(); ++i) {
      if (!read[run().inputs[i].value]) continue;
      request.feeds.push_back({.value = run().inputs[i].value});
      out.ready_inputs.push_back(input_index_[i]);
    }
    out.ready = Extract(whole_, request).module;
  }

  void MakeHost(Stage& out) {
    const graph::Marks needed = NeededLater();
    size_t outputs = 0;
    for (NodeId id : order_) {
      if (!host_[id]) continue;
      for (ValueId& output : main().nodes[id].outputs) {
        if (output != kNone && !needed[output]) output = kNone;  // nothing is kept for nobody
      }
      HostNode host{.node = id, .inputs = {}};
      for (ValueId input : main().nodes[id].inputs) host.inputs.push_back(PlaceOf(input));
      for (ValueId output : main().nodes[id].outputs) {
        if (output != kNone) places_[output] = {From::kHost, static_cast<uint32_t>(outputs)};
        ++outputs;
      }
      out.host.push_back(std::move(host));
    }
  }

  StageValue PlaceOf(ValueId value) { return value == kNone ? StageValue{} : places_[value]; }

  void MakeRest(Stage& out) {
    graph::Marks done = ready_;
    for (NodeId id = 0; id < done.size(); ++id) done[id] = done[id] || host_[id];
    out.last = std::all_of(done.begin(), done.end(), [](char d) { return d; });
    if (out.last) {
      for (const graph::Port& port : run().outputs) out.next.push_back(PlaceOf(port.value));
      return;
    }
    Request request{.targets = run().targets};
    const graph::Marks wanted = Wanted();
    graph::Marks used = InputsOf([&](NodeId id) { return !done[id]; });
    for (const graph::Port& port : run().outputs) {
      used[port.value] = true;
      request.fetches.push_back(port.value);
    }
    for (ValueId id = 0; id < used.size(); ++id) {
      const From from = places_[id].from;
      if (!used[id] || from == From::kNone || from == From::kConstant) continue;
      request.feeds.push_back({.value = id});
      out.next.push_back(places_[id]);
      out.decides.push_back(wanted[id]);
    }
    out.rest = Extract(whole_, request, &done).module;
  }

  // Names the first node that waits for nothing that could come.
  Status Stuck() {
    HR_RETURN_IF_ERROR(Composed(tools_.allocator, tools_.operators, whole_).status().Clone());
    for (NodeId id : order_) {
      const auto& inputs = main().nodes[id].inputs;
      if (ready_[id] || host_[id]) continue;
      if (!std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return IsThere(v); }))
        continue;
      return Unimplemented(DefOf(id).name,
                           " cannot be planned: what it gives depends on data in a way that this "
                           "version does not follow")
          .WithNode(graph::NodeText(whole_, main(), id));
    }
    return Internal("a stage of the run does nothing");
  }

  const FoldTools& tools_;
  std::span<const StageInput> inputs_;
  graph::Module whole_;
  std::vector<uint32_t> input_index_;  // of the inputs that are no constants
  std::vector<NodeId> order_;
  std::vector<uint64_t> asked_;  // by node: InferContext::asked
  graph::Marks ready_, host_;
  std::vector<StageValue> places_;  // by value
};

}  // namespace

Result<Stage> MakeStage(const FoldTools& tools, const graph::Module& module,
                        std::span<const StageInput> inputs) {
  return StageMaker(tools, inputs).Make(module);
}

bool NeedsStages(const ops::OpRegistry& registry, const graph::Module& module) {
  const graph::Graph& main = module.main();
  return std::any_of(main.nodes.begin(), main.nodes.end(), [&](const graph::Node& node) {
    const ops::OpDef& def = ops::DefOf(registry, module, node);
    return def.is_composed(main, node) || def.control != ops::Control::kNone ||
           RunsOnHost(def, main, node);
  });
}

}  // namespace hr::transform
