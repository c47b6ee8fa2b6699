// headrace profile: where the time of a run goes.
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/measure.h"
#include "tools/headrace/output.h"
#include "tools/headrace/profile_report.h"

namespace headrace::tool {
namespace {

constexpr char kDescription[] = "Shows where the time of a run goes, by kernels and nodes";
constexpr char kFooter[] =
    "GFLOP/s counts the multiplications and additions of products and convolutions as their sums\n"
    "say, so Winograd's algorithm may be above the roof; GB/s the operands of each step, so steps\n"
    "whose operands lie in caches may be. A trace is for https://ui.perfetto.dev or\n"
    "chrome://tracing.\n\n"
    "Examples:\n"
    "  headrace profile lenet.hrg --batch 64 --trace trace.json\n"
    "  headrace profile lenet.hrg --signature train --batch 64 --threads 1";

struct Options {
  MeasureOptions measure;
  int64_t runs = 20;
  uint64_t rows = 20;
  std::string trace;
  std::string json;
};

// Called and not pointed to, so that 'bench --against' starts with a library that lacks it.
Json ProfileOf(hr::Call& call) {
  hr_text* text;
  hr::check(hr_call_profile(call.get(), nullptr, &text));
  return Json::parse(hr::detail::take(text));
}

int Run(const Options& options) {
  Measured measured(options.measure);
  for (int64_t i = 0; i < options.measure.warm_up; ++i) measured.Run();
  std::vector<Json> profiles;
  for (int64_t i = 0; i < options.runs; ++i) {
    profiles.push_back(ProfileOf(measured.call()));
  }
  const Roof roof = MeasureRoof(measured.threads());
  const ProfileSum sum = SumUp(profiles);
  if (!options.trace.empty()) WriteJson(options.trace, TraceOf(sum.median));
  if (options.json != "-") {
    measured.Print();
    PrintProfile(sum, roof, options.rows);
  }
  if (options.json.empty()) return kOk;
  Json report = measured.Report();
  report.update(ProfileJson(sum, roof));
  WriteJson(options.json, report);
  return kOk;
}

}  // namespace

Command AddProfile(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = AddCommand(program, "profile", kDescription, kFooter);
  AddMeasureOptions(app, options->measure);
  AddNumber(app, "--runs", options->runs, 1, "runs to profile; times are their medians (20)");
  AddNumber(app, "--rows", options->rows, 1, "of the table of nodes (20)");
  AddText(app, "--trace", options->trace, "FILE", "write what the median run did, for Perfetto");
  AddText(app, "--json", options->json, "FILE",
          "write a report there; - is standard output, alone");
  return {app, [options] { return Run(*options); }};
}

}  // namespace headrace::tool
