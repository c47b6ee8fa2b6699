#include "runtime/session/call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/errors.h"

namespace hr::session {

Result<std::unique_ptr<Call>> Call::Create(std::shared_ptr<Session> session,
                                           std::string_view name) {
  HR_ASSIGN_OR_RETURN(const graph::Signature* signature, session->model().FindSignature(name));
  std::unique_ptr<Call> call(new Call(std::move(session)));
  for (const graph::Port& port : signature->inputs) {
    call->inputs_.push_back({.name = port.name, .value = port.value});
  }
  for (const graph::Port& port : signature->outputs) {
    call->outputs_.push_back({.name = port.name});
    call->request_.fetches.push_back(port.value);
  }
  call->request_.targets = signature->targets;
  return call;
}

Result<std::unique_ptr<Call>> Call::Create(std::shared_ptr<Session> session,
                                           std::span<const std::string> feeds,
                                           std::span<const std::string> fetches,
                                           std::span<const std::string> targets) {
  const Model& model = session->model();
  std::unique_ptr<Call> call(new Call(session));
  for (const std::string& feed : feeds) {
    HR_ASSIGN_OR_RETURN(graph::ValueId value, model.FindValue(feed));
    call->inputs_.push_back({.name = feed, .value = value});
  }
  for (const std::string& fetch : fetches) {
    HR_ASSIGN_OR_RETURN(graph::ValueId value, model.FindValue(fetch));
    call->outputs_.push_back({.name = fetch});
    call->request_.fetches.push_back(value);
  }
  for (const std::string& target : targets) {
    HR_ASSIGN_OR_RETURN(graph::NodeId node, model.FindNode(target));
    call->request_.targets.push_back(node);
  }
  return call;
}

namespace {

Status NoPort(Literal kind, std::string_view name, std::span<const std::string> names) {
  return NotFound("the call has no ", kind, " '", name, "'; it has", ListText(names));
}

template <typename Ports>
std::vector<std::string> Names(const Ports& ports) {
  std::vector<std::string> names;
  for (const auto& port : ports) names.push_back(port.name);
  return names;
}

}  // namespace

Result<Call::Input*> Call::FindInput(std::string_view name) {
  for (Input& input : inputs_) {
    if (input.name == name) return &input;
  }
  return NoPort("input", name, Names(inputs_));
}

Result<size_t> Call::FindOutput(std::string_view name) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].name == name) return i;
  }
  return NoPort("output", name, Names(outputs_));
}

Status Call::BindInput(Input& input, const Tensor& tensor) {
  if (!tensor.defined()) return InvalidArgument("input '", input.name, "' got no tensor");
  if (Status status = CheckHostMemory(tensor); !status.ok()) {
    return std::move(status).WithContext(Cat("input '", input.name, "'"));
  }
  bool same = input.tensor.defined() && input.tensor.dtype() == tensor.dtype() &&
              input.tensor.dims() == tensor.dims();
  if (tensor.contiguous()) {
    input.tensor = tensor;  // by copy, which keeps the memory of the dims
  } else {
    HR_ASSIGN_OR_RETURN(input.tensor, tensor.Clone(session_->env().allocator()));
  }
  if (!same) shapes_changed_ = true;
  if (!shapes_changed_) {
    auto i = static_cast<size_t>(&input - inputs_.data());
    instance_->Bind(instance_.plan().input_slot(i), input.tensor.data());
  }
  return {};
}

Status Call::Bind(std::string_view name, const Tensor& tensor) {
  HR_ASSIGN_OR_RETURN(Input * input, FindInput(name));
  return BindInput(*input, tensor);
}

namespace {

Status PutNumber(const Tensor& to, double value) {
  switch (to.dtype()) {
    case DType::kFloat32: *to.as<float>() = static_cast<float>(value); return {};
    case DType::kFloat64: *to.as<double>() = value; return {};
    case DType::kInt32: *to.as<int32_t>() = static_cast<int32_t>(value); return {};
    case DType::kInt64: *to.as<int64_t>() = static_cast<int64_t>(value); return {};
    case DType::kBool: *to.as<bool>() = value != 0; return {};
    default:
      return Unimplemented("a single number cannot become ", DTypeName(to.dtype()),
                           "; bind a tensor");
  }
}

}  // namespace

Status Call::BindScalar(std::string_view name, double value) {
  HR_ASSIGN_OR_RETURN(Input * input, FindInput(name));
  DType dtype = session_->model().module().main().values[input->value].type.dtype;
  if (!input->scalar.defined()) {
    HR_ASSIGN_OR_RETURN(input->scalar, Tensor::Create(session_->env().allocator(), dtype, {}));
  }
  HR_RETURN_IF_ERROR(PutNumber(input->scalar, value));
  return BindInput(*input, input->scalar);
}

int64_t Call::PulledExamples() const {
  if (pulled_.empty() || !pulled_[0].defined() || pulled_[0].dims().empty()) return 0;
  return pulled_[0].dims()[0];
}

Status Call::BindSource(std::shared_ptr<InputSource> source) {
  const auto names = source == nullptr ? std::vector<std::string>() : source->names();
  std::vector<Input*> pulled;
  for (const std::string& name : names) {
    auto found = std::find_if(inputs_.begin(), inputs_.end(),
                              [&](const Input& input) { return input.name == name; });
    pulled.push_back(found == inputs_.end() ? nullptr : &*found);
  }
  if (source != nullptr &&
      std::count(pulled.begin(), pulled.end(), nullptr) == std::ssize(pulled)) {
    return InvalidArgument("the data set gives ", Join(names), "; the call takes ",
                           Join(Names(inputs_)), ": no name is in both");
  }
  source_ = std::move(source);
  pulled_inputs_ = std::move(pulled);
  pulled_.clear();
  pulled_.resize(pulled_inputs_.size());
  return {};
}

Status Call::Unbind(std::string_view name) {
  HR_ASSIGN_OR_RETURN(Input * input, FindInput(name));
  input->tensor = {};
  shapes_changed_ = true;
  return {};
}

// A failure leaves what was bound before: the host does not keep memory that it was told is not
// used.
Status Call::SetOutput(size_t i, void* data, size_t bytes, Tensor given) {
  OutputPort& output = outputs_[i];
  std::swap(output.host, data);
  std::swap(output.host_bytes, bytes);
  std::swap(output.given, given);
  if (shapes_changed_) return {};
  Status status = BindOutputs();
  if (status.ok()) return status;
  output.host = data;
  output.host_bytes = bytes;
  output.given = std::move(given);
  shapes_changed_ = true;
  return status;
}

Status Call::BindOutput(std::string_view name, void* data, size_t bytes) {
  HR_ASSIGN_OR_RETURN(size_t i, FindOutput(name));
  return SetOutput(i, data, data == nullptr ? 0 : bytes, {});
}

Status Call::BindOutput(std::string_view name, const Tensor& tensor) {
  HR_ASSIGN_OR_RETURN(size_t i, FindOutput(name));
  Status status = CheckHostMemory(tensor);
  if (status.ok() && tensor.read_only()) status = InvalidArgument("the tensor is read-only");
  if (status.ok() && !tensor.contiguous()) {
    status = InvalidArgument("the tensor is not contiguous, its strides are ", tensor.strides());
  }
  if (!status.ok()) return std::move(status).WithContext(Cat("output '", name, "'"));
  return SetOutput(i, tensor.data(), tensor.bytes(), tensor);
}

Status Call::PullSource(const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(bool more, source_->Next(pulled_, limits));
  if (!more) return OutOfRange("the data set has no more data; rewind it or let it repeat");
  for (size_t i = 0; i < pulled_.size(); ++i) {
    if (pulled_inputs_[i] != nullptr) HR_RETURN_IF_ERROR(BindInput(*pulled_inputs_[i], pulled_[i]));
  }
  return {};
}

void Call::CollectFeeds() {
  size_t count = 0;
  auto& feeds = request_.feeds;
  for (const Input& input : inputs_) {
    // What is not bound may not be needed either; if it is, the failure names it.
    if (!input.tensor.defined()) continue;
    if (count == feeds.size()) feeds.emplace_back();
    transform::Feed& feed = feeds[count++];
    feed.value = input.value;
    feed.dtype = input.tensor.dtype();
    feed.dims = input.tensor.dims();  // by copy, which keeps the memory
  }
  feeds.resize(count);
}

Result<PlanAt> Call::PreparePlan() {
  CollectFeeds();
  return session_->Prepare(request_);
}

Status Call::TakeInstance() {
  CollectFeeds();
  if (instance_ && session_->Fits(instance_.plan())) {
    if (auto size = instance_.plan().Find(request_.feeds)) return instance_.Resize(std::move(size));
  }
  const bool staged = staged_ != nullptr && session_->Fits(*staged_);
  if (staged && staged_->Find(request_.feeds) != nullptr) return {};
  HR_ASSIGN_OR_RETURN(PlanAt at, session_->Prepare(request_));
  staged_ = at.plan->stages() == nullptr ? nullptr : at.plan;
  if (staged_ != nullptr) {
    instance_ = {};
    return {};
  }
  if (instance_ && at.plan.get() == &instance_.plan()) return instance_.Resize(std::move(at.size));
  bound_generation_ = 0;
  HR_ASSIGN_OR_RETURN(instance_, Instance::Of(std::move(at.plan), std::move(at.size)));
  return {};
}

Status Call::Prepare() {
  HR_RETURN_IF_ERROR(TakeInstance());
  if (staged_ != nullptr) return {};  // runs begin here each time
  size_t slot = 0;
  for (const Input& input : inputs_) {
    if (!input.tensor.defined()) continue;
    instance_->Bind(instance_.plan().input_slot(slot++), input.tensor.data());
  }
  HR_RETURN_IF_ERROR(BindOutputs());
  // Only a call whose inputs are all bound may bind them one by one from now on.
  shapes_changed_ = slot != inputs_.size();
  return {};
}

// The memory is for the largest size of the plan, so that it stays where it is at others.
Status Call::FitOutput(const ConcreteType& most, const ConcreteType& type, OutputPort& output) {
  Tensor& own = output.own;
  const auto bytes = static_cast<size_t>(ElementCount(most.dims)) * DTypeSize(most.dtype);
  if (own.defined() && own.buffer()->bytes() == bytes && own.Retype(type.dtype, type.dims))
    return {};
  Allocator& allocator = session_->env().allocator();
  HR_ASSIGN_OR_RETURN(own, Tensor::Create(allocator, most.dtype, most.dims));
  if (own.Retype(type.dtype, type.dims)) return {};
  HR_ASSIGN_OR_RETURN(own, Tensor::Create(allocator, type.dtype, type.dims));
  return {};
}

Status Call::CheckGiven(const OutputPort& output, const ConcreteType& type) {
  if (output.given.defined() &&
      (output.given.dtype() != type.dtype || output.given.dims() != type.dims)) {
    return InvalidArgument("output '", output.name, "' is ", DTypeName(type.dtype), type.dims,
                           ", the bound tensor is ", output.given.TypeText());
  }
  if (output.host == nullptr && !output.given.defined()) return {};
  const size_t bytes = static_cast<size_t>(ElementCount(type.dims)) * DTypeSize(type.dtype);
  if (output.host_bytes == bytes) return {};
  return InvalidArgument("output '", output.name, "' is ", DTypeName(type.dtype), type.dims,
                         " and needs ", bytes, " bytes, the bound memory has ", output.host_bytes);
}

Status Call::BindOutputs() {
  const Plan& plan = instance_.plan();
  outputs_changed_ = false;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    OutputPort& output = outputs_[i];
    const ConcreteType& type = instance_.size().outputs[i];
    if (Status status = CheckGiven(output, type); !status.ok()) {
      shapes_changed_ = true;
      return status;
    }
    if (output.host != nullptr || output.given.defined()) {
      instance_->Bind(plan.output_slot(i), output.host);
      continue;
    }
    HR_RETURN_IF_ERROR(FitOutput(plan.full().outputs[i], type, output));
    instance_->Bind(plan.output_slot(i), output.own.data());
  }
  return {};
}

namespace {

// From now on the profile, if there is one, sees what the threads do.
void Begin(Profile* profile, Lease& threads) {
  if (profile != nullptr) threads = profile->Begin(std::move(threads));
}

}  // namespace

Status Call::Run(const CallLimits& limits, Profile* profile) {
  Status status = RunBound(limits, profile);
  if (!status.ok()) session_->TellRanks(request_, status);
  return status;
}

Status Call::RunBound(const CallLimits& limits, Profile* profile) {
  if (source_ != nullptr) HR_RETURN_IF_ERROR(PullSource(limits));
  while (true) {
    if (shapes_changed_) HR_RETURN_IF_ERROR(Prepare());
    if (staged_ == nullptr && outputs_changed_) HR_RETURN_IF_ERROR(BindOutputs());
    const Plan& plan = staged_ != nullptr ? *staged_ : instance_.plan();
    Admission admission;
    HR_RETURN_IF_ERROR(session_->Admit(plan.exclusive(), limits, &admission));
    if (bound_generation_ != session_->variables_.generation() && !session_->Fits(plan)) {
      shapes_changed_ = true;  // the session needs a plan of its own now
      continue;
    }
    Begin(profile, admission.threads);
    if (staged_ != nullptr) return RunStages(admission.threads, limits, profile);
    if (bound_generation_ != session_->variables_.generation()) {
      HR_RETURN_IF_ERROR(session_->BindVariables(plan, *instance_));
      bound_generation_ = session_->variables_.generation();
    }
    return session_->RunLocked(plan, *instance_, admission.threads, limits, profile);
  }
}

Status Call::RunStages(const Lease& threads, const CallLimits& limits, Profile* profile) {
  std::vector<Tensor> inputs;
  for (const Input& input : inputs_) {
    if (input.tensor.defined()) inputs.push_back(input.tensor);
  }
  const auto check = [&](size_t i, const ConcreteType& type) {
    return CheckGiven(outputs_[i], type);
  };
  HR_ASSIGN_OR_RETURN(auto&& outputs,
                      session_->RunStages(*staged_, inputs, threads, limits, check, profile));
  return TakeStagedOutputs(std::move(outputs));
}

Status Call::TakeStagedOutputs(std::vector<Tensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputPort& output = outputs_[i];
    output.staged_type = {outputs[i].dtype(), outputs[i].dims()};
    if (output.host == nullptr && !output.given.defined()) {
      output.own = std::move(outputs[i]);
    } else if (outputs[i].bytes() != 0) {
      std::memcpy(output.host, outputs[i].data(), outputs[i].bytes());
    }
  }
  return {};
}

Status Call::Taken() {
  return FailedPrecondition(
      "the call is in use by a run in flight or by another thread; wait for its end, or make "
      "another call");
}

Result<Tensor> Call::Output(std::string_view name) const {
  HR_ASSIGN_OR_RETURN(size_t i, FindOutput(name));
  const OutputPort& output = outputs_[i];
  if (output.given.defined()) return output.given;
  if (output.host != nullptr) {
    return FailedPrecondition("output '", name, "' goes to memory of the caller");
  }
  if (!output.own.defined()) return FailedPrecondition("the call has no output of a run");
  return output.own;
}

Result<Tensor> Call::TakeOutput(std::string_view name) {
  HR_ASSIGN_OR_RETURN(Tensor out, Output(name));
  HR_ASSIGN_OR_RETURN(size_t i, FindOutput(name));
  outputs_[i].own = {};
  if (outputs_[i].given.defined()) HR_RETURN_IF_ERROR(BindOutput(name, nullptr, 0));
  outputs_changed_ = true;
  return out;
}

Result<const ConcreteType*> Call::TypeOfOutput(std::string_view name) {
  HR_ASSIGN_OR_RETURN(size_t i, FindOutput(name));
  HR_ASSIGN_OR_RETURN(asked_, PreparePlan());
  if (asked_.plan->stages() == nullptr) return &asked_.size->outputs[i];
  if (outputs_[i].staged_type.dtype != DType::kUndefined) return &outputs_[i].staged_type;
  return FailedPrecondition("the type of output '", name,
                            "' depends on data; ask for it after a run");
}

}  // namespace hr::session
