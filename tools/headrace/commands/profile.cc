// headrace profile: where the time of a run goes.
#include <memory>

#include "tools/headrace/command.h"
#ifdef HEADRACE_COMM
#include "tools/headrace/comm_profile.h"
#endif
#include "tools/headrace/measure.h"
#include "tools/headrace/output.h"
#include "tools/headrace/profile_report.h"

namespace headrace::tool {
namespace {

constexpr char kProfileDescription[] = "Shows where the time of a run goes, by kernels and nodes";
constexpr char kProfileFooter[] =
    "GFLOP/s counts the multiplications and additions of products and convolutions as their sums\n"
    "say, so Winograd's algorithm may be above the roof; GB/s the operands of each step, so steps\n"
    "whose operands lie in caches may be. A trace is for https://ui.perfetto.dev or\n"
    "chrome://tracing.\n\n"
    "Started by 'headrace launch', the ranks run together, and rank 0 says who waits for whom; "
    "the\n"
    "trace has all ranks on one clock.\n\n"
    "Examples:\n"
    "  headrace profile lenet.hrg --batch 64 --trace trace.json\n"
    "  headrace profile lenet.hrg --signature train --batch 64 --threads 1\n"
    "  headrace launch -n 2 -- headrace profile mirrored.hrg --signature train --threads 1";

struct ProfileOptions {
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

std::vector<Json> ProfilesOf(Measured& measured, const ProfileOptions& options) {
  for (int64_t i = 0; i < options.measure.warm_up; ++i) measured.Run();
  std::vector<Json> profiles;
  for (int64_t i = 0; i < options.runs; ++i) {
    profiles.push_back(ProfileOf(measured.call()));
  }
  return profiles;
}

// The report; what is printed of this process's runs.
Json ReportOn(const Measured& measured, const std::vector<Json>& profiles,
              const ProfileOptions& options) {
  const Roof roof = MeasureRoof(measured.threads());
  const ProfileSum sum = SumUp(profiles);
  if (options.json != "-") {
    measured.Print();
    PrintProfile(sum, roof, options.rows);
  }
  Json report = measured.Report();
  report.update(ProfileJson(sum, roof));
  return report;
}

#ifdef HEADRACE_COMM
// Of all ranks, told by rank 0.
int RunOnRank(Measured& measured, ProfiledRanks& group, const ProfileOptions& options) {
  const std::vector<RankRuns> ranks = group.Gather(ProfilesOf(measured, options));
  if (!group.is_first()) return kOk;
  if (!options.trace.empty()) WriteJson(options.trace, TraceOfRanks(ranks));
  Json report = ReportOn(measured, ranks[0].runs, options);
  if (options.json != "-") PrintRanks(ranks);
  report["ranks"] = RanksJson(ranks);
  if (!options.json.empty()) WriteJson(options.json, report);
  return kOk;
}
#endif

int RunProfile(const ProfileOptions& options) {
  Measured measured(options.measure);
#ifdef HEADRACE_COMM
  if (auto group = ProfiledRanks::Join(measured)) return RunOnRank(measured, *group, options);
#endif
  const std::vector<Json> profiles = ProfilesOf(measured, options);
  if (!options.trace.empty()) WriteJson(options.trace, TraceOf(SumUp(profiles).median));
  const Json report = ReportOn(measured, profiles, options);
  if (!options.json.empty()) WriteJson(options.json, report);
  return kOk;
}

}  // namespace

Command AddProfile(CLI::App& program) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* app = AddCommand(program, "profile", kProfileDescription, kProfileFooter);
  AddMeasureOptions(app, options->measure);
  AddNumber(app, "--runs", options->runs, 1, "runs to profile; times are their medians (20)");
  AddNumber(app, "--rows", options->rows, 1, "of the table of nodes (20)");
  AddText(app, "--trace", options->trace, "FILE", "write what the median run did, for Perfetto");
  AddText(app, "--json", options->json, "FILE",
          "write a report there; - is standard output, alone");
  return {app, [options] { return RunProfile(*options); }};
}

}  // namespace headrace::tool
