#include "tools/headrace/local_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "tools/headrace/errors.h"

extern char** environ;

namespace headrace::tool {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
// A line that is longer comes in pieces.
constexpr size_t kMaxLine = 64 << 10;
constexpr int kReads = 16;

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int signal : kPassedOn) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void Fail(const std::string& what) {
  throw Failure(what + ": " + std::strerror(errno));
}

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) Fail("cannot create a pipe");
  }
  int ends[2];
};

void WriteAll(int to, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = write(to, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody reads any more
    at += static_cast<size_t>(count);
  }
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What another launcher, in which this one may run, says of this process.
constexpr std::string_view kOfOthers[] = {"PMI_",
                                          "OMPI_COMM_WORLD_",
                                          "HEADRACE_RANK=",
                                          "HEADRACE_SIZE=",
                                          "HEADRACE_LOCAL_RANK=",
                                          "HEADRACE_LOCAL_SIZE=",
                                          "HEADRACE_EPOCH=",
                                          "HEADRACE_ELASTIC=",
                                          "HEADRACE_JOIN=",
                                          "HEADRACE_LOSSES="};

// This process's environment, with `variables` in place of those of the same names, and without
// what would contradict them.
std::vector<std::string> Environment(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = std::any_of(std::begin(kOfOthers), std::end(kOfOthers),
                                [&](std::string_view other) { return text.starts_with(other); });
    for (const std::string& variable : variables) replaced |= variable.starts_with(name);
    if (!replaced) all.push_back(text);
  }
  return all;
}

// The state is the first character behind the name, which is in parentheses.
bool IsStopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name = text.rfind(") ");
  return name != text.npos && name + 2 < text.size() && text[name + 2] == 'T';
}

// In the child: becomes the program, or says why not through `failure`.
[[noreturn]] void Become(char** program, char** environment, pid_t parent, int out, int err,
                         int failure) {
  setpgid(0, 0);  // so that what it starts can be ended with it, and Ctrl-C comes once
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // which has ended meanwhile
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  // A process that is not in the foreground would be stopped when it reads the terminal.
  if (isatty(STDIN_FILENO)) dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvpe(program[0], program, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(failure, &error, sizeof error);
  _exit(127);
}

}  // namespace

LocalRanks::LocalRanks(bool prefixes) : prefixes_(prefixes) {
  const sigset_t set = Watched();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) Fail("cannot watch for signals");
  signal(SIGPIPE, SIG_IGN);  // who stops reading the output does not end the ranks
}

LocalRanks::~LocalRanks() {
  Clear(false);
  close(signals_);
}

// Kills the ranks that run, and with `descendants_too` what the others have started. No other
// process has the id of a rank before it is waited for here.
void LocalRanks::Clear(bool descendants_too) {
  SendAll(SIGKILL);
  for (Rank& rank : ranks_) Forget(rank, descendants_too);
  ranks_.clear();
}

void LocalRanks::Forget(Rank& rank, bool descendants_too) {
  if (rank.pid < 0) return;
  if (descendants_too) kill(-rank.pid, SIGKILL);
  waitpid(rank.pid, nullptr, 0);
  for (int fd : {rank.out.fd, rank.err.fd}) {
    if (fd >= 0) close(fd);
  }
  rank = {};
}

void LocalRanks::Start(const std::vector<std::string>& program, int count,
                       const RankVariables& variables) {
  Clear(true);
  end_ = {};
  failed_ = ended_well_ = told_of_frozen_ = false;
  stage_ = 0;
  try {
    StartAll(program, count, variables);
  } catch (const Failure&) {
    Clear(true);
    throw;
  }
}

void LocalRanks::StartAll(const std::vector<std::string>& program, int count,
                          const RankVariables& variables) {
  ranks_.resize(static_cast<size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    StartOne(program, ranks_[static_cast<size_t>(rank)], variables(rank));
  }
}

void LocalRanks::Replace(const std::vector<std::string>& program, int rank,
                         const std::vector<std::string>& variables) {
  Rank& failed = ranks_[static_cast<size_t>(rank)];
  PassOn(failed, failed.out, STDOUT_FILENO);
  PassOn(failed, failed.err, STDERR_FILENO);
  Flush(failed, failed.out, STDOUT_FILENO);
  Flush(failed, failed.err, STDERR_FILENO);
  Forget(failed, true);
  StartOne(program, failed, variables);
}

void LocalRanks::StartOne(const std::vector<std::string>& program, Rank& started,
                          const std::vector<std::string>& variables) {
  std::vector<std::string> words = program, environment = Environment(variables);
  const std::vector<char*> arguments = Pointers(words), entries = Pointers(environment);
  Pipe out, err, failure;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) Fail("cannot start rank " + std::to_string(&started - ranks_.data()));
  if (pid == 0) {
    Become(const_cast<char**>(arguments.data()), const_cast<char**>(entries.data()), parent,
           out.ends[1], err.ends[1], failure.ends[1]);
  }
  for (const Pipe* pipe : {&out, &err, &failure}) close(pipe->ends[1]);
  started.pid = pid;
  started.running = true;
  started.started_at = std::chrono::steady_clock::now();
  started.out.fd = out.ends[0];
  started.err.fd = err.ends[0];
  for (int fd : {started.out.fd, started.err.fd}) fcntl(fd, F_SETFL, O_NONBLOCK);
  int error = 0;
  const ssize_t told = read(failure.ends[0], &error, sizeof error);
  close(failure.ends[0]);
  if (told == sizeof error) {
    errno = error;
    Fail("cannot start '" + program[0] + "'");
  }
}

// To each one and whatever it has started.
void LocalRanks::SendAll(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.running && kill(-rank.pid, signal) != 0) kill(rank.pid, signal);
  }
}

std::string LocalRanks::Prefix(const Rank& rank) const {
  if (!prefixes_) return "";
  const size_t width = std::to_string(ranks_.size() - 1).size();
  std::string number = std::to_string(&rank - ranks_.data());
  number.insert(0, width - number.size(), ' ');
  return "[" + number + "] ";
}

// Prints the lines that have come: at least what a pipe holds, but of one that writes without pause
// no more than that, so that signals and the other ranks are heard.
void LocalRanks::PassOn(const Rank& rank, Stream& stream, int to) {
  char bytes[16384];
  for (int reads = 0; reads < kReads && stream.fd >= 0; ++reads) {
    const ssize_t got = read(stream.fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      close(stream.fd);
      stream.fd = -1;
      return Flush(rank, stream, to);
    }
    stream.line.append(bytes, static_cast<size_t>(got));
    std::string text;
    for (size_t end; (end = stream.line.find('\n')) != std::string::npos;) {
      text += Prefix(rank) + stream.line.substr(0, end + 1);
      stream.line.erase(0, end + 1);
    }
    WriteAll(to, text);
    if (stream.line.size() > kMaxLine) Flush(rank, stream, to);
  }
}

// Prints a line that the rank has left open, and ends it where the next one's prefix must begin
// one.
void LocalRanks::Flush(const Rank& rank, Stream& stream, int to) {
  if (!stream.line.empty()) WriteAll(to, Prefix(rank) + stream.line + (prefixes_ ? "\n" : ""));
  stream.line.clear();
}

// The first two requests to end are passed on to the ranks, the third one kills them.
void LocalRanks::TakeSignal() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    child_changed_ |= signal == SIGCHLD;
    if (signal == SIGCHLD) continue;
    const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
    if (ends) ++asked_;
    SendAll(asked_ > 2 ? SIGKILL : signal);
  }
}

void LocalRanks::Note(const Rank& rank, bool killed, int code) {
  const bool well = !killed && code == 0;
  ended_well_ |= well;
  if (well || failed_ || rank.discarded) return;
  const auto number = static_cast<int>(&rank - ranks_.data());
  const std::string who = "rank " + std::to_string(number);
  const std::string cause =
      killed ? who + " was ended by signal " + std::to_string(code) + " (" + strsignal(code) + ")"
             : who + " failed with exit status " + std::to_string(code);
  const std::chrono::duration<double> lived = std::chrono::steady_clock::now() - rank.started_at;
  const RankFailure failure{number, cause, lived.count()};
  if (asked_ == 0 && survive_ != nullptr && survive_(failure)) return;
  failed_ = true;
  end_.status = killed ? 128 + code : code;
  end_.failure = failure;
  next_stage_ = std::chrono::steady_clock::now();
}

void LocalRanks::Reap() {
  // A rank that was killed is a cause, one that failed perhaps a consequence.
  for (bool killed : {true, false}) {
    for (Rank& rank : ranks_) {
      siginfo_t info{};
      if (!rank.running ||
          waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        continue;
      }
      if (info.si_pid == 0 || (info.si_code != CLD_EXITED) != killed) continue;
      rank.running = false;
      Note(rank, killed, info.si_status);
    }
  }
}

// Ends those that go on after one has failed, step by step.
void LocalRanks::Hurry(const Patience& patience) {
  if (!failed_ || std::chrono::steady_clock::now() < next_stage_) return;
  if (stage_ == 1) SendAll(SIGTERM);
  if (stage_ > 1) SendAll(SIGKILL);
  next_stage_ = std::chrono::steady_clock::now() + (stage_ == 0 ? patience.alone : patience.asked);
  ++stage_;
}

int LocalRanks::running() const {
  return static_cast<int>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; }));
}

std::string LocalRanks::StoppedText(const Rank& rank) const {
  const std::string process = std::to_string(rank.pid);
  return "rank " + std::to_string(&rank - ranks_.data()) + " (process " + process +
         ") is stopped; kill -CONT " + process + " lets it go on\n";
}

// The others may wait for it, such as before their group has met. SIGCHLD comes for a stop, too.
void LocalRanks::LookForStopped() {
  if (!std::exchange(child_changed_, false)) return;
  for (Rank& rank : ranks_) {
    const bool was = std::exchange(rank.stopped, rank.running && IsStopped(rank.pid));
    if (rank.stopped && !was) WriteAll(STDERR_FILENO, "headrace launch: " + StoppedText(rank));
  }
}

// Those that are stopped while all others have ended.
void LocalRanks::LookForFrozen() {
  if (!ended_well_ || !AnyRuns()) return;
  const bool all = std::all_of(ranks_.begin(), ranks_.end(),
                               [](const Rank& rank) { return !rank.running || rank.stopped; });
  if (!all) return;
  if (survive_ == nullptr) return TellOfFrozen();
  for (Rank& rank : ranks_) rank.discarded = rank.running;
  SendAll(SIGKILL);
}

void LocalRanks::TellOfFrozen() {
  if (std::exchange(told_of_frozen_, true)) return;
  std::string text;
  for (const Rank& rank : ranks_) {
    if (rank.running) text += "headrace launch: the others have ended, but " + StoppedText(rank);
  }
  WriteAll(STDERR_FILENO, text);
}

// Sleeps until something has happened.
bool LocalRanks::Wait() {
  std::vector<pollfd> sources = {{signals_, POLLIN, 0}};
  for (const Rank& rank : ranks_) {
    for (int fd : {rank.out.fd, rank.err.fd}) {
      if (fd >= 0) sources.push_back({fd, POLLIN, 0});
    }
  }
  int timeout = -1;
  if (failed_) {
    const auto left = next_stage_ - std::chrono::steady_clock::now();
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    timeout = static_cast<int>(std::max<int64_t>(0, milliseconds));
  }
  return poll(sources.data(), sources.size(), timeout) > 0;
}

RanksEnd LocalRanks::Watch(const Patience& patience, const Survive& survive) {
  survive_ = survive;
  while (AnyRuns()) {
    Wait();
    TakeSignal();
    Reap();
    for (Rank& rank : ranks_) {
      PassOn(rank, rank.out, STDOUT_FILENO);
      PassOn(rank, rank.err, STDERR_FILENO);
    }
    Hurry(patience);
    LookForStopped();
    LookForFrozen();
  }
  // Descendants may hold the pipes open; what the ranks wrote is there already.
  for (Rank& rank : ranks_) {
    Flush(rank, rank.out, STDOUT_FILENO);
    Flush(rank, rank.err, STDERR_FILENO);
  }
  TakeSignal();  // one that came at the last moment
  end_.asked = asked_ > 0;
  return end_;
}

}  // namespace headrace::tool
