// headrace bench: how long a signature takes, alone or against another build of the library.
#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>

#include "tools/headrace/child.h"
#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/measure.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kBenchDescription[] = "Measures how long a signature takes, and how much memory";
constexpr char kBenchFooter[] =
    "With --against, this library and another build of it (a file libheadrace.so, or its folder)\n"
    "run in turn, each in a process of its own.\n\n"
    "Examples:\n"
    "  headrace bench lenet.hrg --batch 64\n"
    "  headrace bench lenet.hrg --signature train --batch 64 --threads 1 --json -\n"
    "  headrace bench lenet.hrg --batch 64 --against ../before/build/lib";

constexpr int kSamples = 2000;  // of the bootstrap

struct BenchOptions {
  MeasureOptions measure;
  double seconds = 2;
  int64_t rounds = 15;
  std::string against;
  std::string json;
  bool side = false;
};

// The most memory that this process has had at one time.
int64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// The file that the library was loaded from.
std::string LibraryFile() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&hr_version_text), &info) == 0) return "";
  return std::filesystem::weakly_canonical(info.dli_fname).string();
}

int64_t ArenaBytes(hr::Call& call) {
  return Described(hr_call_describe, call.get()).value("arena_bytes", int64_t{0});
}

struct WarmedUp {
  double first = 0;  // milliseconds, with compiling
  double each = 0;   // the least afterwards
};

WarmedUp WarmUp(Measured& measured, int64_t runs) {
  WarmedUp out{.first = measured.Run()};
  out.each = out.first;
  for (int64_t i = 1; i < runs; ++i) out.each = std::min(out.each, measured.Run());
  return out;
}

std::vector<double> RunFor(Measured& measured, double seconds) {
  std::vector<double> times;
  for (double left = seconds * 1000; left > 0 || times.empty(); left -= times.back()) {
    times.push_back(measured.Run());
  }
  return times;
}

void AddMemory(Json& report, Measured& measured) {
  report["peak_memory_bytes"] = PeakBytes();
  report["arena_bytes"] = ArenaBytes(measured.call());
}

int Alone(const BenchOptions& options) {
  Measured measured(options.measure);
  if (options.json != "-") measured.Print();
  Json report = measured.Report();
  report["first_run_ms"] = WarmUp(measured, options.measure.warm_up).first;
  const Json latency = Latency(RunFor(measured, options.seconds));
  report["latency_ms"] = latency;
  const double runs_per_second = latency["runs_per_second"];
  const auto examples = static_cast<double>(measured.examples());
  if (examples != 0) report["examples_per_second"] = examples * runs_per_second;
  AddMemory(report, measured);
  if (!options.json.empty()) WriteJson(options.json, report);
  if (options.json == "-") return kOk;
  Print("first run %.3f ms, with compiling; then %s runs, %.1f a second",
        report["first_run_ms"].get<double>(), latency["runs"].dump().c_str(), runs_per_second);
  if (examples != 0) Print(", %.1f examples a second", examples * runs_per_second);
  Print("\n");
  PrintLatency(latency);
  Print("  peak memory of the process %s, working memory of the plan %s\n",
        BytesText(report["peak_memory_bytes"]).c_str(), BytesText(report["arena_bytes"]).c_str());
  return kOk;
}

// Answers each line, a number of seconds, with the times of as many runs as take them.
int Serve(const BenchOptions& options) {
  Measured measured(options.measure);
  Json hello = {{"library", LibraryFile()}, {"version", hr_version_text()}};
  hello["first_run_ms"] = WarmUp(measured, options.measure.warm_up).first;
  std::cout << hello.dump() << std::endl;
  for (double seconds; std::cin >> seconds;) {
    Json answer = {{"times", RunFor(measured, seconds)}};
    AddMemory(answer, measured);
    std::cout << answer.dump() << std::endl;
  }
  return kOk;
}

std::vector<std::string> SideArguments(const MeasureOptions& options) {
  std::vector<std::string> out = {"bench", options.file, "--side"};
  const auto add = [&](const std::string& name, const std::string& value) {
    out.push_back(name);
    out.push_back(value);
  };
  if (!options.signature.empty()) add("--signature", options.signature);
  if (options.feeds.batch != 0) add("--batch", std::to_string(options.feeds.batch));
  for (const std::string& shape : options.feeds.shapes) add("--shape", shape);
  for (const std::string& input : options.feeds.inputs) add("--input", input);
  add("--seed", std::to_string(options.feeds.seed));
  add("--threads", std::to_string(options.threads));
  add("--warm-up", std::to_string(options.warm_up));
  return out;
}

std::string LibraryAt(const std::string& path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(file)) file /= "libheadrace.so";
  std::error_code error;
  const std::string found = std::filesystem::canonical(file, error).string();
  if (error) throw Failure("there is no library '" + file.string() + "': " + error.message());
  return found;
}

// One build of the library, in a process of its own.
struct Side {
  // Of what the linker finds for this program if `library` is empty.
  Side(const BenchOptions& options, const std::string& library)
      : child(SideArguments(options.measure),
              library.empty() ? std::vector<std::string>()
                              : std::vector<std::string>{"LD_PRELOAD=" + library}),
        hello(Json::parse(child.Read())) {
    if (!library.empty() && hello["library"] != library) {
      throw Failure("'" + library + "' was not loaded, but " + hello["library"].dump() +
                    "; is it a libheadrace.so of the same interface?");
    }
  }

  double Round(double seconds) {
    last = Json::parse(child.Ask(std::to_string(seconds)));
    const auto round = last["times"].get<std::vector<double>>();
    times.insert(times.end(), round.begin(), round.end());
    return MedianOf(round);
  }

  Json Report() const {
    Json out = hello;
    out["latency_ms"] = Latency(times);
    out["peak_memory_bytes"] = last["peak_memory_bytes"];
    out["arena_bytes"] = last["arena_bytes"];
    return out;
  }

  Child child;
  Json hello;
  Json last;
  std::vector<double> times;
};

struct Interval {
  double middle, low, high;
};

// The median of the ratios and where it lies in nine of ten samples (a bootstrap with a fixed
// seed).
Interval IntervalOf(const std::vector<double>& ratios) {
  std::mt19937 draw(1);
  std::vector<double> medians;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<double> drawn;
    for (size_t i = 0; i < ratios.size(); ++i) drawn.push_back(ratios[draw() % ratios.size()]);
    medians.push_back(MedianOf(std::move(drawn)));
  }
  std::sort(medians.begin(), medians.end());
  return {MedianOf(ratios), medians[kSamples / 20], medians[kSamples - 1 - kSamples / 20]};
}

const char* Verdict(const Interval& interval) {
  if (interval.low > 1) return "this one is faster";
  if (interval.high < 1) return "this one is slower";
  return "no difference shows";
}

void PrintSide(const char* who, const Json& side) {
  Print("%s %s, %s\n", who, side["version"].get<std::string>().c_str(),
        side["library"].get<std::string>().c_str());
  PrintLatency(side["latency_ms"]);
  Print("  peak memory %s, working memory %s\n", BytesText(side["peak_memory_bytes"]).c_str(),
        BytesText(side["arena_bytes"]).c_str());
}

int Against(const BenchOptions& options) {
  Side other(options, LibraryAt(options.against));
  Side ours(options, "");
  const double seconds = options.seconds / static_cast<double>(options.rounds);
  std::vector<double> ratios;
  for (int64_t round = 0; round < options.rounds; ++round) {
    double mine = 0, theirs = 0;  // who starts changes
    if (round % 2 == 0) mine = ours.Round(seconds);
    theirs = other.Round(seconds);
    if (round % 2 != 0) mine = ours.Round(seconds);
    ratios.push_back(theirs / mine);
  }
  const Interval ratio = IntervalOf(ratios);
  Json report = {{"this", ours.Report()}, {"other", other.Report()}, {"rounds", options.rounds}};
  report["ratio"] = {{"median", ratio.middle}, {"low", ratio.low}, {"high", ratio.high}};
  report["verdict"] = Verdict(ratio);
  if (!options.json.empty()) WriteJson(options.json, report);
  if (options.json == "-") return kOk;
  PrintSide("this ", report["this"]);
  PrintSide("other", report["other"]);
  Print("%s rounds in turn: %.3f times as fast as the other (90 %%: %.3f to %.3f): %s\n",
        std::to_string(options.rounds).c_str(), ratio.middle, ratio.low, ratio.high,
        Verdict(ratio));
  return kOk;
}

int RunBench(const BenchOptions& options) {
  if (options.side) return Serve(options);
  return options.against.empty() ? Alone(options) : Against(options);
}

}  // namespace

Command AddBench(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* app = AddCommand(program, "bench", kBenchDescription, kBenchFooter);
  AddMeasureOptions(app, options->measure);
  AddSeconds(app, "--seconds", options->seconds, false, "how long to measure each library (2)");
  AddText(app, "--against", options->against, "LIBRARY", "another build to compare with");
  AddNumber(app, "--rounds", options->rounds, 3, "in which the two take turns (15)");
  AddText(app, "--json", options->json, "FILE",
          "write a report there; - is standard output, alone");
  AddFlag(app, "--side", options->side,
          "measure whenever standard input has a number of seconds: what --against starts");
  return {app, [options] { return RunBench(*options); }};
}

}  // namespace headrace::tool
