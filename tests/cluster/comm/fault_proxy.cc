#include "tests/cluster/comm/fault_proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include "runtime/base/cancel.h"
#include "transport/tcp/socket.h"

namespace hr::comm {
namespace {

constexpr size_t kHeld = 256 << 10;
constexpr int64_t kDelayNanos = 3'000'000;
constexpr size_t kMostPiece = 3000;

void Reset(const Descriptor& socket) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

FaultProxy::FaultProxy() : wake_(std::move(WakeEvent::Create()).value()) {
  thread_ = std::thread([this] { Run(); });
}

FaultProxy::~FaultProxy() {
  stop_ = true;
  wake_.Set();
  thread_.join();
}

std::string FaultProxy::Route(int from, int to, const std::string& address) {
  std::lock_guard lock(mutex_);
  for (Way& way : ways_) {
    if (way.from == from && way.to == to && way.target == address) return way.own;
  }
  Way& way = ways_.emplace_back();
  way.listener =
      std::move(tcp::ListenTcp(tcp::SocketAddress::From("127.0.0.1", 0).value())).value();
  way.own = tcp::LocalAddress(way.listener.get())->Text();
  way.target = address;
  way.from = from;
  way.to = to;
  if (from == struck_ || to == struck_) way.fault = new_fault_;
  wake_.Set();
  return way.own;
}

void FaultProxy::Strike(int rank, NetFault fault) {
  std::lock_guard lock(mutex_);
  for (Way& way : ways_) {
    if (way.from == rank || way.to == rank) way.fault = fault;
  }
  wake_.Set();
}

void FaultProxy::StrikeNew(int rank, NetFault fault) {
  std::lock_guard lock(mutex_);
  struck_ = rank;
  new_fault_ = fault;
}

void FaultProxy::Accept(Way& way) {
  Result<Descriptor> socket = tcp::AcceptTcp(way.listener.get());
  if (!socket.ok() || !socket->valid()) return;
  Result<Descriptor> onwards = tcp::ConnectTcp(tcp::SocketAddress::Parse(way.target).value());
  if (!onwards.ok()) return;
  Link& link = links_.emplace_back();
  link.way = &way;
  link.ends[0] = std::move(socket).value();
  link.ends[1] = std::move(onwards).value();
}

// Moves what it can of one direction. True if anything moved.
bool FaultProxy::Carry(Link& link, int from) {
  const NetFault fault = link.way->fault;
  if (fault == NetFault::kBlackHole) return false;
  if (fault == NetFault::kReset) {
    for (const Descriptor& end : link.ends) Reset(end);
    link.over = true;
    return true;
  }
  Flow& flow = link.flows[from];
  const int64_t now = SystemClock().NowNanos();
  bool moved = false;
  if (flow.bytes.size() < kHeld) {
    char bytes[64 << 10];
    Result<size_t> got =
        tcp::ReadSocket(link.ends[from].get(), reinterpret_cast<std::byte*>(bytes), sizeof bytes);
    if (!got.ok() && flow.bytes.empty()) return link.over = true;
    if (got.ok() && *got > 0) {
      if (flow.bytes.empty()) flow.due = now + (fault == NetFault::kDelay ? kDelayNanos : 0);
      flow.bytes.append(bytes, *got);
      moved = true;
    }
  }
  if (flow.bytes.empty() || now < flow.due) return moved;
  if (fault == NetFault::kCorrupt && !std::exchange(link.corrupted, true)) {
    flow.bytes[flow.bytes.size() / 2] ^= 4;
  }
  size_t count = flow.bytes.size();
  if (fault == NetFault::kPieces) count = std::min(count, 1 + random_() % kMostPiece);
  const Bytes piece = AsBytes(std::string_view(flow.bytes).substr(0, count));
  Result<size_t> written = tcp::WriteSocket(link.ends[1 - from].get(), {&piece, 1});
  if (!written.ok()) return link.over = true;
  flow.bytes.erase(0, *written);
  return moved || *written > 0;
}

void FaultProxy::Run() {
  while (!stop_) {
    bool moved = false;
    std::vector<pollfd> waits = {{wake_.handle(), POLLIN, 0}};
    {
      std::lock_guard lock(mutex_);
      for (Way& way : ways_) {
        if (way.fault != NetFault::kBlackHole && way.fault != NetFault::kReset) Accept(way);
        waits.push_back({way.listener.get(), POLLIN, 0});
      }
      for (Link& link : links_) {
        moved |= Carry(link, 0);
        if (!link.over) moved |= Carry(link, 1);
      }
      links_.remove_if([](const Link& link) { return link.over; });
      for (Link& link : links_) {
        if (link.way->fault == NetFault::kBlackHole) continue;
        for (const Descriptor& end : link.ends) waits.push_back({end.get(), POLLIN, 0});
      }
    }
    // What is held back or blocked is looked at again soon.
    if (!moved) ::poll(waits.data(), waits.size(), 1);
    wake_.Clear();
  }
}

}  // namespace hr::comm
