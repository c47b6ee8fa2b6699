#include "tools/headrace/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "tools/headrace/output.h"
#include "tools/headrace/values.h"

namespace headrace::tool {
namespace {

// Percentile by nearest rank of sorted times.
double Percentile(const std::vector<double>& sorted, double percent) {
  auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

FeedOptions WithDefaults(FeedOptions feeds, const Json& signature) {
  const auto named = NamedValues(feeds.inputs, "--input");
  for (const Json& port : signature["inputs"]) {
    const std::string name = port["name"];
    const bool number = port["dims"].is_array() && port["dims"].empty();
    if (number && !named.contains(name)) feeds.inputs.push_back(name + "=0");
  }
  return feeds;
}

int64_t ExamplesOf(const Json& signature, const std::vector<Feed>& feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Json& dims = signature["inputs"][i]["dims"];
    const bool open = dims.is_array() && !dims.empty() && !dims[0].is_number();
    if (open) return feeds[i].tensor.dims()[0];
  }
  return 0;
}

Json SignatureOf(const hr::Model& model, const std::string& name) {
  const Json described = Described(hr_model_describe, model.get());
  return FindSignature(described, SignatureFor(name, described));
}

}  // namespace

void AddMeasureOptions(CLI::App* app, MeasureOptions& options) {
  AddWord(app, "FILE", options.file, "graph file");
  AddText(app, "--signature", options.signature, "NAME", "what to run (infer, or the only one)");
  AddNumber(app, "--batch", options.feeds.batch, 1,
            "size of open first dimensions of inputs, and of others of the same name (1)");
  AddRepeated(app, "--shape", options.feeds.shapes, "NAME=1x28x28",
              "shape of an input (other open sizes: 1)");
  AddRepeated(app, "--input", options.feeds.inputs, "NAME=FILE.npy|random|zeros|NUMBER",
              "an input (random; a single number: 0)");
  AddNumber(app, "--seed", options.feeds.seed, 0, "of random inputs, and initial values (0)");
  AddNumber(app, "--threads", options.threads, 0, "threads that compute (0: all processors)");
  AddNumber(app, "--warm-up", options.warm_up, 1, "runs that do not count (3)");
  options.session.AddOptions(app);
}

std::string SignatureFor(const std::string& name, const Json& model) {
  if (!name.empty()) return name;
  const Json& all = model["signatures"];
  return all.size() == 1 ? all[0]["name"].get<std::string>() : "infer";
}

Measured::Measured(const MeasureOptions& options)
    : env_(options.threads),
      model_(hr::Model::load(env_, options.file)),
      signature_(SignatureOf(model_, options.signature)),
      feeds_(MakeFeeds(env_, signature_, WithDefaults(options.feeds, signature_), "random")),
      session_(model_, options.session.Options(options.feeds.seed)),
      call_(session_, signature_["name"].get<std::string>()),
      examples_(ExamplesOf(signature_, feeds_)) {
  for (const Feed& feed : feeds_) call_.bind(feed.name, feed.tensor);
}

int Measured::threads() const { return Described(hr_env_describe, env_.get())["threads"]; }

Json Measured::Report() const {
  Json inputs = Json::array();
  for (const Feed& feed : feeds_) {
    inputs.push_back(
        {{"name", feed.name}, {"type", TypeText(feed.tensor)}, {"source", feed.source}});
  }
  return {{"signature", signature_["name"]}, {"inputs", inputs}, {"threads", threads()}};
}

void Measured::Print() const {
  tool::Print("signature %s, %s\n", signature_["name"].get<std::string>().c_str(),
              CountText(static_cast<size_t>(threads()), "thread").c_str());
  for (const Feed& feed : feeds_) {
    tool::Print("  %s %s from %s\n", feed.name.c_str(), TypeText(feed.tensor).c_str(),
                feed.source.c_str());
  }
}

double Measured::MillisecondsOf(hr::Call& call) {
  auto begin = std::chrono::steady_clock::now();
  call.run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

Json Latency(std::vector<double> times) {
  const double total = std::accumulate(times.begin(), times.end(), 0.0);
  std::sort(times.begin(), times.end());
  return {{"runs", times.size()},
          {"min", times.front()},
          {"median", Percentile(times, 50)},
          {"p90", Percentile(times, 90)},
          {"p99", Percentile(times, 99)},
          {"max", times.back()},
          {"runs_per_second", static_cast<double>(times.size()) / total * 1000}};
}

void PrintLatency(const Json& latency) {
  Print("  min %.3f ms, median %.3f ms, p90 %.3f ms, p99 %.3f ms, max %.3f ms\n",
        latency["min"].get<double>(), latency["median"].get<double>(), latency["p90"].get<double>(),
        latency["p99"].get<double>(), latency["max"].get<double>());
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace headrace::tool
