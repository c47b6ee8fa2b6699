// Models with smaller numbers.
#include "runtime/transform/quantize.h"
#include "capi/src/graph_handle.h"
#include "capi/src/train/handles.h"
#include "runtime/train/calibrate.h"

namespace hr::capi {
namespace {

Result<std::string> Quantize(hr_graph* graph, std::string_view signature, const char* settings,
                             std::string_view patterns, hr_dataset* data,
                             const HostLimits& limits) {
  HR_ASSIGN_OR_RETURN(const auto options, transform::ParseQuantizeOptions(settings));
  const bool calibrates = options.how == transform::Quantization::kStatic;
  if (calibrates != (data != nullptr)) {
    return InvalidArgument(calibrates ? "static needs a data set for calibration, which is NULL"
                                      : "only static is calibrated; give NULL as the data set");
  }
  HR_ASSIGN_OR_RETURN(auto&& quantizer,
                      transform::Quantizer::Create(graph->rep, signature, options, patterns));
  std::map<graph::ValueId, transform::ValueRange> ranges;
  if (calibrates) {
    HR_RETURN_IF_ERROR(graph::Verify(graph->rep.module()));
    HR_ASSIGN_OR_RETURN(ranges, train::Calibrate(graph->env, graph->rep.module(), signature,
                                                 quantizer.Inputs(), options, data->rep, limits));
  }
  HR_RETURN_IF_ERROR(quantizer.Run(ranges));
  return quantizer.Report();
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_graph_quantize(hr_graph* graph, const char* signature, const char* settings,
                             const char* patterns, hr_dataset* data, const hr_limits* limits,
                             hr_text** out_report) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(settings);
  HR_ASSIGN_OR_WRAP(const auto inner, hr::capi::LimitsFrom(limits, graph->env->clock()));
  HR_ASSIGN_OR_WRAP(auto&& report,
                    hr::capi::Quantize(graph, signature, settings,
                                       patterns == nullptr ? "" : patterns, data, inner));
  return out_report == nullptr ? nullptr : hr::capi::WrapText(out_report, std::move(report));
}

}  // extern "C"
