// The connections of a mesh: an endpoint to every other rank, and the short control messages that
// the ranks send each other over it. Like the transports below, it is serialised by its owner.
//
// Control messages are a letter and text: W welcome (meeting.cc), H heartbeat, N nothing but a
// nudge, V, L and U on the way to a verdict (verdicts.cc), S, P, Q and A about operations
// (peer_watch.cc).
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/transport.h"

namespace hr::comm {

class Peers {
 public:
  explicit Peers(int size);

  int size() const { return static_cast<int>(peers_.size()); }
  void Add(std::unique_ptr<Transport> transport) { transports_.push_back(std::move(transport)); }
  std::span<const std::unique_ptr<Transport>> transports() const { return transports_; }

  // Takes over a connection to a rank that has none, and listens to its control messages.
  void Connect(int rank, std::unique_ptr<Endpoint> endpoint, Transport& transport);
  void Drop(int rank) { peers_[rank].endpoint.reset(); }
  // Drops all connections and the transports.
  void DropAll();
  // Drops the transports over which there is no connection, and strangers.
  void DropUnused();
  // Returns null for this rank, and for one that is not connected.
  Endpoint* endpoint(int rank) const { return peers_[rank].endpoint.get(); }
  Transport* transport(int rank) const { return peers_[rank].transport; }
  // Returns whether there is a connection that can be used.
  bool IsUp(int rank) const {
    return peers_[rank].endpoint != nullptr && peers_[rank].endpoint->status().ok();
  }

  // Sends a control message, or as much of it as the peer has room for, if the rank is up.
  void Send(int rank, std::string text);
  void SendToAll(const std::string& text);
  // Ends the sleep of a rank, as any message does, and allocates nothing.
  void Wake(int rank);
  // Returns the ranks of which a message has come, or none will come any more, since the last call.
  // It is valid until the next one. What comes of them meanwhile is for the next one, too.
  std::span<const int> TakeHeard();
  bool any_heard() const { return !heard_.empty(); }
  // Of a rank that was heard: why nothing comes any more, or OK and what has come. Valid until
  // Listen(), which waits for the next message.
  const Status& HeardStatus(int rank) const { return peers_[rank].control.status; }
  std::string_view HeardText(int rank) const;
  void Listen(int rank);
  // Frees control messages that have been sent.
  void FreeSent();

  // Says no to one who has connected and is not expected.
  void TurnAway(std::unique_ptr<Endpoint> stranger, std::string_view why);
  // The same to all who come now; lets go of those who have heard it.
  void TurnAwayAll(std::string_view why);

  // Closes all connections in order; they have to be progressed until flushed().
  void Close(std::string_view reason);
  bool flushed() const;

 private:
  static constexpr uint64_t kControlTag = ~uint64_t{0};
  static constexpr size_t kControlBytes = 2048;

  struct Peer {
    std::unique_ptr<Endpoint> endpoint;
    Transport* transport = nullptr;
    Transfer control;  // always posted
    std::byte control_text[kControlBytes];
    Transfer nudge;  // always the same message
    bool nudging = false;
  };
  struct Message {
    Transfer transfer;
    std::string text;
    bool sent = false;
  };

  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Peer> peers_;
  std::vector<int> heard_;    // since TakeHeard(), which gives …
  std::vector<int> hearing_;  // … these; both have their room from the beginning
  std::list<Message> messages_;
  std::list<std::unique_ptr<Endpoint>> strangers_;
};

}  // namespace hr::comm
