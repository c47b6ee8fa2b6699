// headrace run: runs a signature once, or many times to measure it.
#include <algorithm>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/feeds.h"
#include "tools/headrace/measure.h"
#include "tools/headrace/npy.h"
#include "tools/headrace/output.h"
#include "tools/headrace/values.h"

namespace headrace::tool {
namespace {

constexpr char kRunDescription[] =
    "Runs a signature on given, random or zero inputs, and measures it";
constexpr char kRunFooter[] =
    "Each input takes a .npy file, the word random (floats in [0, 1), integers 0 or 1) or zeros, "
    "or a\n"
    "number, which fills it. What a training signature updates is gone when the program ends; use\n"
    "headrace train.\n\n"
    "Examples:\n"
    "  headrace run lenet.hrg --input images=digits.npy --output scores=scores.npy\n"
    "  headrace run lenet.hrg --input images=random --shape images=64x1x28x28 --repeat 1000";

constexpr int64_t kShown = 10;  // elements of each output

struct RunOptions {
  std::string file;
  std::string signature;
  FeedOptions feeds;
  std::vector<std::string> outputs;
  std::string checkpoint;
  std::string json;
  int64_t repeat = 0;
  int threads = 0;
  SessionFlags session;
};

std::vector<double> TimesOf(hr::Call& call, int64_t repeat) {
  std::vector<double> times;
  for (int64_t i = 0; i < repeat; ++i) times.push_back(Measured::MillisecondsOf(call));
  return times;
}

Json OutputJson(const std::string& name, const hr::Tensor& tensor) {
  Summary summary = Summarise(tensor);
  return {{"name", name},
          {"dtype", hr_dtype_name(hr_tensor_dtype(tensor.get()))},
          {"dims", tensor.dims()},
          {"min", summary.min},
          {"max", summary.max},
          {"mean", summary.mean},
          {"deviation", summary.deviation},
          {"not_finite", summary.not_finite}};
}

void PrintOutput(const std::string& name, const hr::Tensor& tensor) {
  Summary summary = Summarise(tensor);
  Print("%s %s: min %.6g, max %.6g, mean %.6g, deviation %.6g", name.c_str(),
        TypeText(tensor).c_str(), summary.min, summary.max, summary.mean, summary.deviation);
  if (summary.not_finite != 0)
    Print(", %s NOT FINITE", CountText(static_cast<size_t>(summary.not_finite), "element").c_str());
  Print("\n  %s\n", FirstElements(tensor, kShown).c_str());
}

void PrintTimes(const Json& latency, double first) {
  Print("first run %.3f ms, with compiling; then %s runs, %.1f a second\n", first,
        latency["runs"].dump().c_str(), latency["runs_per_second"].get<double>());
  PrintLatency(latency);
}

std::map<std::string, std::string> OutputTargets(const RunOptions& options, const Json& signature) {
  auto targets = NamedValues(options.outputs, "--output");
  for (const auto& [name, target] : targets) {
    if (target == "-" && options.json == "-")
      throw UsageError("--output " + name + "=- and --json - both want standard output");
    const Json& outputs = signature["outputs"];
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](const Json& port) { return port["name"] == name; })) {
      throw Failure("the signature has no output '" + name + "'; it has" + NamesOf(outputs));
    }
  }
  return targets;
}

// Says which checkpoint it was, and which newer ones are damaged.
void Restore(const hr::Session& session, const std::string& path) {
  Json report = Described(hr_session_restore, session.get(), path.c_str(), nullptr, nullptr);
  for (const Json& warning : report["warnings"])
    std::fprintf(stderr, "%s\n", warning.get<std::string>().c_str());
  std::fprintf(stderr, "variables from '%s', step %lld\n",
               report["path"].get<std::string>().c_str(),
               static_cast<long long>(report["step"].get<int64_t>()));
}

int RunRun(const RunOptions& options) {
  hr::Env env(options.threads);
  hr::Model model = hr::Model::load(env, options.file);
  Json described = Described(hr_model_describe, model.get());
  const Json& signature = FindSignature(described, SignatureFor(options.signature, described));
  auto targets = OutputTargets(options, signature);
  std::vector<Feed> feeds = MakeFeeds(env, signature, options.feeds, "");

  hr::Session session(model, options.session.Options(options.feeds.seed));
  if (!options.checkpoint.empty()) Restore(session, options.checkpoint);
  hr::Call call(session, signature["name"]);
  Json report = {{"signature", signature["name"]}, {"inputs", Json::array()}};
  for (const Feed& feed : feeds) {
    call.bind(feed.name, feed.tensor);
    report["inputs"].push_back(
        {{"name", feed.name}, {"type", TypeText(feed.tensor)}, {"source", feed.source}});
    if (options.json != "-")
      Print("%s %s from %s\n", feed.name.c_str(), TypeText(feed.tensor).c_str(),
            feed.source.c_str());
  }
  const double first = Measured::MillisecondsOf(call);
  report["first_run_ms"] = first;
  if (options.repeat > 0) report["latency_ms"] = Latency(TimesOf(call, options.repeat));

  report["outputs"] = Json::array();
  for (const Json& port : signature["outputs"]) {
    std::string name = port["name"];
    hr::Tensor tensor = call.result(name);
    report["outputs"].push_back(OutputJson(name, tensor));
    if (options.json != "-") PrintOutput(name, tensor);
    auto target = targets.find(name);
    if (target == targets.end()) continue;
    if (target->second == "-") {
      WriteText("-", ElementsText(tensor));
    } else {
      WriteNpy(target->second, tensor);
    }
  }
  if (options.repeat > 0 && options.json != "-") PrintTimes(report["latency_ms"], first);
  if (!options.json.empty()) WriteJson(options.json, report);
  return kOk;
}

}  // namespace

Command AddRun(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* app = AddCommand(program, "run", kRunDescription, kRunFooter);
  AddWord(app, "FILE", options->file, "graph file");
  AddText(app, "--signature", options->signature, "NAME", "what to run (infer, or the only one)");
  AddRepeated(app, "--input", options->feeds.inputs, "NAME=FILE.npy|random|zeros|NUMBER",
              "an input: a .npy file, random, zeros, a number");
  AddRepeated(app, "--shape", options->feeds.shapes, "NAME=1x28x28",
              "shape of an input without a file (open sizes: 1)");
  AddRepeated(app, "--output", options->outputs, "NAME=FILE.npy|-",
              "write an output to a file, or all of it as text");
  AddText(app, "--checkpoint", options->checkpoint, "DIR",
          "restore the variables: a checkpoint, or a folder of them (the newest)");
  AddNumber(app, "--repeat", options->repeat, 0, "run so many times more and show latencies");
  AddNumber(app, "--seed", options->feeds.seed, 0, "of random inputs, and initial values (0)");
  AddNumber(app, "--threads", options->threads, 0, "threads that compute (0: all processors)");
  options->session.AddOptions(app);
  AddText(app, "--json", options->json, "FILE",
          "write a report there; - is standard output, alone");
  return {app, [options] { return RunRun(*options); }};
}

}  // namespace headrace::tool
