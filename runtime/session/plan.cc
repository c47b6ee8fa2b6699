#include "runtime/session/plan.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/session/cpu_evaluator.h"
#include "runtime/session/placement.h"

namespace hr::session {
namespace {

std::shared_ptr<PlanSize> SizeOf(const graph::Module& region, std::vector<transform::Feed> feeds,
                                 std::unique_ptr<Executable> executable) {
  auto size = std::make_shared<PlanSize>();
  size->feeds = std::move(feeds);
  for (const graph::Port& port : region.signatures[0].outputs) {
    const graph::ValueType& type = region.main().values[port.value].type;
    size->outputs.push_back({type.dtype, *type.FixedDims()});
  }
  size->constants = region.constants;
  size->executable = std::move(executable);
  return size;
}

// Compiles the parts of staged plans.
class PartCompiler final : public StageCompiler {
 public:
  PartCompiler(std::shared_ptr<Env> env, PlanOptions options)
      : env_(std::move(env)), options_(std::move(options)) {}

  Result<transform::Stage> Make(const graph::Module& module,
                                std::span<const transform::StageInput> inputs) const override {
    CpuEvaluator evaluator(*env_);
    return transform::MakeStage({env_->operators(), &evaluator, env_->allocator()}, module, inputs);
  }
  Result<std::shared_ptr<Plan>> Compile(graph::Module region) const override {
    return Plan::OfRegion(env_, std::move(region), options_);
  }
  Allocator& allocator() const override { return env_->allocator(); }

 private:
  const std::shared_ptr<Env> env_;
  const PlanOptions options_;
};

std::vector<transform::Feed> FeedsOf(const graph::Module& region) {
  std::vector<transform::Feed> out;
  for (const graph::Port& port : region.signatures[0].inputs) {
    const graph::ValueType& type = region.main().values[port.value].type;
    out.push_back({port.value, type.dtype, *type.FixedDims()});
  }
  return out;
}

}  // namespace

Plan::Plan(std::shared_ptr<Env> env, const PlanOptions& options,
           std::vector<transform::SizeRange> ranges)
    : env_(std::move(env)),
      ranges_(std::move(ranges)),
      sizes_(options.max_sizes),
      idle_(env_->threads().total()) {}

Result<std::shared_ptr<Plan>> Plan::Compile(const Model& model, const transform::Request& request,
                                            const PlanOptions& options,
                                            std::vector<transform::SizeRange> ranges) {
  std::shared_ptr<Plan> plan(new Plan(model.shared_env(), options, std::move(ranges)));
  plan->model_ = &model;
  Env& env = model.env();
  CpuEvaluator evaluator(env);
  const bool resizable = !plan->ranges_.empty();
  auto region = transform::Specialize(env.operators(), model.executable(), request, &evaluator,
                                      env.allocator(), resizable ? &plan->recipe_ : nullptr);
  Status status = region.status().Clone();
  if (region.ok()) {
    plan->region_ = std::move(region).value();
    status = plan->CompileRegion(options, request.feeds);
    if (status.ok()) return plan;
  }
  // Each shape of a request that goes in stages is planned by itself.
  if (resizable || status.code() != Code::kUnimplemented) return status;
  HR_RETURN_IF_ERROR(plan->DivideIntoStages(model, request, options));
  return plan;
}

Result<std::shared_ptr<Plan>> Plan::OfRegion(std::shared_ptr<Env> env, graph::Module region,
                                             const PlanOptions& options) {
  std::shared_ptr<Plan> plan(new Plan(std::move(env), options, {}));
  plan->region_ = std::move(region);
  HR_RETURN_IF_ERROR(plan->CompileRegion(options, FeedsOf(plan->region_)));
  return plan;
}

Status Plan::CompileRegion(const PlanOptions& options, std::vector<transform::Feed> feeds) {
  NoteEffects();
  HR_ASSIGN_OR_RETURN(auto&& executable, CompileWith({.allocator = &env_->allocator(),
                                                      .operators = &env_->operators(),
                                                      .log = env_->log(),
                                                      .threads = env_->threads().total(),
                                                      .fuse = options.fuse,
                                                      .deterministic = options.deterministic,
                                                      .exact_sums = options.exact_sums,
                                                      .resizable = !ranges_.empty(),
                                                      .check_memory = options.check_memory,
                                                      .memory_limit = options.memory_limit,
                                                      .pin = options.pin},
                                                     options));
  full_ = SizeOf(region_, std::move(feeds), std::move(executable));
  return {};
}

Status Plan::DivideIntoStages(const Model& model, const transform::Request& request,
                              const PlanOptions& options) {
  HR_ASSIGN_OR_RETURN(region_, transform::RequestedPart(model.executable(), request));
  stage_compiler_ = std::make_unique<PartCompiler>(env_, options);
  std::vector<transform::StageInput> inputs;
  for (const transform::Feed& feed : request.feeds) {
    inputs.push_back({graph::ValueType::Tensor(feed.dtype, feed.dims)});
  }
  HR_ASSIGN_OR_RETURN(auto&& first, stage_compiler_->Make(region_, inputs));
  if (first.last && first.host.empty()) {  // all is known after all
    region_ = std::move(first.whole);
    return CompileRegion(options, request.feeds);
  }
  NoteEffects();
  auto nothing = std::make_shared<PlanSize>();
  nothing->feeds = request.feeds;
  full_ = std::move(nothing);
  stages_ = std::make_unique<StageTree>(region_, graph::Marks(), *stage_compiler_);
  return {};
}

void Plan::NoteEffects() {
  const graph::Module& region = region_;
  first_constant_ = static_cast<uint32_t>(region.signatures[0].inputs.size());
  first_variable_ = first_constant_ + static_cast<uint32_t>(region.constants.size());
  first_output_ = first_variable_ + static_cast<uint32_t>(region.variables.size());
  graph::Marks touched(region.variables.size());
  graph::Marks written(region.variables.size());
  for (const graph::Node& node : region.main().nodes) {
    const ops::OpDef& def = ops::DefOf(env_->operators(), region, node);
    random_ |= def.random;
    for (const ops::Effect& effect : ops::EffectsOf(def, node)) {
      exclusive_ |= effect.writes;
      if (effect.resource.kind != ops::ResourceKind::kVariable) continue;
      const auto variable = static_cast<size_t>(effect.resource.variable);
      touched[variable] = true;
      if (effect.writes) written[variable] = true;
    }
  }
  for (uint32_t i = 0; i < region.variables.size(); ++i) {
    if (written[i]) written_.push_back(i);
    if (touched[i]) variables_.push_back(i);
  }
}

std::shared_ptr<const PlanSize> Plan::Find(const std::vector<transform::Feed>& feeds) {
  return full_->feeds == feeds ? full_ : sizes_.Find(feeds);
}

Result<std::shared_ptr<const PlanSize>> Plan::At(const Model& model,
                                                 const transform::Request& request) {
  if (auto known = Find(request.feeds)) return known;
  HR_RETURN_IF_ERROR(transform::CheckRequest(model.module(), request));
  CpuEvaluator evaluator(*env_);
  HR_ASSIGN_OR_RETURN(const graph::Module region,
                      transform::AtSizes(env_->operators(), recipe_, region_, request.feeds,
                                         &evaluator, env_->allocator()));
  HR_ASSIGN_OR_RETURN(auto&& executable, full_->executable->Resize(region));
  return sizes_.Add(SizeOf(region, request.feeds, std::move(executable)));
}

void Plan::Trim() {
  if (stages_ != nullptr) stages_->Trim();
  idle_.Clear();
  sizes_.Clear();
}

#ifdef HEADRACE_ONE_DEVICE

bool Plan::HasRanges(const Model&, const PlanOptions&) { return true; }

Result<std::unique_ptr<Executable>> Plan::CompileWith(const CompileOptions& compile,
                                                      const PlanOptions&) {
  for (const graph::Node& node : region_.main().nodes) {
    if (!node.device.empty()) HR_RETURN_IF_ERROR(env_->FindDevice(node.device).status().Clone());
  }
  return env_->cpu().Compile(region_, compile);
}

void Plan::DescribeRegions(JsonWriter& json, const PlanSize& size) const {
  DescribeOnlyRegion(json, size);
}

#else

bool Plan::HasRanges(const Model& model, const PlanOptions& options) {
  return options.only_host || !WantsPlacement(model.executable(), options.device);
}

Result<std::unique_ptr<Executable>> Plan::CompileWith(const CompileOptions& compile,
                                                      const PlanOptions& options) {
  Device& cpu = env_->cpu();
  default_device_ = options.device;
  if (!options.only_host && WantsPlacement(region_, options.device)) {
    HR_RETURN_IF_ERROR(SortNodes(&region_));
    HR_ASSIGN_OR_RETURN(placement_, Place(*env_, region_, options.device));
    const bool all_cpu = std::all_of(placement_.begin(), placement_.end(),
                                     [&](Device* device) { return device == &cpu; });
    if (all_cpu) placement_.clear();
  }
  if (placement_.empty()) return cpu.Compile(region_, compile);
  variable_devices_.resize(region_.variables.size());
  for (graph::NodeId id = 0; id < placement_.size(); ++id) {
    const graph::Node& node = region_.main().nodes[id];
    for (const auto& use : ops::VariablesOf(*compile.operators, region_, node)) {
      Device*& device = variable_devices_[static_cast<size_t>(use.variable)];
      device = placement_[id] == &cpu ? nullptr : placement_[id];
    }
  }
  HR_ASSIGN_OR_RETURN(auto&& executable,
                      MultiDeviceExecutable::Compile(
                          cpu, region_, Cut(*compile.operators, region_, placement_), compile));
  multi_device_ = executable.get();
  return std::unique_ptr<Executable>(std::move(executable));
}

void Plan::DescribeRegions(JsonWriter& json, const PlanSize& size) const {
  if (multi_device_ == nullptr) return DescribeOnlyRegion(json, size);
  multi_device_->DescribeRegions(json);
  json.EndArray().Key("copies").BeginArray();
  multi_device_->DescribeCopies(json);
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

Result<SizedInvocation> Plan::Instantiate() const {
  HR_ASSIGN_OR_RETURN(auto&& invocation, full_->executable->Instantiate());
  for (size_t i = 0; i < full_->constants.size(); ++i) {
    invocation->Bind(constant_slot(i), full_->constants[i].data());
  }
  return SizedInvocation{full_, std::move(invocation)};
}

std::string Plan::Describe(const PlanSize& size) const {
  JsonWriter json;
  json.BeginObject().Key("inputs").BeginArray();
  const auto& inputs = region_.signatures[0].inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const transform::Feed& feed = size.feeds[i];
    json.BeginObject()
        .Field("name", inputs[i].name)
        .Field("type", Cat(DTypeName(feed.dtype), feed.dims))
        .EndObject();
  }
  json.EndArray()
      .Field("writes_variables", written_.size())
      .Field("shared_by_sessions", shared_)
      .Field("idle_instances", idle_.count());
  if (stages_ != nullptr) {
    json.Key("stages");
    stages_->Describe(json);
    json.EndObject();
    return json.Take();
  }
  DescribeSizes(json);
  json.Key("regions").BeginArray();
  DescribeRegions(json, size);
  json.EndArray().Key("placement").BeginArray();
  DescribePlacement(json);
  json.EndArray().EndObject();
  return json.Take();
}

void Plan::DescribeSizes(JsonWriter& json) const {
  json.Field("arena_bytes", full_->executable->arena_bytes()).Key("ranges").BeginArray();
  for (const transform::SizeRange& range : ranges_) {
    json.BeginObject()
        .Field("dimension", region_.symbols[range.symbol].name)
        .Field("first", range.first)
        .Field("last", range.last)
        .EndObject();
  }
  json.EndArray().Field("max_sizes", sizes_.most()).Key("sizes").BeginArray();
  for (const auto& size : sizes_.List()) {
    json.BeginObject().Key("inputs").BeginArray();
    for (const transform::Feed& feed : size->feeds) {
      json.Value(Cat(DTypeName(feed.dtype), feed.dims));
    }
    json.EndArray().Field("arena_bytes", size->executable->arena_bytes()).EndObject();
  }
  json.EndArray();
}

void Plan::DescribeOnlyRegion(JsonWriter& json, const PlanSize& size) const {
  json.BeginObject().Field("device", env_->cpu().info().name).Key("executable");
  json.Raw(size.executable->Describe()).EndObject();
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
