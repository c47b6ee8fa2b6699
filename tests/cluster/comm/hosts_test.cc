// Ranks on several hosts, which are network namespaces: they meet at an address, listen where the
// route to it leaves, compute the right thing over shared memory and TLS, and end with one cause,
// in time, when a host is cut off.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "runtime/comm/group.h"
#include "runtime/comm/remote_store.h"
#include "transport/collective/planner.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"

extern "C" {
#include "tests/bench/comm/hosts.h"
}

namespace hr::comm {
namespace {

constexpr int kHosts = 3, kRanksEach = 2, kSize = kHosts * kRanksEach, kCut = 1;
constexpr int64_t kSilence = 1'500'000'000;
constexpr char kStore[] = "10.77.0.1:5500", kSecret[] = "a secret of these tests";

CallLimits Within(std::chrono::nanoseconds time) {
  return {.deadline_nanos = SystemClock().NowNanos() + time.count(), .clock = &SystemClock()};
}

struct Rank {
  std::unique_ptr<Store> store;
  std::unique_ptr<Poller> poller = std::move(Poller::Create()).value();
  std::unique_ptr<Planner> planner = collective::CreatePlanner();
  std::shared_ptr<Group> group;
  Status status;
};

// In a process of its own: the ranks of one host, a thread each.
class Host {
 public:
  explicit Host(int host) : host_(host) {}

  // All meet, and sum up.
  Status Meet() {
    for (int i = 0; i < kRanksEach; ++i) {
      HR_ASSIGN_OR_RETURN(ranks_[i].store,
                          OpenRemoteStore(tcp::CreateTcpTransport, "tcp", kStore,
                                          {.serve = host_ == 0, .secret = kSecret}));
    }
    if (ranks_[0].store->kept_here() != (host_ == 0)) return Internal("rank 0 keeps the store");
    return EachRank([this](int i) { return MeetAndSum(ranks_[i], host_ * kRanksEach + i); });
  }
  // Goes on until the groups end, and writes down when and why each did.
  Status Last(const std::string& folder) {
    return EachRank([&](int i) -> Status {
      const Group& group = *ranks_[i].group;
      Status end;
      while (end.ok()) end = Sum(*ranks_[i].group, 100'000);
      std::ofstream(Cat(folder, "/end.", group.rank()))
          << SystemClock().NowNanos() << ' ' << end.ToString();
      return {};
    });
  }

 private:
  template <typename Body>
  Status EachRank(Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kRanksEach; ++i) {
      threads.emplace_back([&, i] { ranks_[i].status = body(i); });
    }
    for (std::thread& thread : threads) thread.join();
    for (Rank& rank : ranks_) HR_RETURN_IF_ERROR(std::move(rank.status));
    return {};
  }
  static Status Sum(Group& group, size_t count) {
    std::vector<int32_t> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<int32_t>(i) + group.rank();
    const Operation operation = {
        .kind = OpKind::kAllReduce, .dtype = DType::kInt32, .count = count};
    HR_RETURN_IF_ERROR(
        group.Run(operation, data.data(), data.data(), Within(std::chrono::seconds(30))));
    for (size_t i = 0; i < count; ++i) {
      if (data[i] != static_cast<int32_t>(i) * kSize + kSize * (kSize - 1) / 2) {
        return DataLoss("element ", i, " of ", count, " is ", data[i]);
      }
    }
    return {};
  }
  Status MeetAndSum(Rank& self, int rank) {
    GroupOptions options;
    options.mesh.rank = rank;
    options.mesh.size = kSize;
    options.mesh.store = self.store.get();
    options.mesh.poller = self.poller.get();
    options.mesh.spin_nanos = 0;
    options.mesh.silence_nanos = kSilence;
    options.mesh.transports = {shm::CreateShmTransport, [](std::string identity) {
                                 const std::string host = HostOfStore(Cat("tcp:", kStore));
                                 return tcp::CreateTcpTransport(
                                     {.towards = host, .secret = kSecret}, std::move(identity));
                               }};
    options.planner = self.planner.get();
    const std::string key = EpochKey(options.mesh, Cat("address/", rank));
    HR_ASSIGN_OR_RETURN(self.group,
                        Group::Create(std::move(options), Within(std::chrono::seconds(30))));
    for (size_t count : {1, 1000, 300'001}) HR_RETURN_IF_ERROR(Sum(*self.group, count));
    HR_ASSIGN_OR_RETURN(const std::string addresses, self.store->Get(key, {}));
    const std::string own = Cat(" tcp:10.77.0.", host_ + 1, ":");
    if (addresses.find(own) != addresses.npos) return {};
    return Internal("expected", own, "PORT to be published, got ", addresses);
  }

  const int host_;
  Rank ranks_[kRanksEach];
};

std::string& Folder() {
  static std::string folder;
  return folder;
}

int this_host = 0;
const char* Settle(int host, int) {
  this_host = host;
  return nullptr;
}

// What each host does in turn.
const char* Step(double*) {
  static Host host(this_host);
  static int turn = 0;
  static std::string error;
  const Status status = turn++ == 0 ? host.Meet() : host.Last(Folder());
  error = status.ToString();
  return status.ok() ? nullptr : error.c_str();
}

struct End {
  int64_t nanos = 0;
  std::string cause;
};
End EndOf(int rank) {
  End end;
  std::ifstream file(Cat(Folder(), "/end.", rank));
  file >> end.nanos;
  std::getline(file, end.cause);
  return end;
}

// Whoever of the host's ranks was missed first.
bool Blames(int host, std::string_view cause) {
  for (int i = 0; i < kRanksEach; ++i) {
    const std::string words = Cat("because of rank ", host * kRanksEach + i, ": nothing was heard");
    if (cause.find(words) != cause.npos) return true;
  }
  return false;
}

TEST(CommHosts, MeetAtAnAddressAndAgreeWhoIsCutOff) {
  double unused;
  Folder() = testing::TempDir() + "headrace_hosts_XXXXXX";
  ASSERT_NE(mkdtemp(Folder().data()), nullptr);
  if (const char* why = hosts_start(kHosts, 1, Settle, Step)) {
    EXPECT_TRUE(RemoveTree(Folder()).ok());
    GTEST_SKIP() << why;
  }
  ASSERT_STREQ(hosts_measure(&unused), nullptr);
  ASSERT_STREQ(hosts_begin(), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const int64_t cut = SystemClock().NowNanos();
  ASSERT_STREQ(hosts_cut(kCut), nullptr);
  ASSERT_STREQ(hosts_end(&unused), nullptr);
  for (int rank = 0; rank < kSize; ++rank) {
    const End end = EndOf(rank);
    EXPECT_GT(end.nanos, cut) << end.cause;
    if (rank / kRanksEach == kCut) continue;
    EXPECT_LT(end.nanos - cut, kSilence + 1'000'000'000) << rank;
    EXPECT_EQ(end.cause, EndOf(0).cause);
    EXPECT_EQ(end.cause.find(" UNAVAILABLE: "), 0U) << end.cause;
    EXPECT_TRUE(Blames(kCut, end.cause)) << end.cause;
  }
  EXPECT_TRUE(RemoveTree(Folder()).ok());
}

}  // namespace
}  // namespace hr::comm
