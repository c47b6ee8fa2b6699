// headrace comm plan: which algorithm carries out which operation, and what it would cost.
#include <memory>

#include "tools/headrace/comm_groups.h"
#include "tools/headrace/comm_options.h"
#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kCommPlanDescription[] =
    "Shows the algorithm for each operation and size, and its cost";
constexpr char kCommPlanFooter[] =
    R"(The cost model is that of this machine and the given transport. Started by a launcher, the group of
its ranks is shown (rank 0 prints); else -n ranks are made of threads. Times are what the model
expects, in microseconds; 'headrace comm bench' measures.

Example:
  headrace comm plan -n 4 --transport tcp --op all_reduce,broadcast)";

struct CommPlanOptions {
  int32_t ranks = 2;
  CommOptions comm{.operations = {"all_reduce", "broadcast", "reduce", "all_gather",
                                  "reduce_scatter", "all_to_all"}};
  std::string json;
};

std::string EstimatesText(const Json& estimates) {
  std::string text;
  for (const Json& estimate : estimates) {
    char one[80];
    std::snprintf(one, sizeof one, "%s%s %.1f", text.empty() ? "" : ", ",
                  estimate["algorithm"].get<std::string>().c_str(),
                  estimate["seconds"].get<double>() * 1e6);
    text += one;
  }
  return text;
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string SourceText(const Json& calibration) {
  const std::string place = calibration["place"], trouble = calibration["trouble"];
  if (calibration["source"] == "file") return "measured on this machine: " + place;
  if (!trouble.empty()) return trouble;
  return "as on usual machines; 'headrace comm calibrate' measures this one";
}

void PrintPlans(const Json& report) {
  const Json& cost = report["cost_model"];
  Print("%d ranks\ncost model", report["ranks"].get<int>());
  for (const auto& [name, value] : cost.items()) {
    const std::string text = value.is_boolean() ? value.dump() : Number(value.get<double>());
    Print("%s %s %s", name == cost.begin().key() ? "" : ",", name.c_str(), text.c_str());
  }
  Print("\n%s\n\n", SourceText(report["calibration"]).c_str());
  std::vector<std::vector<std::string>> rows = {{"operation", "bytes", "algorithm", "expected us"}};
  for (const Json& plan : report["plans"]) {
    std::string algorithm = plan["algorithm"];
    if (plan["pinned"]) algorithm += " (pinned)";
    rows.push_back(
        {plan["operation"], Grouped(plan["bytes"]), algorithm, EstimatesText(plan["estimates"])});
  }
  PrintTable(rows, 0);
}

int RunCommPlan(const CommPlanOptions& options) {
  const std::vector<uint64_t> sizes = options.comm.sizes.Sizes();
  const hr_dtype dtype = DTypeNamed(options.comm.dtype);
  std::vector<hr_operation_kind> kinds;
  for (const std::string& name : options.comm.operations) kinds.push_back(OperationNamed(name));
  hr::Env env;
  std::vector<hr::Group> groups = JoinOrMake(env, options.comm.Group(), options.ranks);
  hr::Group& group = groups.front();
  const Json described = Json::parse(group.describe());
  Json report = {{"ranks", group.size()},
                 {"cost_model", described["cost_model"]},
                 {"calibration", described["calibration"]},
                 {"plans", Json::array()}};
  for (hr_operation_kind kind : kinds) {
    for (uint64_t size : sizes) {
      hr_operation operation = OperationOf(kind, dtype, size, group.size());
      Json plan = Described(hr_group_explain, group.get(), &operation);
      plan["operation"] = OperationName(kind);
      plan["bytes"] = BytesOf(operation, group.size());
      report["plans"].push_back(plan);
    }
  }
  if (groups.size() > 1 || group.rank() == 0) {
    options.json != "-" ? PrintPlans(report) : void();
    if (!options.json.empty()) WriteJson(options.json, report);
  }
  if (groups.size() == 1) group.barrier();
  return kOk;
}

}  // namespace

Command AddCommPlan(CLI::App& comm) {
  auto options = std::make_shared<CommPlanOptions>();
  CLI::App* app = AddCommand(comm, "plan", kCommPlanDescription, kCommPlanFooter);
  AddNumber(app, "-n,--ranks", options->ranks, 1, "ranks, if there is no launcher (2)");
  options->comm.AddOptions(app, "operations (all that have a choice)");
  AddText(app, "--json", options->json, "FILE",
          "write the plans there; - is standard output, alone");
  return {app, [options] { return RunCommPlan(*options); }};
}

}  // namespace headrace::tool
