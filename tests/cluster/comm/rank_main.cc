// One rank of a group, to be killed or frozen by a test:
//   comm_rank RANK SIZE STORE_FOLDER TRANSPORT SILENCE_MS STATE
// Says READY when it is in STATE, CAUSE with code and message when the group has ended, and is
// closed, and then LEFT with what it has not given back.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/comm/group.h"
#include "runtime/comm/poller.h"
#include "tests/leaks.h"
#include "transport/collective/planner.h"
#include "transport/shm/shm.h"
#ifdef HEADRACE_TEST_TCP
#include "transport/tcp/tcp.h"
#endif
#ifdef HEADRACE_TEST_UCX
#include "transport/ucx/ucx.h"
#endif

namespace hr::comm {
namespace {

CallLimits Within(int seconds) {
  return {.deadline_nanos = SystemClock().NowNanos() + seconds * 1'000'000'000LL,
          .clock = &SystemClock()};
}

Result<std::unique_ptr<Transport>> CreateTransport(std::string_view name, std::string identity) {
#ifdef HEADRACE_TEST_TCP
  if (name == "tcp") return tcp::CreateTcpTransport({}, std::move(identity));
#endif
#ifdef HEADRACE_TEST_UCX
  if (name == "ucx") return ucx::CreateUcxTransport({}, std::move(identity));
#endif
  if (name == "shm") return shm::CreateShmTransport(std::move(identity));
  return InvalidArgument("no transport '", name, "'");
}

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Large messages that go both ways without end, invited and on their way at any time.
Status Exchange(Group& group) {
  std::vector<float> sent(4 << 20), received(sent.size());
  Operation send = {.kind = OpKind::kSend, .dtype = DType::kFloat32, .count = sent.size()};
  Operation receive = send;
  receive.kind = OpKind::kRecv;
  send.peer = (group.rank() + 1) % group.size();
  receive.peer = (group.rank() + group.size() - 1) % group.size();
  for (;;) {
    HR_ASSIGN_OR_RETURN(WorkRef coming, group.Post(receive, nullptr, received.data()));
    HR_RETURN_IF_ERROR(group.Run(send, sent.data(), nullptr, Within(30)));
    HR_RETURN_IF_ERROR(coming->Complete(Within(30)));
  }
}

// What the rank does when its fate comes. Returns the group's end.
Status Play(Group& group, std::string_view state) {
  const bool large = state == "ring" || state == "slices";
  std::vector<float> data(large ? 4 << 20 : 16);
  const Operation reduce = {
      .kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = data.size()};
  HR_RETURN_IF_ERROR(group.Run(reduce, data.data(), data.data(), Within(30)));
  if (state != "meet") Say("READY");
  if (state == "rest") {
    while (group.status().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return group.status();
  }
  if (state == "close") {  // while one of them is gone or does not answer
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return {};
  }
  if (state == "transfer") return Exchange(group);
  if (state == "receive") {
    const Operation receive = {.kind = OpKind::kRecv,
                               .dtype = DType::kFloat32,
                               .count = 16,
                               .peer = (group.rank() + 1) % group.size()};
    return group.Run(receive, nullptr, data.data(), Within(30));
  }
  if (state == "offer") {  // large messages that nobody asks for
    std::vector<float> large(4 << 20);
    const Operation send = {.kind = OpKind::kSend,
                            .dtype = DType::kFloat32,
                            .count = large.size(),
                            .peer = (group.rank() + 1) % group.size()};
    return group.Run(send, large.data(), nullptr, Within(30));
  }
  for (;;) HR_RETURN_IF_ERROR(group.Run(reduce, data.data(), data.data(), Within(30)));
}

Status Run(char** argv) {
  HR_ASSIGN_OR_RETURN(auto store, CreateFileStore(argv[3]));
  HR_ASSIGN_OR_RETURN(auto poller, Poller::Create());
  const auto planner = collective::CreatePlanner();
  const std::string transport = argv[4];
  GroupOptions options;
  options.mesh.rank = std::atoi(argv[1]);
  options.mesh.size = std::atoi(argv[2]);
  options.mesh.store = store.get();
  options.mesh.poller = poller.get();
  options.mesh.transports = {
      [&](std::string identity) { return CreateTransport(transport, std::move(identity)); }};
  options.mesh.silence_nanos = std::atoi(argv[5]) * 1'000'000LL;
  options.mesh.spin_nanos = 0;
  options.planner = planner.get();
  const std::string_view state = argv[6];
  // The others, "flat" and "slices", take shared memory where there is some.
  if (state == "ring") options.algorithms[OpKind::kAllReduce] = "ring";
  if (state == "eager") options.algorithms[OpKind::kAllReduce] = "recursive_doubling";
  if (state == "meet") Say("READY");
  HR_ASSIGN_OR_RETURN(auto group,
                      Group::Create(std::move(options), Within(state == "meet" ? 3 : 20)));
  return Play(*group, state);
}

}  // namespace
}  // namespace hr::comm

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  // Libraries open some things once for the whole process.
  hr::comm::CreateTransport(argv[4], "once").status().IgnoreError();
  const hr::Leaks leaks;
  hr::comm::Say(hr::Cat("CAUSE ", hr::comm::Run(argv).ToString()));
  hr::comm::Say(hr::Cat("LEFT ", leaks.Text()));
  return 0;
}
