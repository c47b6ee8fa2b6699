// How a worker comes and goes, and what a sleeper waits on.
#include <dlfcn.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <ucs/debug/debug.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/host.h"
#include "runtime/base/strings.h"
#include "transport/ucx/resources.h"
#include "transport/ucx/worker.h"

namespace hr::ucx {
namespace {

constexpr auto kFarewellTime = std::chrono::milliseconds(200);
constexpr long kFirstTimerNanos = 50'000, kLastTimerNanos = 5'000'000;

// Takes back the handlers that UCX installs when it is loaded, for backtraces: signals are the
// host's affair.
void LeaveSignalsAlone() {
  for (int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) {
    struct sigaction action {};
    Dl_info owner{};
    if (::sigaction(signal, nullptr, &action) != 0 ||
        ::dladdr(reinterpret_cast<void*>(action.sa_sigaction), &owner) == 0 ||
        std::string_view(owner.dli_fname).find("libucs") == std::string_view::npos) {
      continue;
    }
    ucs_debug_disable_signal(signal);
  }
}

// How UCX copies a packet.
constexpr ucp_generic_dt_ops_t kPacketOperations = {
    .start_pack = [](void*, const void* packet, size_t) { return const_cast<void*>(packet); },
    .start_unpack = [](void*, void*, size_t) -> void* { return nullptr; },
    .packed_size = [](void* packet) { return static_cast<Packet*>(packet)->bytes(); },
    .pack =
        [](void* packet, size_t offset, void* to, size_t room) {
          return static_cast<Packet*>(packet)->Pack(offset, static_cast<std::byte*>(to), room);
        },
    .unpack = [](void*, size_t, const void*, size_t) { return UCS_ERR_UNSUPPORTED; },
    .finish = [](void*) {},
};

uint64_t Namespace(const char* which) {
  struct stat space {};
  ::stat(Cat("/proc/self/ns/", which).c_str(), &space);
  return space.st_ino;
}

// "boot id:namespaces" of this process: where memory is shared, and processes are seen.
Result<std::string> HostId() {
  HR_ASSIGN_OR_RETURN(const std::string boot, BootId());
  return Cat(boot, "-", Namespace("pid"), "-", Namespace("ipc"), "-", Namespace("net"));
}

Status Watch(const Descriptor& epoll, int descriptor, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return ResourceExhausted("cannot watch a connection: ", std::strerror(errno));
}

// UCX does not say that descriptors ran out, and gives back those that it got.
bool LacksDescriptors() {
  constexpr size_t kPlenty = 64;
  std::vector<Descriptor> got;
  do {
    got.emplace_back(::epoll_create1(EPOLL_CLOEXEC));
  } while (got.back().valid() && got.size() < kPlenty);
  return !got.back().valid();
}

}  // namespace

Status UcxFailure(std::string_view what, ucs_status_t status) {
  const bool lost = status == UCS_ERR_CONNECTION_RESET || status == UCS_ERR_ENDPOINT_TIMEOUT ||
                    status == UCS_ERR_NOT_CONNECTED;
  if (status == UCS_ERR_NO_RESOURCE || status == UCS_ERR_NO_MEMORY ||
      (!lost && LacksDescriptors())) {
    return ResourceExhausted("UCX ", what, ": ", ucs_status_string(status),
                             "; make room in /dev/shm and for descriptors (ulimit -n), or use "
                             "another transport");
  }
  return Unavailable("UCX ", what, ": ", ucs_status_string(status));
}

Result<std::unique_ptr<UcxWorker>> UcxWorker::Create(bool confined, bool lends) {
  LeaveSignalsAlone();
  std::unique_ptr<UcxWorker> worker(new UcxWorker());
  worker->lends_ = lends;
  HR_RETURN_IF_ERROR(worker->StartContext(confined));
  HR_RETURN_IF_ERROR(worker->StartWorker());
  HR_RETURN_IF_ERROR(worker->ReadAddress());
  HR_RETURN_IF_ERROR(worker->WatchEvents());
  worker->next_key_ = UniqueBits() * 0x9E3779B97F4A7C15 & ~uint64_t{1};
  return worker;
}

Result<std::vector<std::string>> UcxWorker::Look() {
  LeaveSignalsAlone();
  UcxWorker worker;
  HR_RETURN_IF_ERROR(worker.StartContext(false));
  return UcxResources(worker.context_);
}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) {
    while (!lines_.empty()) HangUp(*lines_.begin()->second);
    // Farewells are on their way; a peer that does not take them is not waited for.
    const auto give_up = std::chrono::steady_clock::now() + kFarewellTime;
    while (!all_.empty() && std::chrono::steady_clock::now() < give_up) Tend();
    for (auto& line : all_) {
      if (line->closing != nullptr) ucp_request_free(line->closing);
    }
    ucp_worker_destroy(worker_);
  }
  if (packet_type_ != 0) ucp_dt_destroy(packet_type_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status UcxWorker::StartContext(bool confined) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return UcxFailure("cannot read its configuration", status);
  if (confined) status = ucp_config_modify(config, "TLS", "self,sm");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "headrace";
  if (status == UCS_OK) status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) return UcxFailure("cannot start", status);
  const std::vector<std::string> resources = UcxResources(context_);
  const auto has = [&](auto is) { return std::any_of(resources.begin(), resources.end(), is); };
  shares_memory_ = has(IsSharedMemory);
  has_rdma_ = has(IsRdma);
  return {};
}

Status UcxWorker::StartWorker() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK) return UcxFailure("cannot start a worker", status);
  const ucp_am_recv_callback_t callbacks[] = {OnActiveMessage, OnShortMessage};
  for (unsigned id : {kLongMessage, kShortMessage}) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.cb = callbacks[id];
    handler.arg = this;
    if (status == UCS_OK) status = ucp_worker_set_am_recv_handler(worker_, &handler);
  }
  if (status == UCS_OK) status = ucp_dt_create_generic(&kPacketOperations, nullptr, &packet_type_);
  return status == UCS_OK ? Status() : UcxFailure("takes no message handler", status);
}

Status UcxWorker::ReadAddress() {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  const ucs_status_t status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return UcxFailure("has no address", status);
  self_.worker.assign(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  self_.pid = static_cast<uint32_t>(::getpid());
  HR_ASSIGN_OR_RETURN(self_.host, HostId());
  if (bytes + 256 <= kPacketRoom) return {};
  return ResourceExhausted("UCX finds so many devices that its address has ", bytes,
                           " bytes; name those to use in UCX_NET_DEVICES");
}

// ---- Sleeping ----

Status UcxWorker::WatchEvents() {
  deaths_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!deaths_.valid() || !epoll_.valid() || !timer_.valid()) {
    return ResourceExhausted("cannot create an epoll or a timer: ", std::strerror(errno));
  }
  int events = -1;
  const ucs_status_t status = ucp_worker_get_efd(worker_, &events);
  if (status != UCS_OK) return UcxFailure("has nothing to sleep on", status);
  HR_RETURN_IF_ERROR(Watch(epoll_, events, EPOLLIN));
  HR_RETURN_IF_ERROR(Watch(epoll_, timer_.get(), EPOLLIN));
  return Watch(epoll_, deaths_.get(), EPOLLIN);
}

// Watches the process of a peer on this host: its end, of whatever kind, shows before UCX notices.
Status UcxWorker::WatchProcess(Line& line, const UcxPeer& peer) {
#ifdef SYS_pidfd_open
  if (peer.host != self_.host) return {};
  line.process = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  if (line.process.valid()) return Watch(deaths_, line.process.get(), EPOLLIN | EPOLLONESHOT);
  if (errno == ESRCH) return Unavailable("the peer's process, ", peer.pid, ", has ended");
#endif
  return {};
}

void UcxWorker::FindDeaths() {
  epoll_event dead[16];
  for (int count = 16; count == 16;) {
    count = ::epoll_wait(deaths_.get(), dead, 16, 0);
    for (int i = 0; i < count; ++i) {
      for (auto& line : all_) {
        if (line->process.get() != dead[i].data.fd || !line->status.ok()) continue;
        line->status = Unavailable("the peer's process has ended");
      }
    }
  }
}

// A timer wakes this worker while a peer's shared memory may be full: its reader wakes nobody, and
// UCX cannot be armed for it. It rings soon at first, and more rarely the longer that lasts.
// Setting it also clears an earlier ring.
bool UcxWorker::SetTimer() {
  const bool full = std::any_of(lines_.begin(), lines_.end(), [](const auto& entry) {
    const Line& line = *entry.second;
    return !line.notices && line.pending > 0 && line.status.ok();
  });
  timer_nanos_ = full ? std::clamp(2 * timer_nanos_, kFirstTimerNanos, kLastTimerNanos) : 0;
  itimerspec when{};
  when.it_value.tv_nsec = timer_nanos_;
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
  return full;
}

// UCX refuses to arm as long as it finds any event, even one that brings nothing for us.
bool UcxWorker::Arm() {
  const bool full = SetTimer();
  news_ = false;
  for (int tries = 0; tries < 8 && !news_; ++tries) {
    if (ucp_worker_arm(worker_) == UCS_OK) return true;
    Drain();
  }
  return full && !news_;
}

}  // namespace hr::ucx
