// headrace: one program, a subcommand for each thing to do with graph files.
#include <cstdio>
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

// One line, whatever the text holds.
int Fail(const std::string& who, std::string text, int status) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  std::fprintf(stderr, "%s: %s\n", who.c_str(), text.c_str());
  return status;
}

int RunCommand(const Command& command) {
  std::string name = "headrace " + command.app->get_name();
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

// CLI11 would only say that a command is required.
std::string UnknownCommand(const CLI::App& program, const std::string& word) {
  std::string known;
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    if (command->get_name() == word) return "";
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return "there is no command '" + word + "'; there are: " + known;
}

int Main(int argc, char** argv) {
  CLI::App program("Headrace: looks at, checks, runs and trains graph files (.hrg).", "headrace");
  program.footer(kFooter);
  program.require_subcommand(1);
  program.set_version_flag("--version", hr_version_text());
  const std::vector<Command> commands = {
      AddInspect(program), AddRun(program),    AddTrain(program),
      AddVerify(program),  AddDoctor(program),
  };
  if (argc > 1 && argv[1][0] != '-') {
    std::string problem = UnknownCommand(program, argv[1]);
    if (!problem.empty()) return Fail("headrace", problem, kUsage);
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    program.exit(asked);
    FinishOutput();
    return kOk;
  } catch (const CLI::ParseError& error) {
    std::string name = "headrace";
    for (const CLI::App* command : program.get_subcommands()) name += " " + command->get_name();
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
