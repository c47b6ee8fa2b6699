// headrace launch: starts the ranks of a program on this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/library.h"
#include "tools/headrace/local_ranks.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kLaunchDescription[] =
    "Starts N processes of a program as the ranks of a group:\n"
    "  headrace launch [OPTIONS] -n N -- PROGRAM ARGUMENTS";
constexpr char kLaunchFooter[] =
    "The processes are told who they are by the variables that torchrun uses: RANK, WORLD_SIZE,\n"
    "LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RESTART_COUNT,\n"
    "TORCHELASTIC_MAX_RESTARTS; and HEADRACE_STORE says where they meet, which hr_group_create\n"
    "reads. Each line of their output begins with the rank; with --no-prefix it is passed on as\n"
    "it is, for programs to read.\n"
    "Signals are passed on. When a rank fails, the others have --patience seconds to end by\n"
    "themselves, are then asked to (SIGTERM), and killed after another --patience; the last line\n"
    "says which rank was the first. Exit status: 0 when all ranks ended with 0, that of the first\n"
    "one that failed, 128 + the signal that ended it, or 127 when the program cannot be started.\n"
    "With --max-restarts N all ranks begin anew when one has failed, N times at most. The others\n"
    "are then asked to end at once, and each start meets at another place. SIGINT, SIGTERM and\n"
    "SIGHUP end everything, without a restart.\n"
    "With --elastic MIN:MAX a rank that fails does not end the others, as long as there are MIN.\n"
    "With --max-restarts N too, a new process takes its place, N times at most, and joins them.\n"
    "The program has to be able to: hr_train with elastic_group is. HEADRACE_ELASTIC tells it the\n"
    "bounds; HEADRACE_JOIN is 1 for a new process, which joins the others, else 0; and\n"
    "HEADRACE_LOSSES is a file that says which ranks were lost, for hr_group_create. The exit\n"
    "status is 0 if ranks ended well.\n\n"
    "Examples:\n"
    "  headrace launch -n 4 --transport tcp -- ./train --epochs 3\n"
    "  headrace launch -n 4 --max-restarts 3 -- ./train --epochs 3\n"
    "  headrace launch --elastic 2:4 --max-restarts 3 -- ./train --epochs 3\n"
    "  headrace launch -n 4 --no-prefix -- headrace comm bench --json - | jq '.[].seconds'";

struct LaunchOptions {
  int ranks = 0;
  std::vector<std::string> program, words;  // behind "--", and before it
  std::string transport;
  double patience = 3;
  int max_restarts = 0;
  std::string elastic;  // MIN:MAX
  int min_ranks = 0;    // 0: it is not elastic
  bool standalone = false, quiet = false, no_prefix = false;
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

bool IsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool out = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (fd >= 0) close(fd);
  return out;
}

// Ports that nobody has at the moment, for programs that look at MASTER_PORT themselves. They
// listen there later, so it is none of those that the system gives to the connections of other
// processes meanwhile, which begin at 32768 unless it is told otherwise. Launchers that are started
// together begin at different ports.
class FreePorts {
 public:
  int Next() {
    for (int i = 0; i < kTries; ++i) {
      const int port = kFirst + (getpid() + kStep * tried_++) % kCount;
      if (IsFree(port)) return port;
    }
    throw Failure("cannot find a free port for MASTER_PORT: " + std::to_string(kTries) + " of " +
                  std::to_string(kFirst) + " to " + std::to_string(kFirst + kCount - 1) +
                  " are taken");
  }

 private:
  static constexpr int kFirst = 12000, kCount = 20000, kStep = 499, kTries = 1000;
  int tried_ = 0;
};

// 'headrace' itself is found even if no PATH leads to it.
std::vector<std::string> Resolved(std::vector<std::string> program) {
  if (program[0] != "headrace") return program;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) program[0] = self.string();
  return program;
}

// What the ranks of one start share, none of it with an earlier start.
struct Meeting {
  const ScratchFolder folder;
  const int port, restarts;

  // The file in which an elastic job finds which ranks it has lost.
  std::string losses() const { return folder.path() + "/losses"; }
};

// Writes the file anew, so that whoever reads it gets the lines whole.
void WriteLosses(const Meeting& meeting, const std::string& lines) {
  const std::string path = meeting.losses(), fresh = path + ".new";
  std::ofstream file(fresh);
  file << lines << std::flush;
  std::error_code error;
  if (file) std::filesystem::rename(fresh, path, error);
  if (!file || error) throw Failure("cannot write " + path);
}

// `joins`: the process is to join the others, who have gone on without its rank.
std::vector<std::string> Variables(const LaunchOptions& options, int rank, const Meeting& meeting,
                                   bool joins = false) {
  const std::string number = std::to_string(rank), size = std::to_string(options.ranks);
  std::vector<std::string> variables = {
      "RANK=" + number,
      "WORLD_SIZE=" + size,
      "LOCAL_RANK=" + number,
      "LOCAL_WORLD_SIZE=" + size,
      "GROUP_RANK=0",
      "MASTER_ADDR=127.0.0.1",
      "MASTER_PORT=" + std::to_string(meeting.port),
      "TORCHELASTIC_RESTART_COUNT=" + std::to_string(meeting.restarts),
      "TORCHELASTIC_MAX_RESTARTS=" + std::to_string(options.max_restarts),
      "HEADRACE_STORE=file:" + meeting.folder.path(),
  };
  if (!options.transport.empty()) variables.push_back("HEADRACE_TRANSPORT=" + options.transport);
  if (!options.elastic.empty()) {
    variables.push_back("HEADRACE_ELASTIC=" + options.elastic);
    variables.push_back(joins ? "HEADRACE_JOIN=1" : "HEADRACE_JOIN=0");
    variables.push_back("HEADRACE_LOSSES=" + meeting.losses());
  }
  return variables;
}

void Say(const std::string& text) { std::fprintf(stderr, "headrace launch: %s\n", text.c_str()); }

// Those of a start that another one may follow are asked to end at once.
Patience PatienceOf(const LaunchOptions& options, bool is_last) {
  const auto all = std::chrono::milliseconds(static_cast<int64_t>(options.patience * 1000));
  return {is_last ? all : std::chrono::milliseconds(0), all};
}

// Notices a failure that each start of a process ends with.
class Repeats {
 public:
  void Note(const RankFailure& failure) {
    if (starts_ > 0 && failure.cause != cause_) differs_ = true;
    cause_ = failure.cause;
    longest_ = std::max(longest_, failure.seconds);
    ++starts_;
  }
  // What to say behind the last failure; empty if another start may end otherwise.
  std::string Text() const {
    if (starts_ < 2 || differs_ || longest_ > kSoon) return "";
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.1f s", std::max(longest_, 0.1));
    return "; each of " + std::to_string(starts_) + " starts ended so within " + seconds +
           ": restarts do not help against this error";
  }

 private:
  static constexpr double kSoon = 10;  // seconds, in which programs load and hardly work
  std::string cause_;
  int starts_ = 0;
  bool differs_ = false;
  double longest_ = 0;
};

// The ranks that an elastic job loses.
class Losses {
 public:
  Losses(const LaunchOptions& options, LocalRanks& ranks, const Meeting& meeting)
      : options_(options), ranks_(ranks), meeting_(meeting) {}

  // A rank that fails once another has ended well was waiting to join, or fails by itself.
  bool Survive(const RankFailure& failure) {
    if (ranks_.any_ended_well()) return joined(failure.rank);
    repeats_[failure.rank].Note(failure);
    if (replaced_ < options_.max_restarts) return Replace(failure);
    if (ranks_.running() < options_.min_ranks) {
      too_few_ = "; " + CountText(static_cast<size_t>(ranks_.running()), "rank") +
                 " left, --elastic needs " + std::to_string(options_.min_ranks);
      return false;
    }
    Note(failure.rank, "gone");
    Say(failure.cause + "; " + Going() + repeats_[failure.rank].Text());
    return true;
  }
  // What to say behind the failure that has ended the job.
  std::string Explain(const RankFailure& failure) {
    return too_few_ + repeats_[failure.rank].Text();
  }

 private:
  bool joined(int rank) const {
    return std::find(joined_.begin(), joined_.end(), rank) != joined_.end();
  }
  std::string Going() const {
    const auto going = static_cast<size_t>(ranks_.running());
    return CountText(going, "rank") + (going == 1 ? " goes on" : " go on");
  }
  bool Replace(const RankFailure& failure) {
    const int rank = failure.rank;
    ++replaced_;
    joined_.push_back(rank);
    Note(rank, "replaced");
    Say(failure.cause + "; " + (ranks_.running() == 0 ? "" : Going() + ", ") + "restart " +
        std::to_string(replaced_) + " of " + std::to_string(options_.max_restarts) +
        " takes its place");
    ranks_.Replace(Resolved(options_.program), rank, Variables(options_, rank, meeting_, true));
    return true;
  }
  // For those who have not met yet.
  void Note(int rank, const char* what) {
    lines_ += std::to_string(rank) + " " + what + "\n";
    WriteLosses(meeting_, lines_);
  }

  const LaunchOptions& options_;
  LocalRanks& ranks_;
  const Meeting& meeting_;
  int replaced_ = 0;
  std::vector<int> joined_;
  std::string too_few_;             // why the last loss was one too many
  std::string lines_;               // of the file
  std::map<int, Repeats> repeats_;  // by rank
};

struct Start {
  RanksEnd end;
  bool again = false;  // another one may go better
  std::string more;    // to say of its failure
};

Start RunOnce(const LaunchOptions& options, LocalRanks& ranks, const Meeting& meeting) {
  if (options.min_ranks != 0) WriteLosses(meeting, "");
  try {
    ranks.Start(Resolved(options.program), options.ranks,
                [&](int rank) { return Variables(options, rank, meeting); });
  } catch (const Failure& failure) {
    return {{127, {.cause = failure.what()}}};
  }
  if (!options.quiet && meeting.restarts == 0) {
    Say(CountText(static_cast<size_t>(options.ranks), "rank") + " of " + options.program[0] +
        " on this machine, meeting at file:" + meeting.folder.path());
  }
  if (options.min_ranks != 0) {
    Losses losses(options, ranks, meeting);
    const auto survive = [&](const RankFailure& failure) { return losses.Survive(failure); };
    const RanksEnd end = ranks.Watch(PatienceOf(options, true), survive);
    return {end, false, losses.Explain(end.failure)};
  }
  const bool is_last = meeting.restarts == options.max_restarts;
  const RanksEnd end = ranks.Watch(PatienceOf(options, is_last));
  return {end, !end.failure.cause.empty() && !end.asked && !is_last};
}

int NumberIn(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// "MIN:MAX"; without -n there are MAX ranks at first.
void TakeElastic(LaunchOptions& options) {
  const size_t colon = std::min(options.elastic.find(':'), options.elastic.size());
  options.min_ranks = NumberIn(options.elastic.substr(0, colon));
  const int most = NumberIn(options.elastic.substr(std::min(colon + 1, options.elastic.size())));
  if (options.min_ranks < 1 || most < options.min_ranks) {
    throw UsageError("--elastic: expected MIN:MAX with 1 <= MIN <= MAX, got " + options.elastic);
  }
  if (options.ranks == 0) options.ranks = most;
  if (options.ranks < options.min_ranks || options.ranks > most) {
    throw UsageError("--ranks: expected " + std::to_string(options.min_ranks) + " to " +
                     std::to_string(most) + " (--elastic), got " + std::to_string(options.ranks));
  }
}

// A name is known to the library, or is that of a plugin that brings it.
void CheckTransports(const std::string& names) {
  const hr::Env env;
  for (size_t begin = 0; !names.empty() && begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    begin = end + 1;
    const auto known = [&] { return Described(hr_env_describe, env.get())["transports"]; };
    const auto has = [&](const Json& all) {
      return std::find(all.begin(), all.end(), name) != all.end();
    };
    if (names == "auto" || has(known())) continue;
    if (!name.empty()) hr_status_release(hr_env_load_plugin(env.get(), name.c_str()));
    const Json all = known();
    if (has(all)) continue;
    std::string text;
    for (const auto& one : all) text += one.get<std::string>() + ", ";
    throw UsageError("--transport: there is no transport '" + name + "'; there are: " + text +
                     "auto; of a plugin that the program loads from a path: set HEADRACE_TRANSPORT "
                     "instead");
  }
}

int RunLaunch(LaunchOptions options) {
  if (!options.words.empty()) {
    const std::string& word = options.words[0];
    if (word.starts_with('-')) throw UsageError("there is no option " + word);
    throw UsageError("put -- before the program: headrace launch OPTIONS -- " + word);
  }
  if (!options.elastic.empty()) TakeElastic(options);
  if (options.ranks == 0) throw UsageError("--ranks is required");
  constexpr int kMostRanks = 4096;  // each is a process here, and has two pipes
  if (options.ranks > kMostRanks) {
    throw UsageError("--ranks: expected at most " + std::to_string(kMostRanks) +
                     " processes of this machine, got " + std::to_string(options.ranks));
  }
  if (options.program.empty()) throw UsageError("there is no PROGRAM behind --");
  CheckTransports(options.transport);
  FreePorts ports;
  LocalRanks ranks(!options.no_prefix);
  Repeats repeats;
  for (int restarts = 0;; ++restarts) {
    const Start start = RunOnce(options, ranks, {ScratchFolder(), ports.Next(), restarts});
    const RankFailure& failure = start.end.failure;
    repeats.Note(failure);
    if (start.again) {
      Say(failure.cause + "; restart " + std::to_string(restarts + 1) + " of " +
          std::to_string(options.max_restarts));
      continue;
    }
    if (!failure.cause.empty()) {
      Say(failure.cause +
          (restarts == 0 ? "" : ", after " + CountText(static_cast<size_t>(restarts), "restart")) +
          repeats.Text() + start.more);
    }
    return start.end.status;
  }
}

}  // namespace

Command AddLaunch(CLI::App& program, std::vector<std::string> started) {
  auto options = std::make_shared<LaunchOptions>();
  options->program = std::move(started);
  CLI::App* app = AddCommand(program, "launch", kLaunchDescription, kLaunchFooter);
  AddNumber(app, "-n,--ranks", options->ranks, 1, "how many processes (with --elastic: MAX)");
  AddFlag(app, "--standalone", options->standalone, "on this machine alone (always so, for now)");
  AddText(app, "--transport", options->transport, "NAME,…",
          "for groups that name none: auto, shm, tcp, … (sets HEADRACE_TRANSPORT)");
  AddNumber(app, "--max-restarts", options->max_restarts, 0,
            "start all ranks anew when one has failed, N times at most (0)");
  AddText(app, "--elastic", options->elastic, "MIN:MAX",
          "go on without ranks that fail, while there are MIN; --max-restarts then counts new "
          "ranks, which join the others, up to MAX");
  AddSeconds(app, "--patience", options->patience, true,
             "seconds for ranks to end by themselves (3)");
  AddFlag(app, "--no-prefix", options->no_prefix,
          "output as it is, without the rank before each line");
  AddFlag(app, "--quiet", options->quiet, "do not say what is started");
  AllowOtherWords(app);
  return {app, [options, app] {
            options->words = OtherWords(app);
            return RunLaunch(*options);
          }};
}

}  // namespace headrace::tool
