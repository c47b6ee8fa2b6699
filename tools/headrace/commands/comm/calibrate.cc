// headrace comm calibrate: what communication costs here, for the choice of algorithms.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "tools/headrace/comm_groups.h"
#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kCommCalibrateDescription[] =
    "Measures what communication costs here, for the groups created from now on";
constexpr char kCommCalibrateFooter[] =
    "Takes some seconds, on a machine that does nothing else. Alone, it measures between two "
    "threads;\n"
    "started by a launcher, between rank 0 and the last one, so that what lies between two hosts "
    "is\n"
    "measured (rank 0 writes). The file is the one that hr_group_options.calibration describes; "
    "of a\n"
    "group's ranks, that of rank 0 counts.\n\n"
    "Example:\n"
    "  headrace comm calibrate && headrace comm plan";

constexpr uint64_t kSmall = 4, kLarge = 1 << 20;  // bytes
constexpr int kBatches = 21;

const std::set<std::string> kKnown = {"inproc", "shm", "ucx", "tcp"};
const std::vector<std::string> kAlone = {"inproc", "shm", "tcp"}, kLaunched = {"tcp"};

struct CommCalibrateOptions {
  std::vector<std::string> transports;
  std::string output;
};

// Of two ranks, each one of `groups` or in another process.
class Meter {
 public:
  explicit Meter(std::vector<hr::Group>& groups) : groups_(groups) {}

  // The median of several batches, on the first rank here.
  double Seconds(hr_operation_kind kind, uint64_t bytes) {
    std::vector<std::thread> others;
    for (size_t i = 1; i < groups_.size(); ++i) {
      others.emplace_back([&, i] { Measure(groups_[i], kind, bytes); });
    }
    const double seconds = Measure(groups_[0], kind, bytes);
    for (std::thread& other : others) other.join();
    return seconds;
  }

 private:
  static double Measure(const hr::Group& group, hr_operation_kind kind, uint64_t bytes) {
    std::vector<float> input(bytes / sizeof(float)), output(2 * input.size());
    auto operation = Sized<hr_operation>();
    operation.kind = kind;
    operation.dtype = kind == HR_OPERATION_BARRIER ? HR_UINT8 : HR_FLOAT32;
    operation.count = kind == HR_OPERATION_BARRIER ? 0 : input.size();
    operation.input = input.data();
    operation.output = output.data();
    const int each = bytes == kSmall ? 500 : 10;
    std::vector<double> batches;
    for (int batch = 0; batch <= kBatches; ++batch) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < each; ++i) hr::check(hr_group_run(group.get(), &operation, nullptr));
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      if (batch > 0) batches.push_back(taken.count() / each);
    }
    std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
    return batches[kBatches / 2];
  }

  std::vector<hr::Group>& groups_;
};

// The two ranks among which is measured; none if this process is not one of them.
std::vector<hr::Group> Pair(const hr::Env& env, const std::string& transport,
                            const std::string& pins, std::vector<hr::Group>& all) {
  const std::string name = "calibrate-" + transport + "-" + pins;
  auto options = Sized<hr_group_options>();
  options.name = name.c_str();
  options.transport = transport.c_str();
  options.algorithms = pins.c_str();
  options.calibration = "";
  all = JoinOrMake(env, options, 2);
  std::vector<hr::Group> pair;
  if (all.size() > 1) {
    for (hr::Group& group : all) pair.push_back(std::move(group));
    all.clear();
    return pair;
  }
  hr::Group& group = all[0];
  const bool measures = group.rank() == 0 || group.rank() + 1 == group.size();
  hr::Group part = group.split(measures ? 0 : -1);
  if (measures) pair.push_back(std::move(part));
  return pair;
}

// More than nothing, whatever the noise.
double Positive(double seconds) { return std::max(seconds, 1e-13); }

std::string Line(const std::string& name, std::initializer_list<double> values) {
  std::string line = name;
  for (double value : values) {
    char text[40];
    std::snprintf(text, sizeof text, " %.3e", value);
    line += text;
  }
  return line + "\n";
}

// Runs `measure` on the pair and returns its lines; every rank waits for the end.
template <typename Measure>
std::string OnPair(const hr::Env& env, const std::string& transport, const std::string& pins,
                   Measure measure) {
  std::vector<hr::Group> all;
  std::vector<hr::Group> pair = Pair(env, transport, pins, all);
  std::string lines;
  if (!pair.empty()) lines = measure(Meter(pair));
  if (!all.empty()) all[0].barrier();
  return lines;
}

// Two ranks' ring sends and receives the whole once; doubling reduces it besides.
std::string MeasureLink(const hr::Env& env, const std::string& transport, double& reduce) {
  return OnPair(env, transport, "all_gather=ring,all_reduce=recursive_doubling", [&](Meter meter) {
    const double latency = meter.Seconds(HR_OPERATION_ALL_GATHER, kSmall);
    const double large = meter.Seconds(HR_OPERATION_ALL_GATHER, kLarge);
    const double reduced = meter.Seconds(HR_OPERATION_ALL_REDUCE, kLarge);
    // Noise hides it least if messages are quick.
    const double per_reduced = (reduced - large) / static_cast<double>(kLarge);
    if (reduce <= 0 && (transport == "inproc" || transport == "shm")) reduce = per_reduced;
    const double per_byte = (large - latency) / static_cast<double>(kLarge);
    return Line("link " + transport, {Positive(latency), Positive(per_byte)});
  });
}

// The first wait, and half of the sum to reduce, are no copies.
std::string MeasureShared(const hr::Env& env, double reduce) {
  return OnPair(env, "shm", "barrier=shared,all_reduce=shared", [&](Meter meter) {
    const double latency = meter.Seconds(HR_OPERATION_BARRIER, kSmall);
    const double large = meter.Seconds(HR_OPERATION_ALL_REDUCE, kLarge);
    const double per_byte = (large - 2 * latency) / static_cast<double>(kLarge) - reduce / 2;
    return Line("shared", {Positive(latency), Positive(per_byte)});
  });
}

// What a line says, without its numbers: "link tcp", "reduce".
std::string Subject(const std::string& line) {
  std::istringstream words(line);
  std::string first, second;
  words >> first >> second;
  return first == "link" ? first + " " + second : first;
}

// `measured`, and what a file of this machine says besides that makes sense.
std::string WithTheRest(const std::string& path, const std::string& head,
                        const std::string& measured) {
  std::ifstream file(path);
  std::string line, before, rest;
  const std::regex sound("(link [a-z]+|shared|reduce)( [0-9.]+e[-+][0-9]+)+");
  std::set<std::string> subjects;
  for (std::istringstream lines(measured); std::getline(lines, line);) {
    subjects.insert(Subject(line));
  }
  for (int number = 0; std::getline(file, line); ++number) {
    if (number < 2) before += line + "\n";
    const bool kept = std::regex_match(line, sound) && subjects.count(Subject(line)) == 0;
    if (number >= 2 && kept) rest += line + "\n";
  }
  return head + (before == head ? rest : "") + measured + "end\n";
}

void WriteTo(const std::string& path, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const std::string fresh = path + ".new";
  std::ofstream file(fresh);
  file << text;
  file.close();
  if (file) std::filesystem::rename(fresh, path, error);
  if (!file || error) throw Failure("cannot write '" + path + "'");
}

// Where groups look for it, and what they call this machine.
Json Place(const hr::Env& env) {
  auto options = Sized<hr_group_options>();
  options.name = "calibration";
  options.size = 1;
  return Json::parse(hr::Group(env, options).describe())["calibration"];
}

int RunCommCalibrate(const CommCalibrateOptions& options) {
  hr::Env env;
  const Json place = Place(env);
  const std::string path =
      options.output.empty() ? place["place"].get<std::string>() : options.output;
  if (path.empty()) {
    throw UsageError("there is no home folder; name a file with --output FILE");
  }
  const std::string head =
      "headrace calibration 1\nmachine " + place["machine"].get<std::string>() + "\n";
  hr_launch* launch;
  hr::check(hr_launch_from_environment(&launch));
  const bool writes = hr_launch_rank(launch) == 0, alone = hr_launch_size(launch) < 2;
  hr_launch_release(launch);
  std::vector<std::string> transports = options.transports;
  if (transports.empty()) transports = alone ? kAlone : kLaunched;
  for (const std::string& transport : transports) {
    if (kKnown.count(transport)) continue;
    throw UsageError("--transport: expected inproc, shm, ucx or tcp, got " + transport);
  }
  double reduce = 0;
  std::string measured;
  for (const std::string& transport : transports) {
    measured += MeasureLink(env, transport, reduce);
    if (transport == "shm") measured += MeasureShared(env, reduce);
  }
  // Through sockets, the noise would hide it.
  if (reduce > 0) measured += Line("reduce", {reduce});
  if (!writes) return kOk;
  const std::string text = WithTheRest(path, head, measured);
  WriteTo(path, text);
  Print("%s\n%s", path.c_str(), text.c_str());
  return kOk;
}

}  // namespace

Command AddCommCalibrate(CLI::App& comm) {
  auto options = std::make_shared<CommCalibrateOptions>();
  CLI::App* app = AddCommand(comm, "calibrate", kCommCalibrateDescription, kCommCalibrateFooter);
  AddList(app, "--transport", options->transports, "NAME,…",
          "to measure (inproc,shm,tcp; by a launcher: tcp)");
  AddText(app, "--output", options->output, "FILE", "where to write (where groups look)");
  return {app, [options] { return RunCommCalibrate(*options); }};
}

}  // namespace headrace::tool
