#include "runtime/session/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/graph/shards.h"
#include "runtime/graph/unknown_name.h"
#include "runtime/session/staged_run.h"
#include "runtime/transform/extract.h"

namespace hr::session {
namespace {

std::string KeyOf(const transform::Request& request, const PlanOptions& options) {
  std::string key =
      Cat(options.fuse, options.deterministic, options.check_memory, options.exact_sums,
          options.max_sizes, options.memory_limit, ";", options.pin, ";", options.device, ";");
  auto put = [&](int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  put(request.graph);
  put(static_cast<int64_t>(request.feeds.size()));
  for (const transform::Feed& feed : request.feeds) {
    put(feed.value);
    put(static_cast<int64_t>(feed.dtype));
    put(static_cast<int64_t>(feed.dims.size()));
    for (int64_t dim : feed.dims) put(dim);
  }
  put(static_cast<int64_t>(request.fetches.size()));
  for (graph::ValueId fetch : request.fetches) put(fetch);
  for (graph::NodeId target : request.targets) put(target);
  return key;
}

// Has the host asked between the steps of a run, which lends it its threads for the answer.
class AskInside {
 public:
  AskInside(const CallLimits& limits, const Lease& threads)
      : limits_(limits), threads_(threads), inside_(limits) {
    if (limits.interrupted == nullptr) return;
    inside_.interrupted = Ask;
    inside_.context = this;
  }
  AskInside(const AskInside&) = delete;
  // The host is asked as often by many short runs as by a long one.
  ~AskInside() { limits_.ask_nanos = inside_.ask_nanos; }

  const CallLimits& limits() const { return inside_; }  // of the run; this outlives it

 private:
  static int Ask(void* self) {
    const auto& asking = *static_cast<AskInside*>(self);
    const HostScope scope(asking.threads_, asking.threads_.threads());
    return asking.limits_.interrupted(asking.limits_.context);
  }

  const CallLimits& limits_;
  const Lease& threads_;
  CallLimits inside_;
};

}  // namespace

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : models_({std::move(model)}),
      model_(models_[0].get()),
      options_(options),
      has_ranges_(Plan::HasRanges(this->model(), options_.plan)),
      seed_(options.seed),
      variables_(this->model().module().variables.size()),
      arenas_(env().allocator(), env().threads().total()) {}

Result<std::shared_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options,
                                                 const CallLimits& limits) {
  if (!model->fault().ok()) return model->fault().Clone();
  if (options.max_plans == 0) return InvalidArgument("a session keeps at least one plan, got 0");
  if (options.plan.max_sizes == 0) return InvalidArgument("a plan keeps at least one size, got 0");
  if (!options.plan.device.empty()) {
    HR_RETURN_IF_ERROR(model->env().FindDevice(options.plan.device).status().Clone());
  }
  std::shared_ptr<Session> session(new Session(std::move(model), options));
  HR_RETURN_IF_ERROR(session->InitializeVariables(limits));
  return session;
}

Status Session::InitializeVariables(const CallLimits& limits) {
  const graph::Module& module = model().module();
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const graph::Variable& variable = module.variables[i];
    if (variable.initial_constant != graph::kNone) {
      variables_.SetInitial(i, module.constants[variable.initial_constant]);
      continue;
    }
    auto value = InitialValue(variable, limits);
    if (!value.ok()) {
      return std::move(value).status().WithContext(
          Cat("initial value of variable '", variable.name, "'"));
    }
    variables_.SetOwned(i, std::move(value).value());
  }
  return {};
}

Result<Tensor> Session::InitialValue(const graph::Variable& variable, const CallLimits& limits) {
  const graph::Graph& graph = model().module().graphs[variable.initial_graph];
  transform::Request request{.graph = variable.initial_graph, .fetches = graph.outputs};
  PlanOptions options = options_.plan;
  options.only_host = true;
  options.memory_limit = 0;  // which is for what runs many times
  HR_ASSIGN_OR_RETURN(auto&& plan, Plan::Compile(model(), request, options));
  if (plan->stages() != nullptr) {
    return Unimplemented("an initial value whose size depends on data; give it as a constant");
  }
  const ConcreteType& type = plan->full().outputs[0];
  if (type.dtype != variable.dtype || type.dims != variable.dims) {
    return InvalidArgument("expected ", DTypeName(variable.dtype), variable.dims,
                           ", the initializer makes ", DTypeName(type.dtype), type.dims);
  }
  HR_ASSIGN_OR_RETURN(auto&& value, Tensor::Create(env().allocator(), type.dtype, type.dims));
  HR_ASSIGN_OR_RETURN(auto&& made, plan->Instantiate());
  const auto& invocation = made.invocation;
  invocation->Bind(plan->output_slot(0), value.data());
  ThreadBudget& budget = env().threads();
  HR_ASSIGN_OR_RETURN(auto&& threads, budget.Acquire(budget.total(), limits));
  // Step -1: initial values have random numbers of their own.
  HR_RETURN_IF_ERROR(invocation->Run(
      {.threads = threads, .limits = &limits, .seed = seed(), .step = -1, .arenas = &arenas_}));
  return value;
}

Status Session::CheckUsable() const {
  if (closed_.load(std::memory_order_acquire)) {
    return FailedPrecondition("the session is closed");
  }
  if (tainted()) {
    return Tainted("an earlier run failed while it updated variables, so they may be half ",
                   "updated; restore a checkpoint to go on");
  }
  return {};
}

Result<PlanAt> Session::Prepare(const transform::Request& request) {
  HR_RETURN_IF_ERROR(CheckUsable());
  PlanAt at;
  HR_ASSIGN_OR_RETURN(at.plan, PlanFor(request));
  HR_ASSIGN_OR_RETURN(at.size, at.plan->At(*at.plan->model(), request));
  return at;
}

Result<std::shared_ptr<Plan>> Session::PlanFor(const transform::Request& request) {
  const graph::Module& module = model().module();
  std::string exact_key = KeyOf(request, options_.plan);
  if (auto plan = FindPlan(exact_key)) return plan;
  auto ranges =
      has_ranges_ ? transform::RangesOf(module, request) : std::vector<transform::SizeRange>();
  if (!ranges.empty()) {
    const transform::Request ends = transform::AtRangeEnds(module, request);
    // The plan for the sizes at the ends alone, if there is one, is another.
    std::string key = Cat(KeyOf(ends, options_.plan), "range");
    if (auto plan = FindPlan(key)) return plan;
    auto plan = AddPlan(std::move(key), ends, std::move(ranges));
    // A graph may be impossible at the ends, or without a plan for a range: then each size has a
    // plan of its own, also the one at the ends.
    if (plan.ok() || plan.status().code() == Code::kResourceExhausted) return plan;
  }
  return AddPlan(std::move(exact_key), request, {});
}

Result<std::shared_ptr<Plan>> Session::AddPlan(std::string key, const transform::Request& request,
                                               std::vector<transform::SizeRange> ranges) {
  const Model& model = this->model();
  const bool shares = variables_.initial();
  std::shared_ptr<Plan> plan;
  if (shares) plan = model.shared_plans().Find(key);
  if (plan == nullptr) {
    HR_ASSIGN_OR_RETURN(plan, Plan::Compile(model, request, options_.plan, std::move(ranges)));
    if (shares && plan->shareable()) plan = model.shared_plans().Add(key, std::move(plan));
  }
  // Two threads may compile the same plan at once; the first one in the cache stays.
  std::lock_guard lock(plans_mutex_);
  HR_RETURN_IF_ERROR(CheckUsable());  // it may have been closed meanwhile
  if (auto other = FindPlanLocked(key)) return other;
  plans_.push_front({std::move(key), plan});
  if (plans_.size() > options_.max_plans) plans_.pop_back();
  return plan;
}

std::shared_ptr<Plan> Session::FindPlan(std::string_view key) {
  std::lock_guard lock(plans_mutex_);
  return FindPlanLocked(key);
}

std::shared_ptr<Plan> Session::FindPlanLocked(std::string_view key) {
  auto found = std::find_if(plans_.begin(), plans_.end(),
                            [&](const CachedPlan& cached) { return cached.key == key; });
  if (found == plans_.end()) return nullptr;
  if (!Fits(*found->plan)) {
    plans_.erase(found);
    return nullptr;
  }
  plans_.splice(plans_.begin(), plans_, found);
  return found->plan;
}

void Session::Trim() {
  arenas_.Clear();
  std::lock_guard lock(plans_mutex_);
  for (const CachedPlan& cached : plans_) cached.plan->Trim();
}

void Session::Close() {
  closed_.store(true, std::memory_order_release);
  arenas_.Close();
  std::lock_guard lock(plans_mutex_);
  plans_.clear();
}

Status Session::BindVariables(const Plan& plan, Invocation& invocation) {
  for (uint32_t variable : plan.variables()) {
    const auto& written = plan.written();
    const bool writes = std::binary_search(written.begin(), written.end(), variable);
    HR_ASSIGN_OR_RETURN(void* data, variables_.Locate(env().allocator(), variable,
                                                      plan.device_of(variable), writes));
    invocation.Bind(plan.variable_slot(variable), data);
  }
  return {};
}

RunContext Session::BeginRun(const Plan& plan, const Lease& threads, const CallLimits& limits,
                             bool* update_begun, RunRecorder* recorder) {
  // A run that writes is alone, and counts where it succeeds; random runs beside each other need
  // numbers of their own at once.
  const bool writes = plan.writes_variables();
  const bool counts_now = plan.random() && !writes;
  return {.threads = threads,
          .limits = &limits,
          .seed = seed(),
          .step = counts_now ? step_.fetch_add(1, std::memory_order_relaxed) : step(),
          .variables_version = writes          ? 0
                               : plan.shared() ? 1
                                               : variables_.version(),
          .update_begun = update_begun,
          .recorder = recorder,
          .groups = &groups_,
          .variables = &variables_,
          .arenas = &arenas_};
}

Status Session::EndRun(const Plan& plan, const RunContext& run, Status status) {
  const bool writes = plan.writes_variables();
  if (writes) variables_.MarkWritten();
  if (!status.ok() && *run.update_begun) tainted_.store(true, std::memory_order_release);
  if (status.ok() && writes) step_.store(run.step + 1, std::memory_order_relaxed);
  return status;
}

Status Session::RunLocked(const Plan& plan, Invocation& invocation, const Lease& threads,
                          const CallLimits& limits, RunRecorder* recorder) {
  bool update_begun = false;
  AskInside asking(limits, threads);
  const RunContext run = BeginRun(plan, threads, asking.limits(), &update_begun, recorder);
  Status status = invocation.Run(run);
  if (status.code() == Code::kResourceExhausted && plan.has_ranges()) {
    status = std::move(status).WithContext(
        "the plan's memory is for the ends of its ranges; declare smaller bounds or buckets");
  }
  return EndRun(plan, run, std::move(status));
}

Result<std::vector<Tensor>> Session::RunStages(
    const Plan& plan, std::span<const Tensor> inputs, const Lease& threads,
    const CallLimits& limits, FunctionRef<Status(size_t, const ConcreteType&)> check_output,
    RunRecorder* recorder) {
  std::vector<RunValue> values;
  for (const Tensor& input : inputs) values.push_back(RunValue::Of(input));
  bool update_begun = false;
  AskInside asking(limits, threads);
  const RunContext run = BeginRun(plan, threads, asking.limits(), &update_begun, recorder);
  auto outputs =
      StagedRun(*this, run).Run(plan.signature(), *plan.stages(), std::move(values), check_output);
  HR_RETURN_IF_ERROR(EndRun(plan, run, outputs.status().Clone()));
  return outputs;
}

Result<std::vector<Tensor>> Session::Run(std::span<const NamedTensor> feeds,
                                         std::span<const std::string> fetches,
                                         std::span<const std::string> targets,
                                         const CallLimits& limits) {
  transform::Request request;
  std::vector<Tensor> inputs;
  for (const NamedTensor& feed : feeds) {
    HR_ASSIGN_OR_RETURN(graph::ValueId value, model().FindValue(feed.name));
    auto tensor = feed.tensor.Contiguous(env().allocator());
    if (!tensor.ok()) return std::move(tensor).status().WithContext(Cat("feed '", feed.name, "'"));
    request.feeds.push_back({value, tensor->dtype(), tensor->dims()});
    inputs.push_back(std::move(tensor).value());
  }
  for (const std::string& fetch : fetches) {
    HR_ASSIGN_OR_RETURN(graph::ValueId value, model().FindValue(fetch));
    request.fetches.push_back(value);
  }
  for (const std::string& target : targets) {
    HR_ASSIGN_OR_RETURN(graph::NodeId node, model().FindNode(target));
    request.targets.push_back(node);
  }
  PlanAt at;
  Admission admission;
  // Threads first: so there are no more instances than runs that the budget lets go on.
  HR_RETURN_IF_ERROR(Enter(request, limits, &at, &admission));
  const auto& [plan, size] = at;
  const Lease& threads = admission.threads;
  if (plan->stages() != nullptr) {
    return RunStages(*plan, inputs, threads, limits,
                     [](size_t, const ConcreteType&) { return Status(); });
  }
  HR_ASSIGN_OR_RETURN(Instance instance, Instance::Of(plan, size));
  for (size_t i = 0; i < inputs.size(); ++i) instance->Bind(plan->input_slot(i), inputs[i].data());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < size->outputs.size(); ++i) {
    const ConcreteType& type = size->outputs[i];
    HR_ASSIGN_OR_RETURN(auto&& tensor, Tensor::Create(env().allocator(), type.dtype, type.dims));
    instance->Bind(plan->output_slot(i), tensor.data());
    outputs.push_back(std::move(tensor));
  }
  HR_RETURN_IF_ERROR(BindVariables(*plan, *instance));
  HR_RETURN_IF_ERROR(RunLocked(*plan, *instance, threads, limits));
  return outputs;
}

Result<Tensor> Session::GetVariable(uint32_t variable, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("reading a variable", false, limits));
  HR_RETURN_IF_ERROR(variables_.BringHome(env().allocator()));
  return variables_.Get(variable).Clone(env().allocator());
}

Status Session::SetVariable(uint32_t variable, const Tensor& value, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckHostMemory(value));
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("setting a variable", true, limits));
  const graph::Variable& declared = model().module().variables[variable];
  if (value.dtype() != declared.dtype || value.dims() != declared.dims) {
    return InvalidArgument("variable '", declared.name, "' is ", DTypeName(declared.dtype),
                           declared.dims, ", got ", value.TypeText());
  }
  return variables_.Set(env().allocator(), variable, value);
}

namespace {

void AddGroups(const Model& model, const graph::Node& node, std::vector<std::string>* out) {
  const ops::OpDef& def = ops::DefOf(model.env().operators(), model.module(), node);
  for (const ops::Effect& effect : ops::EffectsOf(def, node)) {
    if (effect.resource.kind == ops::ResourceKind::kGroup) out->push_back(effect.resource.name);
  }
}

std::vector<std::string> EachOnce(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> GroupsOf(const Model& model) {
  std::vector<std::string> out;
  for (const graph::Graph& graph : model.module().graphs) {
    for (const graph::Node& node : graph.nodes) AddGroups(model, node, &out);
  }
  return EachOnce(std::move(out));
}

// Those of the nodes that the request needs.
std::vector<std::string> GroupsOf(const Model& model, const transform::Request& request) {
  std::vector<std::string> out;
  const graph::Graph& graph = model.module().graphs[request.graph];
  const graph::Marks needed =
      transform::NeededNodes(graph, graph::Marks(graph.values.size(), false), request);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] != 0) AddGroups(model, graph.nodes[i], &out);
  }
  return EachOnce(std::move(out));
}

}  // namespace

Status Session::BindGroup(std::string_view name, std::shared_ptr<comm::Collectives> group,
                          const CallLimits& limits) {
  const std::vector<std::string> known = GroupsOf(model());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return graph::UnknownName("model", "group", name, known);
  }
  if (group != nullptr) HR_RETURN_IF_ERROR(CheckDivided(name, group->size()));
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("binding a group", true, limits));
  groups_.Bind(name, std::move(group));
  return {};
}

void Session::TellRanks(const transform::Request& request, const Status& failure) {
  const Code code = failure.code();
  if (code == Code::kCancelled || code == Code::kDeadlineExceeded || code == Code::kOutOfRange)
    return;
  for (const std::string& name : GroupsOf(model(), request)) {
    const auto group = FindGroup(name);
    if (group.ok()) (*group)->Abort(failure.ToString());
  }
}

Result<std::shared_ptr<comm::Collectives>> Session::FindGroup(std::string_view name) {
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("using a group", false, {}));
  auto group = groups_.Share(name);
  if (group != nullptr) return group;
  return FailedPrecondition("the session has no group '", name,
                            "'; bind one with hr_session_bind_group");
}

namespace {

// What ranks tell each other of a session, beside its variables.
struct SessionState {
  int64_t step = 0;
  uint64_t seed = 0;
  int64_t tainted = 0;
};

Status BroadcastBytes(comm::Collectives& group, int root, void* data, size_t bytes,
                      const CallLimits& limits) {
  const comm::Operation operation = {
      .kind = comm::OpKind::kBroadcast, .dtype = DType::kUint8, .count = bytes, .peer = root};
  return bytes == 0 ? Status() : group.Run(operation, data, data, limits);
}

}  // namespace

Result<int> Session::Broadcast(std::string_view name, int root, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const auto group, FindGroup(name));
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("broadcasting variables", true, limits));
  if (root < kFurthest || root >= group->size()) {
    return InvalidArgument("the root ", root, " is no rank of a group of ", group->size());
  }
  if (root == kFurthest) {
    HR_ASSIGN_OR_RETURN(root, FindFurthest(*group, limits));
  }
  HR_RETURN_IF_ERROR(variables_.BringHome(env().allocator()));
  const bool gives = group->rank() == root;
  HR_RETURN_IF_ERROR(gives ? SendValues(*group, root, limits)
                           : ReceiveValues(*group, root, limits));
  return root;
}

Result<int> Session::FindFurthest(comm::Collectives& group, const CallLimits& limits) const {
  const int64_t own = tainted() ? -1 : step();
  std::vector<int64_t> steps(static_cast<size_t>(group.size()));
  HR_RETURN_IF_ERROR(
      group.Run({.kind = comm::OpKind::kAllGather, .dtype = DType::kInt64, .count = 1}, &own,
                steps.data(), limits));
  const auto furthest = std::max_element(steps.begin(), steps.end());
  if (*furthest >= 0) return static_cast<int>(furthest - steps.begin());
  return Tainted("the variables of all ranks may be half updated; restore a checkpoint on one of ",
                 "them first");
}

namespace {

// What all ranks have in common: each keeps its part of what is divided.
Result<std::vector<uint32_t>> CommonVariables(const graph::Module& module) {
  HR_ASSIGN_OR_RETURN(const auto shards, graph::ShardsOf(module));
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const bool divided = std::any_of(shards.begin(), shards.end(), [i](const graph::Shard& shard) {
      return shard.variable == i;
    });
    if (!divided) out.push_back(i);
  }
  return out;
}

}  // namespace

Status Session::SendValues(comm::Collectives& group, int root, const CallLimits& limits) {
  SessionState state{step(), seed(), tainted()};
  HR_RETURN_IF_ERROR(BroadcastBytes(group, root, &state, sizeof state, limits));
  HR_RETURN_IF_ERROR(CheckUsable());
  HR_ASSIGN_OR_RETURN(const auto variables, CommonVariables(model().module()));
  for (uint32_t i : variables) {
    const Tensor& value = variables_.Get(i);
    HR_RETURN_IF_ERROR(BroadcastBytes(group, root, value.data(), value.bytes(), limits));
  }
  return {};
}

// Into memory beside the variables: if the root dies meanwhile, they are still those of one step.
Status Session::ReceiveValues(comm::Collectives& group, int root, const CallLimits& limits) {
  SessionState state;
  HR_RETURN_IF_ERROR(BroadcastBytes(group, root, &state, sizeof state, limits));
  if (state.tainted != 0) {
    return Tainted("the variables of rank ", root, ", which all are to get, may be half updated; ",
                   "restore a checkpoint there first");
  }
  HR_ASSIGN_OR_RETURN(const auto variables, CommonVariables(model().module()));
  std::vector<std::pair<uint32_t, Tensor>> changed;
  for (uint32_t i : variables) {
    const Tensor& own = variables_.Get(i);
    auto value = Tensor::Create(env().allocator(), own.dtype(), own.dims());
    if (!value.ok()) {
      group.Abort(std::string(value.status().message()));  // the others wait for this rank
      return std::move(value).status();
    }
    HR_RETURN_IF_ERROR(BroadcastBytes(group, root, value->data(), value->bytes(), limits));
    // A frozen weight that has its value already needs no memory of the session's own.
    const bool same = own.bytes() == 0 || std::memcmp(own.data(), value->data(), own.bytes()) == 0;
    if (!same) changed.emplace_back(i, std::move(value).value());
  }
  for (auto& [i, value] : changed) variables_.SetOwned(i, std::move(value));
  step_.store(state.step, std::memory_order_relaxed);
  seed_.store(state.seed, std::memory_order_relaxed);
  // A part that only this rank has may still be half updated.
  const bool whole = variables.size() == model().module().variables.size();
  if (whole) tainted_.store(false, std::memory_order_release);
  return {};
}

Status Session::ReadVariables(
    const CallLimits& limits,
    const std::function<Status(const VariableStore&, int64_t step)>& body) {
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("saving variables", false, limits));
  HR_RETURN_IF_ERROR(variables_.BringHome(env().allocator()));
  return body(variables_, step());
}

Status Session::RestoreVariables(
    const CallLimits& limits,
    const std::function<Status(VariableStore&, int64_t* step, uint64_t* seed)>& body) {
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("restoring variables", true, limits));
  int64_t step = this->step();
  uint64_t seed = this->seed();
  HR_RETURN_IF_ERROR(body(variables_, &step, &seed));
  step_.store(step, std::memory_order_relaxed);
  seed_ = seed;
  tainted_.store(false, std::memory_order_release);
  return {};
}

std::string Session::Describe() {
  JsonWriter json;
  json.BeginObject()
      .Field("seed", seed())
      .Field("step", step())
      .Field("tainted", tainted())
      .Field("idle_arena_bytes", arenas_.idle_bytes())
      .Key("variables")
      .BeginArray();
  uint32_t index = 0;
  for (const graph::Variable& variable : model().module().variables) {
    Device* device = variables_.DeviceOf(index++);
    json.BeginObject().Field("name", variable.name).Field("dtype", DTypeName(variable.dtype));
    json.Key("dims").Values(std::span<const int64_t>(variable.dims));
    json.Field("device", (device == nullptr ? env().cpu() : *device).info().name).EndObject();
  }
  json.EndArray().Key("plans").BeginArray();
  std::lock_guard lock(plans_mutex_);
  for (const auto& [key, plan] : plans_) json.Raw(plan->Describe(plan->full()));
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace hr::session
