#include "runtime/comm/mesh.h"

#include <algorithm>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/comm/poller.h"

namespace hr::comm {
namespace {

// Between two looks at whether all has been sent, when a group closes.
constexpr std::chrono::microseconds kFirstFlushPause(20), kLastFlushPause(2000);
// For a verdict that is due, and for what was sent, when a group closes.
constexpr int64_t kCloseNanos = 1'000'000'000;

std::vector<Transport*> TransportsOf(const Peers& peers) {
  std::vector<Transport*> transports;
  for (auto& transport : peers.transports()) transports.push_back(transport.get());
  return transports;
}

}  // namespace

Mesh::Mesh(MeshOptions options, Met met)
    : options_(std::move(options)),
      complete_(Cat("group '", options_.name, "', epoch ", options_.epoch, ", is complete; rank ",
                    options_.rank, " accepts no more ranks")),
      address_(std::move(met.address)),
      peers_(std::move(met.peers)),
      verdicts_(options_, *peers_, reactor_, *this),
      watch_(options_, *peers_, operations_, recorder_, verdicts_, met.beaten_at),
      operations_(*peers_, reactor_, recorder_, watch_),
      reactor_(TransportsOf(*peers_), *this, std::move(met.wake)) {}

Mesh::~Mesh() { Close(); }

Result<std::shared_ptr<Mesh>> Mesh::Form(MeshOptions options, const CallLimits& limits) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return InvalidArgument("expected a rank from 0 to size - 1, got rank ", options.rank, " of ",
                           options.size);
  }
  if (options.store == nullptr || options.poller == nullptr || options.transports.empty()) {
    return InvalidArgument("a group needs a store, a poller and at least one transport");
  }
  HR_ASSIGN_OR_RETURN(Met met, Meeting::Hold(options, limits));
  std::shared_ptr<Mesh> mesh(new Mesh(std::move(options), std::move(met)));
  HR_RETURN_IF_ERROR(mesh->recorder_.Open(mesh->DumpPath(".flight")));
  mesh->options_.poller->Add(mesh->reactor_);
  mesh->LogMembers();
  return mesh;
}

// Such as "group 'world', epoch 0: rank 1 of 4 has met the others, 1 over shm, 2 over tcp".
void Mesh::LogMembers() {
  if (options_.log == nullptr) return;
  std::string text = Cat("group '", options_.name, "', epoch ", options_.epoch, ": rank ",
                         options_.rank, " of ", options_.size);
  if (options_.size > 1) text += " has met the others";
  for (const auto& transport : peers_->transports()) {
    int count = 0;
    for (int rank = 0; rank < options_.size; ++rank) {
      if (peers_->transport(rank) == transport.get()) ++count;
    }
    if (count > 0) text += Cat(", ", count, " over ", transport->name());
  }
  options_.log->Write(LogLevel::kInfo, text);
}

// ---- What hosts ask for ----

Status Mesh::status() {
  Reactor::Guard guard(reactor_);
  return verdicts_.status().Clone();
}

std::optional<Verdict> Mesh::verdict() {
  Reactor::Guard guard(reactor_);
  return verdicts_.verdict();
}

std::vector<int> Mesh::suspects() {
  Reactor::Guard guard(reactor_);
  return watch_.Suspects();
}

std::string Mesh::RecorderJson() {
  Reactor::Guard guard(reactor_);
  return recorder_.Json();
}

std::string Mesh::TransportOf(int rank) const {
  const Transport* transport = peers_->transport(rank);
  return transport == nullptr ? "self" : std::string(transport->name());
}

MemorySharer* Mesh::SharerOf(const std::vector<int>& ranks) const {
  MemorySharer* sharer = nullptr;
  for (int rank : ranks) {
    if (rank == options_.rank) continue;
    MemorySharer* theirs = peers_->transport(rank)->memory_sharer();
    if (theirs == nullptr || (sharer != nullptr && theirs != sharer)) return nullptr;
    sharer = theirs;
  }
  return sharer;
}

Status Mesh::Start(const WorkRef& work, bool attended) {
  {
    Reactor::Guard guard(reactor_);
    if (!verdicts_.status().ok()) return verdicts_.status().Clone();
    if (verdicts_.closed()) {
      return FailedPrecondition("group '", options_.name, "' is closed");
    }
    operations_.Start(work, attended);
  }
  Deliver();
  return {};
}

bool Mesh::SendNow(const ShortMessage& message, FunctionRef<bool()> complete, const void* data) {
  Reactor::Guard guard(reactor_);
  return verdicts_.live() && complete() && operations_.SendNow(message, data);
}

bool Mesh::RecvNow(const ShortMessage& message, void* data) {
  bool expected = false;
  return reactor_.Poll([&] {
    if (!verdicts_.live()) return false;
    if (!std::exchange(expected, true)) operations_.Expect(message);
    return operations_.RecvNow(message, data);
  });
}

void Mesh::Abort(Code code, std::string cause, int culprit) {
  Reactor::Guard guard(reactor_);
  verdicts_.Accuse({.culprit = culprit, .code = code, .cause = std::move(cause)});
}

// ---- What the reactor calls ----

bool Mesh::Advance(bool moved) {
  if (!moved && operations_.idle() && !peers_->any_heard()) return false;
  bool any = operations_.any_ready() || peers_->any_heard();
  any |= operations_.LookAtWatched();
  // First what came before a verdict: whose data is all there has ended well.
  operations_.RunReady();
  Hear();
  if (moved) peers_->TurnAwayAll(complete_);
  operations_.RunReady();
  peers_->FreeSent();
  return any;
}

void Mesh::Hear() {
  while (peers_->any_heard()) {
    for (int rank : peers_->TakeHeard()) {
      if (const Status& status = peers_->HeardStatus(rank); !status.ok()) {
        watch_.OnPeerFailed(rank, status);
        verdicts_.OnHeardOut(rank);
        continue;
      }
      const std::string text(peers_->HeardText(rank));
      peers_->Listen(rank);
      if (!text.empty()) OnControl(rank, text);
    }
  }
}

void Mesh::OnControl(int rank, std::string_view text) {
  switch (text.front()) {
    case 'V':
    case 'L':
    case 'U': return verdicts_.OnControl(rank, text);
    default: return watch_.OnControl(rank, text);
  }
}

int64_t Mesh::OnTimer(int64_t now) {
  int64_t next;
  {
    Reactor::Guard guard(reactor_);
    if (verdicts_.closed()) return INT64_MAX;
    reactor_.ReceiveLocked();  // those who drive may be summing
    next = verdicts_.OnTimer(now);
    if (verdicts_.live()) next = std::min(next, watch_.OnTimer(now));
  }
  Report();
  Deliver();
  return next;
}

// ---- The end ----

void Mesh::OnEnded(const Status& status) {
  watch_.NoteSuspects();
  operations_.EndAll(status);
  report_due_ = true;
}

// Says why the group ended, and keeps its last operations if there is a folder for them.
void Mesh::Report() {
  std::string why, operations;
  {
    Reactor::Guard guard(reactor_);
    if (!std::exchange(report_due_, false)) return;
    why = verdicts_.status().message();
    if (!options_.dump_folder.empty()) operations = recorder_.Json();
  }
  if (!operations.empty()) {
    Status kept = MakeDirectories(options_.dump_folder);
    if (kept.ok()) kept = WriteFileAtomically(DumpPath(".json"), AsBytes(operations));
    if (kept.ok()) DropRecorderFile();
    why += kept.ok() ? Cat("; its last operations are in ", DumpPath(".json"))
                     : Cat("; its last operations could not be kept: ", kept.message());
  }
  if (options_.log != nullptr) options_.log->Write(LogLevel::kError, why);
}

// Empty if there is no folder for it.
std::string Mesh::DumpPath(std::string_view extension) const {
  if (options_.dump_folder.empty()) return "";
  std::string name = options_.name;
  std::replace(name.begin(), name.end(), '/', '-');
  return JoinPath(options_.dump_folder,
                  Cat(name, "-", options_.epoch, "-", options_.rank, extension));
}

// Nobody needs it any more.
void Mesh::DropRecorderFile() {
  if (!recorder_.path().empty()) RemoveFile(recorder_.path()).IgnoreError();
}

// What this rank accuses somebody of, perhaps itself, is not lost if it closes right after.
void Mesh::AwaitVerdict() {
  auto pending = [this] {
    Reactor::Guard guard(reactor_);
    return verdicts_.pending();
  };
  DriveWhile(pending, SystemClock().NowNanos() + kCloseNanos);
}

void Mesh::DriveWhile(FunctionRef<bool()> pending, int64_t give_up) {
  for (auto pause = kFirstFlushPause; pending() && SystemClock().NowNanos() < give_up;) {
    if (reactor_.Turn()) {
      pause = kFirstFlushPause;
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLastFlushPause);
  }
}

void Mesh::Close() {
  AwaitVerdict();
  verdicts_.StopAsking();
  const int64_t give_up = SystemClock().NowNanos() + kCloseNanos;
  {
    Reactor::Guard guard(reactor_);
    if (!verdicts_.Close()) return;
    operations_.EndAll(Cancelled("group '", options_.name, "' was closed"));
    peers_->Close(Cat("rank ", options_.rank, " closed group '", options_.name, "'"));
  }
  Deliver();
  // Threads that sum use the memory of their operations.
  auto summing = [this] {
    Reactor::Guard guard(reactor_);
    return !operations_.active().empty();
  };
  DriveWhile(summing, INT64_MAX);
  // What was sent goes out, unless a peer does not take it.
  auto flushing = [this] {
    Reactor::Guard guard(reactor_);
    return !peers_->flushed();
  };
  DriveWhile(flushing, give_up);
  reactor_.LeavePoller();
  Report();
  if (status().ok()) DropRecorderFile();
  address_.TakeBack();
}

}  // namespace hr::comm
