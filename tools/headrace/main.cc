// headrace: one program, a subcommand for each thing to do with graph files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/library.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kFooter[] =
    "Exit status: 0 done, 1 failed (one line on standard error says why), 2 the command line "
    "makes\n"
    "no sense. 'headrace COMMAND --help' explains a command, with an example.";

// One line; lists have a line for each item.
int Fail(const std::string& who, std::string text, int status) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && text.compare(i, 3, "\n- ") != 0) text[i] = ' ';
  }
  std::fprintf(stderr, "%s: %s\n", who.c_str(), text.c_str());
  return status;
}

// "headrace comm bench", as the user called it.
std::string FullName(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : FullName(parent) + " " + app->get_name();
}

int RunCommand(const Command& command) {
  const std::string name = FullName(command.app);
  try {
    int status = command.run();
    FinishOutput();
    return status;
  } catch (const UsageError& error) {
    return Fail(name, std::string(error.what()) + "; see " + name + " --help", kUsage);
  } catch (const hr::Error& error) {
    return Fail(name, error.message(), kFailure);
  } catch (const std::exception& error) {
    return Fail(name, error.what(), kFailure);
  }
}

// The innermost command that was called.
const CLI::App* Called(const CLI::App* app) {
  const auto below = app->get_subcommands();
  return below.empty() ? app : Called(below.front());
}

// Returns what is wrong with the first word that is neither a command nor an option; "" if there is
// none. CLI11 would only say that a command is required.
std::string UnknownCommand(const CLI::App& program, char** words) {
  const auto commands = program.get_subcommands(nullptr);
  if (commands.empty() || *words == nullptr || **words == '-') return "";
  std::string known;
  for (const CLI::App* command : commands) {
    if (command->get_name() == *words) return UnknownCommand(*command, words + 1);
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return "there is no command '" + std::string(*words) + "'; there are: " + known;
}

// Removes the words behind "--" and returns them. They are for a program that is started; CLI11
// would split them if they have brackets.
[[maybe_unused]] std::vector<std::string> WordsBehind(int& argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](std::string_view w) { return w == "--"; });
  if (dashes == end) return {};
  argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

int Main(int argc, char** argv) {
  CLI::App program(
      "Headrace: looks at, checks, runs and trains graph files (.hrg); starts and measures groups "
      "of "
      "processes.",
      "headrace");
  program.footer(kFooter);
  program.require_subcommand(1);
  program.set_version_flag("--version", hr_version_text());
  std::vector<Command> commands = {
      AddInspect(program), AddRun(program),    AddBench(program),   AddProfile(program),
      AddTrain(program),   AddVerify(program), AddConvert(program), AddQuantize(program),
      AddDoctor(program),  AddRoof(program),
  };
  CLI::App* weights = program.add_subcommand("weights", "Lists, writes and reads weights");
  weights->require_subcommand(1);
  for (auto add : {AddWeightsList, AddWeightsExport, AddWeightsImport})
    commands.push_back(add(*weights));
#ifdef HEADRACE_COMM
  CLI::App* comm = program.add_subcommand("comm", "Measures, plans and explains communication");
  comm->require_subcommand(1);
  for (auto add : {AddCommBench, AddCommPlan, AddCommCalibrate, AddCommDump})
    commands.push_back(add(*comm));
  std::vector<std::string> started;
  if (argc > 1 && argv[1] == std::string_view("launch")) started = WordsBehind(argc, argv);
  commands.push_back(AddLaunch(program, std::move(started)));
#endif
  const std::string problem = UnknownCommand(program, argv + 1);
  if (!problem.empty()) return Fail("headrace", problem, kUsage);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    program.exit(asked);
    FinishOutput();
    return kOk;
  } catch (const CLI::ParseError& error) {
    const std::string name = FullName(Called(&program));
    return Fail(name, std::string(error.what()) + "; see " + name + " --help", kUsage);
  }
  for (const Command& command : commands) {
    if (*command.app) return RunCommand(command);
  }
  return kUsage;
}

}  // namespace
}  // namespace headrace::tool

int main(int argc, char** argv) {
  try {
    return headrace::tool::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headrace: %s\n", error.what());
    return headrace::tool::kFailure;
  }
}
