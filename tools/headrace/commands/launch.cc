// headrace launch: starts the ranks of a program on this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/local_ranks.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kDescription[] =
    "Starts N processes of a program as the ranks of a group:\n"
    "  headrace launch [OPTIONS] -n N -- PROGRAM ARGUMENTS";
constexpr char kFooter[] =
    "The processes are told who they are by the variables that torchrun uses: RANK, WORLD_SIZE,\n"
    "LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RESTART_COUNT; and "
    "HEADRACE_STORE\n"
    "says where they meet, which hr_group_create reads. Each line of their output begins with the "
    "rank;\n"
    "with --no-prefix it is passed on as it is, for programs to read.\n"
    "Signals are passed on. When a rank fails, the others have --patience seconds to end by "
    "themselves,\n"
    "are then asked to (SIGTERM), and killed after another --patience; the last line says which "
    "rank was\n"
    "the first. Exit status: 0 when all ranks ended with 0, that of the first one that failed, 128 "
    "+ the\n"
    "signal that ended it, or 127 when the program cannot be started.\n\n"
    "Example:\n"
    "  headrace launch -n 4 --transport tcp -- ./train --epochs 3\n"
    "  headrace launch -n 4 --no-prefix -- headrace comm bench --json - | jq '.[].seconds'";

struct Options {
  int ranks = 0;
  std::vector<std::string> program;
  std::string transport;
  double patience = 3;
  bool standalone = false, quiet = false, prefixes = true;
};

// A folder that lives as long as this.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "headrace-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw Failure("cannot create a folder at " + path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A port of the loopback address that nobody has at the moment, for programs that look at
// MASTER_PORT themselves.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* general = reinterpret_cast<sockaddr*>(&address);
  const bool found =
      fd >= 0 && bind(fd, general, size) == 0 && getsockname(fd, general, &size) == 0;
  if (fd >= 0) close(fd);
  if (!found) throw Failure("cannot find a free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

// 'headrace' itself is found even if no PATH leads to it.
std::vector<std::string> Resolved(std::vector<std::string> program) {
  if (program[0] != "headrace") return program;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) program[0] = self.string();
  return program;
}

std::vector<std::string> Variables(const Options& options, int rank, int port,
                                   const std::string& folder) {
  const std::string number = std::to_string(rank), size = std::to_string(options.ranks);
  std::vector<std::string> variables = {
      "RANK=" + number,
      "WORLD_SIZE=" + size,
      "LOCAL_RANK=" + number,
      "LOCAL_WORLD_SIZE=" + size,
      "GROUP_RANK=0",
      "MASTER_ADDR=127.0.0.1",
      "MASTER_PORT=" + std::to_string(port),
      "TORCHELASTIC_RESTART_COUNT=0",
      "HEADRACE_STORE=file:" + folder,
  };
  if (!options.transport.empty()) variables.push_back("HEADRACE_TRANSPORT=" + options.transport);
  return variables;
}

int Run(const Options& options) {
  if (options.program.empty()) throw UsageError("there is no PROGRAM behind --");
  const ScratchFolder folder;
  const int port = FreePort();
  LocalRanks ranks(options.prefixes);
  try {
    ranks.Start(Resolved(options.program), options.ranks,
                [&](int rank) { return Variables(options, rank, port, folder.path()); });
  } catch (const Failure& failure) {
    std::fprintf(stderr, "headrace launch: %s\n", failure.what());
    return 127;
  }
  if (!options.quiet) {
    std::fprintf(stderr, "headrace launch: %s of %s on this machine, meeting at file:%s\n",
                 CountText(static_cast<size_t>(options.ranks), "rank").c_str(),
                 options.program[0].c_str(), folder.path().c_str());
  }
  const auto patience = std::chrono::milliseconds(static_cast<int64_t>(options.patience * 1000));
  const RanksEnd end = ranks.Watch(patience);
  if (!end.cause.empty()) std::fprintf(stderr, "headrace launch: %s\n", end.cause.c_str());
  return end.status;
}

}  // namespace

Command AddLaunch(CLI::App& program, std::vector<std::string> started) {
  auto options = std::make_shared<Options>();
  options->program = std::move(started);
  CLI::App* app = AddCommand(program, "launch", kDescription, kFooter);
  Require(AddNumber(app, "-n,--ranks", options->ranks, 1, "how many processes"));
  AddFlag(app, "--standalone", options->standalone, "on this machine alone (always so, for now)");
  AddText(app, "--transport", options->transport, "NAME,…",
          "for groups that name none: auto, shm, tcp, … (sets HEADRACE_TRANSPORT)");
  AddSeconds(app, "--patience", options->patience, true,
             "seconds for ranks to end by themselves (3)");
  AddFlag(app, "!--no-prefix", options->prefixes,
          "output as it is, without the rank before each line");
  AddFlag(app, "--quiet", options->quiet, "do not say what is started");
  return {app, [options] { return Run(*options); }};
}

}  // namespace headrace::tool
