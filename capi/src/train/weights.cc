// Variables to and from files of other programs.
#include "capi/src/train/handles.h"
#include "runtime/base/json_writer.h"
#include "runtime/train/session_weights.h"
#include "runtime/train/weights_file.h"

namespace hr::capi {
namespace {

std::string ReportText(const train::WeightsReport& report) {
  JsonWriter json;
  json.BeginObject().Field("tensors", report.tensors).Field("bytes", report.bytes);
  json.Key("left").BeginArray();
  for (const std::string& name : report.left) json.Value(name);
  json.EndArray().EndObject();
  return json.Take();
}

Result<std::string> Describe(const char* path) {
  HR_ASSIGN_OR_RETURN(auto&& weights, train::ReadWeights(path, SystemAllocator()));
  JsonWriter json;
  json.BeginArray();
  for (const train::NamedWeight& weight : weights) {
    json.BeginObject().Field("name", weight.name);
    json.Field("dtype", DTypeName(weight.tensor.dtype()));
    json.Key("dims").Values(std::span<const int64_t>(weight.tensor.dims()));
    json.Field("bytes", weight.tensor.bytes()).EndObject();
  }
  json.EndArray();
  return json.Take();
}

using Transfer = Result<train::WeightsReport>(session::Session&, const std::string&,
                                              const train::WeightsOptions&, const CallLimits&);

Result<std::string> Move(Transfer& transfer, hr_session* session, const char* path,
                         const hr_weights_options* given, const HostLimits& limits) {
  HR_ASSIGN_OR_RETURN(const hr_weights_options options, CopySized(given, "hr_weights_options"));
  train::WeightsOptions inner{.partial = options.partial != 0, .trainable = options.trainable != 0};
  if (options.names != nullptr) {
    HR_ASSIGN_OR_RETURN(inner.names, train::ParseWeightNames(options.names));
  }
  HR_ASSIGN_OR_RETURN(auto&& report, transfer(*session->rep, path, inner, limits));
  return ReportText(report);
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_weights_describe(const char* path, hr_text** out) {
  HR_REQUIRE(path);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& text, hr::capi::Describe(path));
  return hr::capi::WrapText(out, std::move(text));
}

hr_status* hr_session_export_weights(hr_session* session, const char* path,
                                     const hr_weights_options* options, const hr_limits* limits,
                                     hr_text** out_report) {
  HR_REQUIRE(session);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto&& report,
                    hr::capi::Move(hr::train::ExportWeights, session, path, options, checked));
  return out_report == nullptr ? nullptr : hr::capi::WrapText(out_report, std::move(report));
}

hr_status* hr_session_import_weights(hr_session* session, const char* path,
                                     const hr_weights_options* options, const hr_limits* limits,
                                     hr_text** out_report) {
  HR_REQUIRE(session);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto&& report,
                    hr::capi::Move(hr::train::ImportWeights, session, path, options, checked));
  return out_report == nullptr ? nullptr : hr::capi::WrapText(out_report, std::move(report));
}

}  // extern "C"
