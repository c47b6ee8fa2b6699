// headrace quantize: graph files with smaller numbers, and what that costs.
#include <cmath>
#include <filesystem>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/dataset_spec.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/feeds.h"
#include "tools/headrace/measure.h"
#include "tools/headrace/output.h"
#include "tools/headrace/quantize_report.h"

namespace headrace::tool {
namespace {

constexpr char kQuantizeDescription[] =
    "Writes a graph file with smaller numbers, and says what that costs";
constexpr char kQuantizeFooter[] =
    "Products (MatMul, Gemm, Conv) are changed whose weight is a variable or a constant of "
    "float32;\n"
    "the file keeps one signature, to be run and not trained. It is written with ONNX's "
    "operators, so\n"
    "that 'headrace convert --onnx' gives a model that others run, too.\n\n"
    "--dynamic multiplies numbers of 8 bits, with the range that an input has in each run;\n"
    "--static takes the range that it has over the data of --data SPEC, and is faster;\n"
    "--weights-only stores weights in 8 bits; --to float16 or bfloat16 in 16.\n"
    "--embeddings changes the tables of Gather, too, in any of these ways.\n\n"
    "--compare runs both models on a data set: for each output the error, as a part of the size "
    "of\n"
    "what the model gave before, how often the largest element of the last axis stays where it "
    "was,\n"
    "and of outputs that are one number (a loss, a metric) the means before and after.\n\n"
    "Examples:\n"
    "  headrace quantize encoder.hrg encoder-int8.hrg --dynamic\n"
    "  headrace quantize lenet.hrg lenet-int8.hrg --static --data 'idx:fashion-mnist/train' \\\n"
    "    --batches 20 --compare idx:fashion-mnist/test";

struct QuantizeOptions {
  std::string from, to;
  bool is_static = false, dynamic = false, weights = false;
  std::string bits;  // float16 or bfloat16
  std::string signature;
  std::string nodes;
  bool per_tensor = false, embeddings = false, entropy = false, activations = false;
  std::string data;
  std::string percentile;
  int64_t batches = 0;
  int64_t batch = 0;
  std::vector<std::string> bind;
  std::string compare;
  int threads = 0;
  bool json = false;
};

// What the library calls the settings.
std::string SettingsOf(const QuantizeOptions& options) {
  const int ways = options.is_static + options.dynamic + options.weights + !options.bits.empty();
  if (ways != 1)
    throw UsageError("give one of --dynamic, --static, --weights-only and --to float16|bfloat16");
  if (!options.bits.empty() && options.bits != "float16" && options.bits != "bfloat16")
    throw UsageError("--to is float16 or bfloat16, got " + options.bits);
  if (options.is_static == options.data.empty())
    throw UsageError(options.is_static ? "--static needs the data of --data SPEC for calibration"
                                       : "--data is the calibration data of --static");
  if (!options.is_static &&
      (options.batches != 0 || !options.percentile.empty() || options.entropy))
    throw UsageError("--batches, --percentile and --entropy are about --static");
  if (options.entropy && !options.percentile.empty())
    throw UsageError("give one of --percentile and --entropy");
  if (options.per_tensor && !options.bits.empty())
    throw UsageError("--per-tensor is about 8 bits, not --to");
  if (options.activations && options.bits != "bfloat16")
    throw UsageError("--activations is about --to bfloat16");
  std::string settings = options.is_static ? "static"
                         : options.dynamic ? "dynamic"
                         : options.weights ? "weights"
                                           : options.bits;
  if (options.per_tensor) settings += " per_channel=0";
  if (options.embeddings) settings += " embeddings=1";
  if (!options.percentile.empty()) settings += " percentile=" + options.percentile;
  if (options.entropy) settings += " entropy=1";
  if (options.activations) settings += " activations=1";
  if (options.batches != 0) settings += " batches=" + std::to_string(options.batches);
  return settings;
}

// A data set whose fields have the names that --bind gives them.
hr::Dataset OpenData(const hr::Env& env, const std::string& text, const QuantizeOptions& options) {
  DatasetSpec spec(text);
  if (options.batch != 0) spec.Add("batch", std::to_string(options.batch), "--batch");
  hr::Dataset data(env, spec.text());
  for (const auto& [input, field] : NamedValues(options.bind, "--bind")) data.rename(field, input);
  return data;
}

void PrintReport(const QuantizeOptions& options, const Json& report) {
  std::error_code ignored;
  Print("%s: %s, signature %s, %s\n", options.to.c_str(),
        BytesText(std::filesystem::file_size(options.to, ignored)).c_str(),
        report["signature"].get<std::string>().c_str(), report["how"].get<std::string>().c_str());
  Print("%s: weights from %s to %s\n", CountText(report["products"].size(), "product").c_str(),
        BytesText(report["bytes_before"]).c_str(), BytesText(report["bytes_after"]).c_str());
  for (const Json& skipped : report["skipped"]) {
    Print("%s stays: %s\n", skipped["node"].get<std::string>().c_str(),
          skipped["reason"].get<std::string>().c_str());
  }
}

int RunQuantize(const QuantizeOptions& options) {
  const std::string settings = SettingsOf(options);
  hr::Env env(options.threads);
  const hr::Model model = hr::Model::load(env, options.from);
  const Json described = Described(hr_model_describe, model.get());
  const Json& signature = FindSignature(described, SignatureFor(options.signature, described));
  std::unique_ptr<hr::Dataset> data;
  if (options.is_static) data = std::make_unique<hr::Dataset>(OpenData(env, options.data, options));
  hr::Graph graph(model);
  Json report = Json::parse(graph.quantize(signature["name"], settings, options.nodes, data.get()));
  graph.save(options.to);
  if (!options.json) PrintReport(options, report);
  if (!options.compare.empty()) {
    const hr::Model after = hr::Model::load(env, options.to);
    hr::Dataset examples = OpenData(env, options.compare, options);
    report["outputs"] = CompareModels(model, after, signature, examples);
    if (!options.json) PrintComparison(report["outputs"]);
  }
  if (options.json) WriteJson("-", report);
  return kOk;
}

}  // namespace

Command AddQuantize(CLI::App& program) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App* app = AddCommand(program, "quantize", kQuantizeDescription, kQuantizeFooter);
  AddWord(app, "FROM", options->from, "the graph file");
  AddWord(app, "TO", options->to, "the graph file to write; replaced");
  AddFlag(app, "--dynamic", options->dynamic, "products of 8 bits, ranges of each run");
  AddFlag(app, "--static", options->is_static, "products of 8 bits, ranges of --data");
  AddFlag(app, "--weights-only", options->weights, "weights of 8 bits, products of float32");
  AddText(app, "--to", options->bits, "TYPE", "weights of float16 or bfloat16");
  AddText(app, "--signature", options->signature, "NAME", "which one (infer, or the only one)");
  AddText(app, "--nodes", options->nodes, "PATTERNS",
          "only nodes whose name, or whose weight's, fits one, with commas between (a*,b?)");
  AddFlag(app, "--per-tensor", options->per_tensor,
          "one scale for a weight, in place of one for each column, filter or row of a table");
  AddFlag(app, "--embeddings", options->embeddings, "tables of Gather, too");
  AddText(app, "--data", options->data, "SPEC", "data for calibration; docs/data.md has addresses");
  AddText(app, "--percentile", options->percentile, "PERCENT",
          "the share of an input's numbers that its range holds (100)");
  AddFlag(app, "--entropy", options->entropy,
          "ranges that lose least of how an input's numbers are distributed");
  AddFlag(app, "--activations", options->activations,
          "of --to bfloat16: products of bfloat16, not of float32");
  AddNumber(app, "--batches", options->batches, 1, "batches for calibration (a pass)");
  AddNumber(app, "--batch", options->batch, 1, "examples of a batch, of --data and --compare");
  AddRepeated(app, "--bind", options->bind, "INPUT=FIELD", "the data's field for an input");
  AddText(app, "--compare", options->compare, "SPEC", "run both on this data set and compare");
  AddNumber(app, "--threads", options->threads, 1, "threads that compute (all cores)");
  AddFlag(app, "--json", options->json, "write the report as JSON to standard output");
  return {app, [options] { return RunQuantize(*options); }};
}

}  // namespace headrace::tool
