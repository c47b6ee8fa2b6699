// headrace roof: what this machine can do at most.
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/costs.h"
#include "tools/headrace/output.h"
#include "tools/headrace/roof.h"

namespace headrace::tool {
namespace {

constexpr char kRoofDescription[] = "Measures what this machine can compute and copy at most";
constexpr char kRoofFooter[] =
    "The best of several attempts: float32 multiplications and additions a second in registers\n"
    "(of vectors, or of matrix units that take six products of bfloat16 for one of float32), and\n"
    "bytes a second, read and written, of copies that fit no cache.\n\n"
    "Example:\n"
    "  headrace roof --threads 2\n"
    "  headrace roof --costs costs.txt";

struct RoofOptions {
  int threads = 1;
  std::string json;
  std::string costs;
};

int RunRoof(const RoofOptions& options) {
  if (!options.costs.empty()) {
    MeasureCosts(options.costs);
    return kOk;
  }
  const Roof roof = MeasureRoof(options.threads);
  if (options.json != "-") {
    Print("%s: %.1f GFLOP/s, %.1f GB/s\n",
          CountText(static_cast<size_t>(options.threads), "thread").c_str(), roof.operations / 1e9,
          roof.bytes / 1e9);
  }
  if (!options.json.empty()) {
    WriteJson(
        options.json,
        {{"threads", options.threads}, {"operations", roof.operations}, {"bytes", roof.bytes}});
  }
  return kOk;
}

}  // namespace

Command AddRoof(CLI::App& program) {
  auto options = std::make_shared<RoofOptions>();
  CLI::App* app = AddCommand(program, "roof", kRoofDescription, kRoofFooter);
  AddNumber(app, "--threads", options->threads, 1, "at once (1)");
  AddText(app, "--json", options->json, "FILE",
          "write a report there; - is standard output, alone");
  AddText(app, "--costs", options->costs, "FILE",
          "measure what convolutions cost here instead, and write the table that\n"
          "programs choose layouts and kernels by (hr_env_options.cost_table, HEADRACE_COSTS)");
  return {app, [options] { return RunRoof(*options); }};
}

}  // namespace headrace::tool
