// A rank is killed or frozen in every state of its group: all survivors end with one and the same
// root cause, which names it, and in time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/strings.h"

extern char** environ;

namespace hr {
namespace {

constexpr int kSilenceMs = 2000;

// A rank's process; killed at the end if it still runs.
class RankProcess {
 public:
  RankProcess(int rank, int size, const std::string& folder, const std::string& transport,
              const std::string& state) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<std::string> words = {HEADRACE_COMM_RANK, Cat(rank),       Cat(size), folder,
                                      transport,          Cat(kSilenceMs), state};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
  }
  RankProcess(const RankProcess&) = delete;
  ~RankProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(out_);
  }

  void Signal(int signal) { kill(pid_, signal); }
  // The next line that begins with `word`, without it; "(nothing)" where none comes in time.
  std::string Await(const std::string& word, int milliseconds) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (;;) {
      for (size_t end; (end = text_.find('\n')) != std::string::npos;) {
        const std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        if (line.rfind(word, 0) == 0) return line.substr(word.size());
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          give_up - std::chrono::steady_clock::now());
      pollfd ready = {out_, POLLIN, 0};
      if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
      char bytes[4096];
      const ssize_t got = read(out_, bytes, sizeof bytes);
      if (got <= 0) break;
      text_.append(bytes, got);
    }
    return "(nothing)";
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string text_;
};

struct Fault {
  const char* transport;
  const char* state;
  int signal;
  int victim = 1;
  int delay_ms = 30;  // behind READY
};

std::string NameOf(const Fault& fault) {
  return Cat(fault.transport, "_", fault.state, "_rank", fault.victim,
             fault.signal == SIGKILL ? "_killed_" : "_frozen_", fault.delay_ms);
}
void PrintTo(const Fault& fault, std::ostream* out) { *out << NameOf(fault); }

class CommFaults : public testing::TestWithParam<Fault> {};

// What a survivor says, by what its group was doing.
void ExpectCause(const Fault& fault, const std::string& cause) {
  if (std::string_view(fault.state) == "close") {
    EXPECT_EQ(cause, "OK");
    return;
  }
  EXPECT_NE(cause.find(Cat("rank ", fault.victim)), std::string::npos) << cause;
  if (std::string_view(fault.state) == "meet") return;
  EXPECT_NE(cause.find(Cat("because of rank ", fault.victim)), std::string::npos) << cause;
  EXPECT_EQ(cause.rfind("UNAVAILABLE", 0), 0u) << cause;
}

TEST_P(CommFaults, SurvivorsAgreeOnTheRootCause) {
  constexpr int kSize = 3;
  const Fault& fault = GetParam();
  std::string folder = testing::TempDir() + "headrace_faults_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    std::vector<std::unique_ptr<RankProcess>> ranks;
    for (int rank = 0; rank < kSize; ++rank) {
      ranks.push_back(
          std::make_unique<RankProcess>(rank, kSize, folder, fault.transport, fault.state));
    }
    for (auto& rank : ranks) ASSERT_EQ(rank->Await("READY", 20'000), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(fault.delay_ms));
    ranks[fault.victim]->Signal(fault.signal);
    // A dead process shows at once, a frozen one by its silence; who meets has 3 s.
    const bool meets = std::string_view(fault.state) == "meet";
    const int limit = 1000 + (fault.signal == SIGSTOP || meets ? 2 * kSilenceMs : 0);
    const auto begin = std::chrono::steady_clock::now();
    const std::string first = ranks[(fault.victim + 1) % kSize]->Await("CAUSE ", limit + 10'000);
    const std::string last = ranks[(fault.victim + 2) % kSize]->Await("CAUSE ", limit + 10'000);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took, std::chrono::milliseconds(limit));
    EXPECT_EQ(first, last);
    ExpectCause(fault, first);
    for (int behind : {1, 2})
      EXPECT_EQ(ranks[(fault.victim + behind) % kSize]->Await("LEFT ", 10'000), "");
  }
  EXPECT_TRUE(RemoveTree(folder).ok());
}

std::vector<Fault> Faults() {
  std::vector<Fault> faults;
  std::vector<const char*> transports = {"shm"};
#ifdef HEADRACE_TEST_TCP
  transports.push_back("tcp");
#endif
#ifdef HEADRACE_TEST_UCX
  transports.push_back("ucx");
#endif
  for (const char* transport : transports) {
    for (int signal : {SIGKILL, SIGSTOP}) {
      for (const char* state :
           {"rest", "eager", "receive", "offer", "transfer", "ring", "flat", "slices", "close"}) {
        faults.push_back({transport, state, signal});
      }
      for (int victim : {0, 2}) faults.push_back({transport, "ring", signal, victim});
      // From before it has an address until the group has formed.
      for (int delay : {0, 3, 6, 12, 25, 50}) {
        faults.push_back({transport, "meet", signal, delay % 2 == 0 ? 1 : 0, delay});
      }
    }
  }
  return faults;
}

INSTANTIATE_TEST_SUITE_P(All, CommFaults, testing::ValuesIn(Faults()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace hr
