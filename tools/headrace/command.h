// The subcommands. Each stands in a file of its own below commands/, adds itself to the program
// with one function, and is listed in main.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/headrace/flags.h"

namespace headrace::tool {

// Exit statuses.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;

struct Command {
  CLI::App* app;
  std::function<int()> run;  // gives the exit status; throws hr::Error, UsageError, Failure
};

Command AddInspect(CLI::App& program);
Command AddRun(CLI::App& program);
Command AddTrain(CLI::App& program);
Command AddConvert(CLI::App& program);
Command AddQuantize(CLI::App& program);
Command AddVerify(CLI::App& program);
Command AddDoctor(CLI::App& program);
Command AddBench(CLI::App& program);
Command AddProfile(CLI::App& program);
Command AddRoof(CLI::App& program);
// Below "headrace weights".
Command AddWeightsList(CLI::App& weights);
Command AddWeightsExport(CLI::App& weights);
Command AddWeightsImport(CLI::App& weights);
#ifdef HEADRACE_COMM
// `started`: the words behind "--".
Command AddLaunch(CLI::App& program, std::vector<std::string> started);
// Below "headrace comm".
Command AddCommBench(CLI::App& comm);
Command AddCommPlan(CLI::App& comm);
Command AddCommCalibrate(CLI::App& comm);
Command AddCommDump(CLI::App& comm);
#endif

}  // namespace headrace::tool
