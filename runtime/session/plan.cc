#include "runtime/session/plan.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/session/placement.h"

namespace hr::session {
namespace {

// Computes constant nodes by compiling them alone for the CPU.
class CpuEvaluator final : public transform::ConstantEvaluator {
 public:
  explicit CpuEvaluator(const Model& model) : model_(model) {}

  Result<std::vector<Tensor>> Evaluate(const graph::Module& module, graph::NodeId id) override {
    const graph::Graph& graph = module.main();
    transform::Request request;
    for (graph::ValueId output : graph.nodes[id].outputs) {
      if (output != graph::kNone) request.fetches.push_back(output);
    }
    Env& env = model_.env();
    HR_ASSIGN_OR_RETURN(
        graph::Module region,
        transform::Specialize(env.operators(), module, request, nullptr, env.allocator()));
    HR_ASSIGN_OR_RETURN(
        auto&& executable,
        env.cpu().Compile(region, {.allocator = &env.allocator(), .operators = &env.operators()}));
    HR_ASSIGN_OR_RETURN(auto&& invocation, executable->Instantiate());
    auto slot = static_cast<uint32_t>(region.signatures[0].inputs.size());
    for (const Tensor& constant : region.constants) invocation->Bind(slot++, constant.data());
    slot += static_cast<uint32_t>(region.variables.size());
    std::vector<Tensor> results;
    for (const graph::Port& port : region.signatures[0].outputs) {
      const graph::ValueType& type = region.main().values[port.value].type;
      HR_ASSIGN_OR_RETURN(auto&& tensor,
                          Tensor::Create(env.allocator(), type.dtype, *type.FixedDims()));
      invocation->Bind(slot++, tensor.data());
      results.push_back(std::move(tensor));
    }
    HR_RETURN_IF_ERROR(invocation->Run({.threads = Lease()}));
    return Spread(graph.nodes[id], std::move(results));
  }

 private:
  // One tensor per output of the node, undefined where nobody asked.
  static std::vector<Tensor> Spread(const graph::Node& node, std::vector<Tensor> results) {
    std::vector<Tensor> out(node.outputs.size());
    size_t next = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      if (node.outputs[i] != graph::kNone) out[i] = std::move(results[next++]);
    }
    return out;
  }

  const Model& model_;
};

}  // namespace

Result<std::shared_ptr<Plan>> Plan::Compile(const Model& model, const transform::Request& request,
                                            const PlanOptions& options) {
  std::shared_ptr<Plan> plan(new Plan(model.shared_env()));
  Env& env = model.env();
  CpuEvaluator evaluator(model);
  HR_ASSIGN_OR_RETURN(plan->region_, transform::Specialize(env.operators(), model.module(), request,
                                                           &evaluator, env.allocator()));
  const graph::Module& region = plan->region_;
  const graph::Signature& run = region.signatures[0];
  plan->first_constant_ = static_cast<uint32_t>(run.inputs.size());
  plan->first_variable_ = plan->first_constant_ + static_cast<uint32_t>(region.constants.size());
  plan->first_output_ = plan->first_variable_ + static_cast<uint32_t>(region.variables.size());
  graph::Marks touched(region.variables.size());
  graph::Marks written(region.variables.size());
  for (const graph::Node& node : region.main().nodes) {
    const ops::OpDef& def = ops::DefOf(env.operators(), region, node);
    plan->random_ |= def.random;
    for (const ops::VariableUse& use : ops::VariablesOf(def, node)) {
      touched[static_cast<size_t>(use.variable)] = true;
      if (use.writes) written[static_cast<size_t>(use.variable)] = true;
    }
  }
  for (uint32_t i = 0; i < region.variables.size(); ++i) {
    if (written[i]) plan->written_.push_back(i);
    if (touched[i]) plan->variables_.push_back(i);
  }
  for (const graph::Port& port : run.outputs) {
    const graph::ValueType& type = region.main().values[port.value].type;
    plan->outputs_.push_back({type.dtype, *type.FixedDims()});
  }
  HR_RETURN_IF_ERROR(plan->CompileWith({.allocator = &env.allocator(),
                                        .operators = &env.operators(),
                                        .log = env.log(),
                                        .threads = env.threads().total(),
                                        .fuse = options.fuse,
                                        .deterministic = options.deterministic},
                                       options));
  return plan;
}

#ifdef HEADRACE_ONE_DEVICE

Status Plan::CompileWith(const CompileOptions& compile, const PlanOptions&) {
  Device& cpu = env_->cpu();
  for (const graph::Node& node : region_.main().nodes) {
    if (!node.device.empty()) HR_RETURN_IF_ERROR(env_->FindDevice(node.device).status().Clone());
  }
  HR_ASSIGN_OR_RETURN(executable_, cpu.Compile(region_, compile));
  return {};
}

void Plan::DescribeRegions(JsonWriter& json) const { DescribeOnlyRegion(json); }

#else

Status Plan::CompileWith(const CompileOptions& compile, const PlanOptions& options) {
  Device& cpu = env_->cpu();
  default_device_ = options.device;
  if (!options.only_host && WantsPlacement(region_, options.device)) {
    HR_RETURN_IF_ERROR(SortNodes(&region_));
    HR_ASSIGN_OR_RETURN(placement_, Place(*env_, region_, options.device));
    const bool all_cpu = std::all_of(placement_.begin(), placement_.end(),
                                     [&](Device* device) { return device == &cpu; });
    if (all_cpu) placement_.clear();
  }
  if (placement_.empty()) {
    HR_ASSIGN_OR_RETURN(executable_, cpu.Compile(region_, compile));
    return {};
  }
  variable_devices_.resize(region_.variables.size());
  for (graph::NodeId id = 0; id < placement_.size(); ++id) {
    const graph::Node& node = region_.main().nodes[id];
    for (const auto& use : ops::VariablesOf(*compile.operators, region_, node)) {
      Device*& device = variable_devices_[static_cast<size_t>(use.variable)];
      device = placement_[id] == &cpu ? nullptr : placement_[id];
    }
  }
  HR_ASSIGN_OR_RETURN(
      auto&& spread,
      Spread::Compile(cpu, region_, Cut(*compile.operators, region_, placement_), compile));
  spread_ = spread.get();
  executable_ = std::move(spread);
  return {};
}

void Plan::DescribeRegions(JsonWriter& json) const {
  if (spread_ == nullptr) return DescribeOnlyRegion(json);
  spread_->DescribeRegions(json);
  json.EndArray().Key("copies").BeginArray();
  spread_->DescribeCopies(json);
}

#endif

std::shared_ptr<Plan> SharedPlans::FindLocked(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.plan.lock();
  }
  return nullptr;
}

std::shared_ptr<Plan> SharedPlans::Find(std::string_view key) {
  std::lock_guard lock(mutex_);
  return FindLocked(key);
}

std::shared_ptr<Plan> SharedPlans::Add(std::string key, std::shared_ptr<Plan> plan) {
  std::lock_guard lock(mutex_);
  if (auto first = FindLocked(key)) return first;
  std::erase_if(entries_, [](const Entry& entry) { return entry.plan.expired(); });
  plan->shared_ = true;
  entries_.push_back({std::move(key), plan});
  return plan;
}

Result<std::unique_ptr<Invocation>> Plan::Instantiate() const {
  HR_ASSIGN_OR_RETURN(auto&& invocation, executable_->Instantiate());
  for (size_t i = 0; i < region_.constants.size(); ++i) {
    invocation->Bind(constant_slot(i), region_.constants[i].data());
  }
  return invocation;
}

std::string Plan::Describe() const {
  JsonWriter json;
  json.BeginObject().Key("inputs").BeginArray();
  for (const graph::Port& port : region_.signatures[0].inputs) {
    json.BeginObject()
        .Field("name", port.name)
        .Field("type", graph::TypeText(region_.main().values[port.value].type, {}))
        .EndObject();
  }
  json.EndArray()
      .Field("writes_variables", written_.size())
      .Field("shared_by_sessions", shared_)
      .Field("idle_instances", idle_.count())
      .Key("regions")
      .BeginArray();
  DescribeRegions(json);
  json.EndArray().Key("placement").BeginArray();
  DescribePlacement(json);
  json.EndArray().EndObject();
  return json.Take();
}

void Plan::DescribeOnlyRegion(JsonWriter& json) const {
  json.BeginObject().Field("device", env_->cpu().info().name).Key("executable");
  json.Raw(executable_->Describe()).EndObject();
}

void Plan::DescribePlacement(JsonWriter& json) const {
  const auto& nodes = region_.main().nodes;
  for (graph::NodeId id = 0; id < nodes.size(); ++id) {
    const Device& device = placement_.empty() ? env_->cpu() : *placement_[id];
    json.BeginObject()
        .Field("node", graph::NodeText(region_, region_.main(), id))
        .Field("op", region_.OperatorOf(nodes[id]).name)
        .Field("device", device.info().name)
        .Field("wanted", nodes[id].device.empty() ? default_device_ : nodes[id].device)
        .EndObject();
  }
}

}  // namespace hr::session
