#include "runtime/comm/peers.h"

#include <algorithm>

namespace hr::comm {

Peers::Peers(int size) : peers_(size) {
  heard_.reserve(size);
  hearing_.reserve(size);
}

void Peers::Connect(int rank, std::unique_ptr<Endpoint> endpoint, Transport& transport) {
  peers_[rank].endpoint = std::move(endpoint);
  peers_[rank].transport = &transport;
  Listen(rank);
}

void Peers::DropAll() {
  for (Peer& peer : peers_) peer.endpoint.reset();
  strangers_.clear();
  transports_.clear();
}

void Peers::DropUnused() {
  strangers_.clear();
  std::erase_if(transports_, [this](const std::unique_ptr<Transport>& transport) {
    return std::none_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return peer.endpoint != nullptr && peer.transport == transport.get();
    });
  });
}

void Peers::Send(int rank, std::string text) {
  if (!IsUp(rank)) return;
  text.resize(std::min(text.size(), kControlBytes));
  Message& message = messages_.emplace_back();
  message.text = std::move(text);
  message.transfer.data = reinterpret_cast<std::byte*>(message.text.data());
  message.transfer.bytes = message.text.size();
  message.transfer.tag = kControlTag;
  message.transfer.owner = &message;
  message.transfer.done = [](Transfer& t) { static_cast<Message*>(t.owner)->sent = true; };
  peers_[rank].endpoint->Send(message.transfer);
}

void Peers::SendToAll(const std::string& text) {
  for (int rank = 0; rank < size(); ++rank) Send(rank, text);
}

// One that is still on its way does, too.
void Peers::Wake(int rank) {
  Peer& peer = peers_[rank];
  if (!IsUp(rank) || std::exchange(peer.nudging, true)) return;
  static constexpr char kNudge = 'N';
  peer.nudge.data = reinterpret_cast<std::byte*>(const_cast<char*>(&kNudge));
  peer.nudge.bytes = sizeof kNudge;
  peer.nudge.tag = kControlTag;
  peer.nudge.owner = &peer;
  peer.nudge.done = [](Transfer& t) { static_cast<Peer*>(t.owner)->nudging = false; };
  peer.endpoint->Send(peer.nudge);
}

std::span<const int> Peers::TakeHeard() {
  hearing_.clear();
  hearing_.swap(heard_);
  return hearing_;
}

std::string_view Peers::HeardText(int rank) const {
  return AsText({peers_[rank].control_text, peers_[rank].control.received});
}

void Peers::Listen(int rank) {
  Peer& peer = peers_[rank];
  peer.control.data = peer.control_text;
  peer.control.bytes = kControlBytes;
  peer.control.tag = kControlTag;
  peer.control.owner = this;
  peer.control.done = [](Transfer& transfer) {
    auto& peers = *static_cast<Peers*>(transfer.owner);
    for (int rank = 0; rank < peers.size(); ++rank) {
      if (&peers.peers_[rank].control == &transfer) peers.heard_.push_back(rank);
    }
  };
  peer.endpoint->Recv(peer.control);
}

void Peers::FreeSent() {
  if (messages_.empty()) return;
  messages_.remove_if([](const Message& message) { return message.sent; });
}

void Peers::TurnAway(std::unique_ptr<Endpoint> stranger, std::string_view why) {
  stranger->Close(why);
  strangers_.push_back(std::move(stranger));
}

void Peers::TurnAwayAll(std::string_view why) {
  for (auto& transport : transports_) {
    while (auto endpoint = transport->Accept()) TurnAway(std::move(endpoint), why);
  }
  if (strangers_.empty()) return;
  strangers_.remove_if([](const auto& endpoint) { return endpoint->flushed(); });
}

void Peers::Close(std::string_view reason) {
  for (Peer& peer : peers_) {
    if (peer.endpoint != nullptr) peer.endpoint->Close(reason);
  }
}

bool Peers::flushed() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.endpoint == nullptr || peer.endpoint->flushed();
  });
}

}  // namespace hr::comm
