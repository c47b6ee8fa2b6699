// The subcommands. Each stands in a file of its own below commands/, adds itself to the program
// with one function, and is listed in main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace headrace::tool {

// Exit statuses.
inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;

struct Command {
  CLI::App* app;
  std::function<int()> run;  // gives the exit status; throws hr::Error, UsageError, Failure
};

// An option that may be given several times, one value each.
inline CLI::Option* AddRepeated(CLI::App* app, const std::string& name,
                                std::vector<std::string>& values, const std::string& help) {
  return app->add_option(name, values, help)->allow_extra_args(false);
}

Command AddInspect(CLI::App& program);
Command AddRun(CLI::App& program);
Command AddTrain(CLI::App& program);
Command AddVerify(CLI::App& program);
Command AddDoctor(CLI::App& program);
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
