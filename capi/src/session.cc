#include "headrace/session.h"

#include <cstdlib>

#include "capi/src/handles.h"

namespace hr::capi {
namespace {

bool MemoryIsCheckedByDefault() {
  const char* wanted = std::getenv("HEADRACE_CHECK_MEMORY");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

Result<session::SessionOptions> OptionsFrom(const hr_session_options* options) {
  HR_ASSIGN_OR_RETURN(hr_session_options copy, CopySized(options, "hr_session_options"));
  session::SessionOptions out{.seed = copy.seed};
  if (copy.max_plans < 0) return InvalidArgument("max_plans is at least 1, got ", copy.max_plans);
  if (copy.max_plans > 0) out.max_plans = static_cast<size_t>(copy.max_plans);
  if (copy.max_sizes < 0) return InvalidArgument("max_sizes is at least 1, got ", copy.max_sizes);
  if (copy.max_sizes > 0) out.plan.max_sizes = static_cast<size_t>(copy.max_sizes);
  out.plan.fuse = copy.disable_fusion == 0;
  out.plan.check_memory = copy.check_memory != 0 || MemoryIsCheckedByDefault();
  out.plan.exact_sums = copy.exact_sums != 0;
  out.plan.memory_limit = copy.memory_limit;
  if (copy.pin != nullptr) out.plan.pin = copy.pin;
  if (copy.device != nullptr) out.plan.device = copy.device;
  return out;
}

Result<HostLimits> LimitsFor(const session::Session& session, const hr_limits* limits) {
  return LimitsFrom(limits, session.env().clock());
}

// What a run by names is given.
struct RunNames {
  std::vector<std::string> feeds, fetches, targets;
};
struct CNames {
  size_t count;
  const char* const* names;
};

Result<RunNames> NamesFrom(CNames feeds, CNames fetches, CNames targets) {
  RunNames out;
  HR_ASSIGN_OR_RETURN(out.feeds, StringsFrom(feeds.count, feeds.names, "feed_names"));
  HR_ASSIGN_OR_RETURN(out.fetches, StringsFrom(fetches.count, fetches.names, "fetch_names"));
  HR_ASSIGN_OR_RETURN(out.targets, StringsFrom(targets.count, targets.names, "target_names"));
  return out;
}

}  // namespace
}  // namespace hr::capi

using hr::capi::LimitsFor;
using hr::capi::NewTensor;
using hr::capi::Wrap;

extern "C" {

hr_status* hr_session_create(const hr_model* model, const hr_session_options* options,
                             const hr_limits* limits, hr_session** out) {
  HR_REQUIRE(model);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& inner, hr::capi::OptionsFrom(options));
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, model->rep->env().clock()));
  return hr::capi::WrapInto(out, hr::session::Session::Create(model->rep, inner, checked));
}

void hr_session_close(hr_session* session) {
  if (session != nullptr) session->rep->Close();
}

void hr_session_release(hr_session* session) { delete session; }

void hr_session_trim(hr_session* session) {
  if (session != nullptr) session->rep->Trim();
}

hr_status* hr_session_run(hr_session* session, size_t feed_count, const char* const* feed_names,
                          const hr_tensor* const* feeds, size_t fetch_count,
                          const char* const* fetch_names, size_t target_count,
                          const char* const* target_names, const hr_limits* limits,
                          hr_tensor** outputs) {
  HR_REQUIRE(session);
  const auto held = session->rep;  // the handle may go while the run goes on
  if (fetch_count != 0) HR_REQUIRE(outputs);
  if (feed_count != 0) HR_REQUIRE(feeds);
  HR_ASSIGN_OR_WRAP(auto&& names,
                    hr::capi::NamesFrom({feed_count, feed_names}, {fetch_count, fetch_names},
                                        {target_count, target_names}));
  std::vector<hr::session::NamedTensor> inputs;
  for (size_t i = 0; i < feed_count; ++i) {
    if (feeds[i] == nullptr) return hr::capi::NullElement(__func__, "feeds", i);
    inputs.push_back({std::move(names.feeds[i]), feeds[i]->rep});
  }
  HR_ASSIGN_OR_WRAP(auto checked, LimitsFor(*held, limits));
  HR_ASSIGN_OR_WRAP(auto&& results, held->Run(inputs, names.fetches, names.targets, checked));
  for (size_t i = 0; i < results.size(); ++i) outputs[i] = NewTensor(std::move(results[i]));
  return nullptr;
}

size_t hr_session_variable_count(const hr_session* session) {
  return session == nullptr ? 0 : session->rep->model().module().variables.size();
}

const char* hr_session_variable_name(const hr_session* session, size_t index) {
  if (index >= hr_session_variable_count(session)) return nullptr;
  return session->rep->model().module().variables[index].name.c_str();
}

hr_status* hr_session_get_variable(hr_session* session, const char* name, const hr_limits* limits,
                                   hr_tensor** out) {
  HR_REQUIRE(session);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(uint32_t variable, session->rep->model().FindVariable(name));
  HR_ASSIGN_OR_WRAP(auto checked, LimitsFor(*session->rep, limits));
  HR_ASSIGN_OR_WRAP(auto&& value, session->rep->GetVariable(variable, checked));
  *out = NewTensor(std::move(value));
  return nullptr;
}

hr_status* hr_session_set_variable(hr_session* session, const char* name, const hr_tensor* value,
                                   const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(name);
  HR_REQUIRE(value);
  HR_ASSIGN_OR_WRAP(uint32_t variable, session->rep->model().FindVariable(name));
  HR_ASSIGN_OR_WRAP(auto checked, LimitsFor(*session->rep, limits));
  return Wrap(session->rep->SetVariable(variable, value->rep, checked));
}

hr_status* hr_session_describe(hr_session* session, hr_text** out) {
  HR_REQUIRE(session);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, session->rep->Describe());
}

hr_status* hr_call_create(hr_session* session, const char* signature, hr_call** out) {
  HR_REQUIRE(session);
  HR_REQUIRE(signature);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::session::Call::Create(session->rep, signature));
}

hr_status* hr_call_create_custom(hr_session* session, size_t feed_count,
                                 const char* const* feed_names, size_t fetch_count,
                                 const char* const* fetch_names, size_t target_count,
                                 const char* const* target_names, hr_call** out) {
  HR_REQUIRE(session);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& names,
                    hr::capi::NamesFrom({feed_count, feed_names}, {fetch_count, fetch_names},
                                        {target_count, target_names}));
  return hr::capi::WrapInto(
      out, hr::session::Call::Create(session->rep, names.feeds, names.fetches, names.targets));
}

void hr_call_release(hr_call* call) { delete call; }

hr_status* hr_call_bind(hr_call* call, const char* input, const hr_tensor* tensor) {
  HR_REQUIRE(call);
  HR_REQUIRE(input);
  HR_USE(call);
  if (tensor == nullptr) return Wrap(call->rep->Unbind(input));
  return Wrap(call->rep->Bind(input, tensor->rep));
}

hr_status* hr_call_bind_scalar(hr_call* call, const char* input, double value) {
  HR_REQUIRE(call);
  HR_REQUIRE(input);
  HR_USE(call);
  return Wrap(call->rep->BindScalar(input, value));
}

hr_status* hr_call_output(hr_call* call, const char* output, void* data, size_t bytes) {
  HR_REQUIRE(call);
  HR_REQUIRE(output);
  HR_USE(call);
  return Wrap(call->rep->BindOutput(output, data, bytes));
}

hr_status* hr_call_bind_output(hr_call* call, const char* output, const hr_tensor* tensor) {
  HR_REQUIRE(call);
  HR_REQUIRE(output);
  HR_USE(call);
  if (tensor == nullptr) return Wrap(call->rep->BindOutput(output, nullptr, 0));
  return Wrap(call->rep->BindOutput(output, tensor->rep));
}

hr_status* hr_call_output_type(hr_call* call, const char* output, hr_dtype* out_dtype,
                               size_t* out_rank, const int64_t** out_dims) {
  HR_REQUIRE(call);
  HR_REQUIRE(output);
  HR_USE(call);
  HR_ASSIGN_OR_WRAP(const auto* type, call->rep->TypeOfOutput(output));
  if (out_dtype != nullptr) *out_dtype = static_cast<hr_dtype>(type->dtype);
  if (out_rank != nullptr) *out_rank = type->dims.size();
  if (out_dims != nullptr) *out_dims = type->dims.data();
  return nullptr;
}

hr_status* hr_call_run(hr_call* call, const hr_limits* limits) {
  HR_REQUIRE(call);
  HR_USE(call);
  if (limits == nullptr) return Wrap(call->rep->Run({}));
  HR_ASSIGN_OR_WRAP(auto checked, LimitsFor(call->rep->session(), limits));
  return Wrap(call->rep->Run(checked));
}

hr_status* hr_call_start(hr_call* call, const hr_limits* limits, hr_run** out) {
  HR_REQUIRE(call);
  HR_REQUIRE(out);
  const std::shared_ptr<hr::session::Call>& held = call->rep;
  HR_ASSIGN_OR_WRAP(auto checked, LimitsFor(held->session(), limits));
  if (!held->Take()) return Wrap(hr::session::Call::Taken());
  auto run = std::make_shared<hr::session::AsyncRun>(held, checked, checked.held);
  *out = new hr_run{run};
  held->session().env().runs().Add([run] { run->Execute(); });
  return nullptr;
}

void hr_run_release(hr_run* run) { delete run; }

int hr_run_test(hr_run* run) { return run == nullptr || run->rep->done() ? 1 : 0; }

hr_status* hr_run_wait(hr_run* run, const hr_limits* limits) {
  HR_REQUIRE(run);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, hr::SystemClock()));
  return Wrap(run->rep->Wait(checked));
}

hr_status* hr_run_on_done(hr_run* run, void (*callback)(void* context, const hr_status* status),
                          void* context) {
  HR_REQUIRE(run);
  HR_REQUIRE(callback);
  run->rep->OnDone(hr::capi::HostCallback{callback, context, run->rep->callbacks()});
  return nullptr;
}

void hr_run_cancel(hr_run* run) {
  if (run != nullptr) run->rep->Cancel();
}

hr_status* hr_call_result(const hr_call* call, const char* output, hr_tensor** out) {
  HR_REQUIRE(call);
  HR_REQUIRE(output);
  HR_REQUIRE(out);
  HR_USE(call);
  HR_ASSIGN_OR_WRAP(auto&& tensor, call->rep->Output(output));
  *out = NewTensor(std::move(tensor));
  return nullptr;
}

hr_status* hr_call_take_result(hr_call* call, const char* output, hr_tensor** out) {
  HR_REQUIRE(call);
  HR_REQUIRE(output);
  HR_REQUIRE(out);
  HR_USE(call);
  HR_ASSIGN_OR_WRAP(auto&& tensor, call->rep->TakeOutput(output));
  *out = NewTensor(std::move(tensor));
  return nullptr;
}

hr_status* hr_call_describe(hr_call* call, hr_text** out) {
  HR_REQUIRE(call);
  HR_REQUIRE(out);
  HR_USE(call);
  HR_ASSIGN_OR_WRAP(auto&& at, call->rep->PreparePlan());
  return hr::capi::WrapText(out, at.plan->Describe(*at.size));
}

hr_status* hr_call_profile(hr_call* call, const hr_limits* limits, hr_text** out) {
  HR_REQUIRE(call);
  HR_REQUIRE(out);
  HR_USE(call);
  HR_ASSIGN_OR_WRAP(auto checked, LimitsFor(call->rep->session(), limits));
  hr::session::Profile profile;
  HR_WRAP_IF_ERROR(call->rep->Run(checked, &profile));
  profile.End();
  return hr::capi::WrapText(out, profile.Json());
}

}  // extern "C"
