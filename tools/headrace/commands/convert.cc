// headrace convert: models of other formats as graph files.
#include <filesystem>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kDescription[] = "Converts a model of another format (ONNX) to a graph file";
constexpr char kFooter[] =
    "Names stay as they are, and operators mean what their version says (operator sets from 7 on). "
    "Weights become variables, which 'headrace train' and hosts can train further. If something "
    "cannot be converted, all of it is named at once, with the nearest way out, and nothing is "
    "written. Files with the model's weights (external data) are found beside it.\n\n"
    "Example:\n"
    "  headrace convert model.onnx model.hrg && headrace inspect model.hrg";

struct Options {
  std::string from, to;
  bool constants = false;
  bool json = false;
};

std::string Joined(const Json& names) {
  std::string text;
  for (const Json& name : names) text += (text.empty() ? "" : ", ") + name.get<std::string>();
  return text;
}

void PrintReport(const Options& options, const Json& report) {
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(options.to, ignored);
  Print("%s: %s, %s (%s), %s of constants\n", options.to.c_str(), BytesText(bytes).c_str(),
        CountText(report["variables"], "variable").c_str(),
        BytesText(report["variable_bytes"]).c_str(), BytesText(report["constant_bytes"]).c_str());
  Print("%s of %s: %s\n", CountText(report["nodes"], "node").c_str(),
        CountText(report["operators"].size(), "operator").c_str(),
        report["producer"].get<std::string>().c_str());
  Print("signature infer: %s -> %s\n", Joined(report["inputs"]).c_str(),
        Joined(report["outputs"]).c_str());
}

int Convert(const Options& options) {
  hr::Env env;
  auto how = Sized<hr_convert_options>();
  how.constants = options.constants ? 1 : 0;
  const Json report = Described(hr_model_convert, env.get(), options.from.c_str(),
                                options.to.c_str(), &how, static_cast<const hr_limits*>(nullptr));
  if (options.json) {
    WriteJson("-", report);
  } else {
    PrintReport(options, report);
  }
  return kOk;
}

}  // namespace

Command AddConvert(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = AddCommand(program, "convert", kDescription, kFooter);
  AddWord(app, "FROM", options->from, "the model, a file that ends in .onnx");
  AddWord(app, "TO", options->to, "the graph file to write (.hrg); it is replaced");
  AddFlag(app, "--constants", options->constants,
          "make the weights constants: the graph can be run but not trained");
  AddFlag(app, "--json", options->json, "print what was converted as JSON");
  return {app, [options] { return Convert(*options); }};
}

}  // namespace headrace::tool
