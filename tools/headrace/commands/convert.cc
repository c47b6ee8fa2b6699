// headrace convert: models of other formats as graph files, and graph files as such models.
#include <charconv>
#include <filesystem>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"
#include "tools/headrace/test_vectors.h"

namespace headrace::tool {
namespace {

constexpr char kConvertDescription[] =
    "Converts a model of another format (ONNX) to a graph file, and back with --onnx";
constexpr char kConvertFooter[] =
    "Names stay as they are, and operators mean what their version says (operator sets from 7\n"
    "on). Weights become variables, which 'headrace train' and hosts can train further. Files\n"
    "with the model's weights (external data) are found beside it. If something cannot be\n"
    "converted, all of it is named at once, with the nearest way out, and nothing is written.\n\n"
    "--simplify computes what depends on constants alone (up to 1 MiB each), and leaves out "
    "copies,\n"
    "Dropout that does not train, nodes that compute what another one does, and nodes and weights\n"
    "that no output needs. Results stay what they are; names of what goes are gone.\n\n"
    "--check compares with test vectors in ONNX's layout: the folder, or folders in it, have\n"
    "input_0.pb, input_1.pb, ... and output_0.pb, ... One line for each output says its largest\n"
    "error and the largest magnitude that was expected; the exit status is 1 if one differs.\n\n"
    "Examples:\n"
    "  headrace convert model.onnx model.hrg --check test_data_set_0\n"
    "  headrace convert --simplify model.onnx model.hrg\n"
    "  headrace convert --onnx model.hrg model.onnx";

struct ConvertOptions {
  std::string from, to;
  bool constants = false;
  bool simplify = false;
  std::string check;
  std::string tolerance = "1e-4";
  bool onnx = false;
  std::string signature;
  bool external_data = false;
  bool json = false;
};

std::string Joined(const Json& names) {
  std::string text;
  for (const Json& name : names) text += (text.empty() ? "" : ", ") + name.get<std::string>();
  return text;
}

void PrintReport(const ConvertOptions& options, const Json& report) {
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(options.to, ignored);
  Print("%s: %s, %s (%s), %s of constants\n", options.to.c_str(), BytesText(bytes).c_str(),
        CountText(report["variables"], "variable").c_str(),
        BytesText(report["variable_bytes"]).c_str(), BytesText(report["constant_bytes"]).c_str());
  Print("%s of %s: %s\n", CountText(report["nodes"], "node").c_str(),
        CountText(report["operators"].size(), "operator").c_str(),
        report["producer"].get<std::string>().c_str());
  if (const auto left = report.find("simplified"); left != report.end()) {
    Print(
        "simplified to %s, %s (%s), %s of constants\n", CountText((*left)["nodes"], "node").c_str(),
        CountText((*left)["variables"], "variable").c_str(),
        BytesText((*left)["variable_bytes"]).c_str(), BytesText((*left)["constant_bytes"]).c_str());
  }
  Print("signature infer: %s -> %s\n", Joined(report["inputs"]).c_str(),
        Joined(report["outputs"]).c_str());
}

double ToleranceOf(const ConvertOptions& options) {
  double value = 0;
  const char* const end = options.tolerance.data() + options.tolerance.size();
  const auto [stop, error] = std::from_chars(options.tolerance.data(), end, value);
  if (error == std::errc() && stop == end && value >= 0 && value <= 1) return value;
  throw UsageError("--tolerance is a number from 0 to 1, got " + options.tolerance);
}

int Convert(const hr::Env& env, const ConvertOptions& options) {
  const double tolerance = ToleranceOf(options);
  auto how = Sized<hr_convert_options>();
  how.constants = options.constants ? 1 : 0;
  how.simplify = options.simplify ? 1 : 0;
  Json report = Described(hr_model_convert, env.get(), options.from.c_str(), options.to.c_str(),
                          &how, static_cast<const hr_limits*>(nullptr));
  if (!options.json) PrintReport(options, report);
  std::vector<OutputCheck> checks;
  if (!options.check.empty()) {
    checks = CheckVectors(env, options.to, "infer", options.check, tolerance);
    report["checks"] = ChecksJson(checks);
  }
  if (options.json) WriteJson("-", report);
  return ReportChecks(checks, !options.json) ? kOk : kFailure;
}

void PrintWritten(const ConvertOptions& options, const Json& report) {
  size_t nodes = 0;
  for (const Json& count : report["operators"]) nodes += count.get<size_t>();
  Print("%s: %s, signature %s, %s of %s\n", options.to.c_str(), BytesText(report["bytes"]).c_str(),
        report["signature"].get<std::string>().c_str(), CountText(nodes, "node").c_str(),
        CountText(report["operators"].size(), "operator").c_str());
  const std::string data = report["data_file"];
  if (!data.empty()) {
    Print("%s, beside it: %s of tensors\n", data.c_str(), BytesText(report["data_bytes"]).c_str());
  }
}

int WriteOnnx(const hr::Env& env, const ConvertOptions& options) {
  if (options.constants || options.simplify || !options.check.empty()) {
    throw UsageError(
        "--constants, --simplify and --check are about conversions to a graph file, not --onnx");
  }
  auto how = Sized<hr_export_options>();
  how.external_data = options.external_data ? 1 : 0;
  how.signature = options.signature.empty() ? nullptr : options.signature.c_str();
  const Json report = Described(hr_model_export, env.get(), options.from.c_str(),
                                options.to.c_str(), &how, static_cast<const hr_limits*>(nullptr));
  if (options.json) {
    WriteJson("-", report);
  } else {
    PrintWritten(options, report);
  }
  return kOk;
}

int RunConvert(const ConvertOptions& options) {
  const hr::Env env;
  if (options.onnx) return WriteOnnx(env, options);
  if (options.external_data || !options.signature.empty()) {
    throw UsageError("--external-data and --signature are about --onnx");
  }
  return Convert(env, options);
}

}  // namespace

Command AddConvert(CLI::App& program) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* app = AddCommand(program, "convert", kConvertDescription, kConvertFooter);
  AddWord(app, "FROM", options->from, "the model, a file that ends in .onnx; with --onnx: in .hrg");
  AddWord(app, "TO", options->to, "the graph file to write (.hrg; with --onnx: .onnx); replaced");
  AddFlag(app, "--constants", options->constants,
          "make the weights constants: the graph can be run but not trained");
  AddFlag(app, "--simplify", options->simplify,
          "compute what depends on constants alone, and leave out what does nothing");
  AddText(app, "--check", options->check, "FOLDER", "run it on these test vectors and compare");
  AddText(app, "--tolerance", options->tolerance, "NUMBER",
          "of --check: error of floating-point outputs, as a part of the largest magnitude "
          "(1e-4; of 16 bits: 100 times that)");
  AddFlag(app, "--onnx", options->onnx, "the other way: write the graph file FROM as ONNX");
  AddText(app, "--signature", options->signature, "NAME",
          "of --onnx: what is written (infer, or the only one)");
  AddFlag(app, "--external-data", options->external_data,
          "of --onnx: tensors go to TO.data (they do anyway above 2 GiB)");
  AddFlag(app, "--json", options->json, "print what was converted as JSON");
  return {app, [options] { return RunConvert(*options); }};
}

}  // namespace headrace::tool
