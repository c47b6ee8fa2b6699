// Large sums are made while the group is not locked: data and heartbeats go on meanwhile, and
// memory of an operation that ends early is free only when its sum is done.
#include <signal.h>
#include <sys/mman.h>

#include <optional>

#include "tests/conformance/transport/ranks.h"

namespace hr::comm {
namespace {

using GroupPtr = std::shared_ptr<Group>;

constexpr uint64_t kCount = 1 << 18;
constexpr Operation kSum = {.kind = OpKind::kAllReduce, .dtype = DType::kFloat64, .count = kCount};

// Memory whose first page holds up whoever touches it until Open(), as a very slow sum would.
class HeldMemory {
 public:
  HeldMemory() {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = static_cast<double*>(memory);
    std::fill_n(data_, kCount, 1.0);
    page_ = memory;
    open_ = false;
    touched_ = false;
    mprotect(memory, kPage, PROT_NONE);
    struct sigaction action = {};
    action.sa_sigaction = OnTouch;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~HeldMemory() {
    Open();
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(data_, kBytes);
  }
  void Open() { open_ = true; }
  bool touched() const { return touched_; }
  double* data() { return data_; }

 private:
  static constexpr size_t kPage = 64 << 10, kBytes = kCount * sizeof(double);
  static constexpr int kMostMilliseconds = 10'000;  // so that a test that fails ends

  static void OnTouch(int, siginfo_t* info, void*) {
    const auto offset = static_cast<char*>(info->si_addr) - static_cast<char*>(page_.load());
    if (offset < 0 || offset >= static_cast<ptrdiff_t>(kPage)) abort();
    touched_ = true;
    const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
    for (int i = 0; !open_ && i < kMostMilliseconds; ++i) nanosleep(&pause, nullptr);
    mprotect(page_, kPage, PROT_READ | PROT_WRITE);
  }

  static inline std::atomic<void*> page_;
  static inline std::atomic<bool> open_, touched_;
  double* data_;
  struct sigaction before_;
};

// The first half of rank 0's input is summed by rank 0 itself.
void UseRing(GroupOptions& options) {
  options.algorithms[OpKind::kAllReduce] = "ring";
  options.mesh.silence_nanos = 300'000'000;
}

class GroupSums : public GroupTest {
 protected:
  // Rank 0 posts first, so that it does not sum before it has returned.
  WorkRef Post(Group& group, const double* input, double* result) {
    while (group.rank() != 0 && !posted_) std::this_thread::yield();
    WorkRef work = group.Post(kSum, input, result).value();
    posted_ = true;
    return work;
  }

 private:
  std::atomic<bool> posted_{false};
};

TEST_P(GroupSums, DataAndHeartbeatsGoOnMeanwhile) {
  RunRanks(2, UseRing, [this](GroupPtr group) {
    const Operation small = {.kind = OpKind::kBarrier};
    std::vector<double> plain(kCount, 1.0), result(kCount);
    std::optional<HeldMemory> held;
    if (group->rank() == 0) held.emplace();
    const WorkRef work =
        Post(*group, held.has_value() ? held->data() : plain.data(), result.data());
    if (held.has_value()) {
      while (!held->touched()) std::this_thread::yield();
    }
    const Status passed = group->Run(small, nullptr, nullptr, Within(std::chrono::seconds(5)));
    EXPECT_TRUE(passed.ok()) << passed.ToString();
    // Longer than a rank may be silent.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (held.has_value()) {
      EXPECT_FALSE(work->done());
      held->Open();
    }
    const Status summed = work->Wait(Within(std::chrono::seconds(20)));
    EXPECT_TRUE(summed.ok()) << summed.ToString();
    EXPECT_EQ(std::count(result.begin(), result.end(), 2.0), std::ssize(result));
    ASSERT_TRUE(group->Run(small, nullptr, nullptr, Within(std::chrono::seconds(20))).ok());
  });
}

TEST_P(GroupSums, AnOperationThatEndsEarlyEndsAfterItsSum) {
  RunRanks(2, UseRing, [this](GroupPtr group) {
    std::vector<double> plain(kCount, 1.0), result(kCount);
    std::optional<HeldMemory> held;
    if (group->rank() == 0) held.emplace();
    const WorkRef work =
        Post(*group, held.has_value() ? held->data() : plain.data(), result.data());
    if (!held.has_value()) {
      EXPECT_FALSE(work->Wait(Within(std::chrono::seconds(20))).ok());
      return;
    }
    while (!held->touched()) std::this_thread::yield();
    group->Abort("enough");
    while (group->status().ok()) std::this_thread::yield();
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(work->done());
      held->Open();
    });
    group->Close();
    EXPECT_TRUE(work->done());
    EXPECT_FALSE(work->status().ok());
    opener.join();
  });
}

INSTANTIATE_TEST_SUITE_P(All, GroupSums, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
