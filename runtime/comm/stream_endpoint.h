// An Endpoint over a ByteStream.
//
// Small messages are eager: one frame each, sent uninvited as long as the peer has credit for them.
// Large ones, and small ones without credit, are offered; when the peer has posted a receive it
// invites them, and they are read straight into the destination. So memory for messages that nobody
// waits for is bounded, and a message that nobody takes never blocks the others.
#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/byte_stream.h"
#include "runtime/comm/frame.h"
#include "runtime/comm/peer_memory.h"
#include "runtime/comm/receive_path.h"
#include "runtime/comm/transfer_queue.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

class StreamEndpoint final : public Endpoint {
 public:
  // `identity` (at most kMaxText bytes) is told to the peer in the greeting.
  StreamEndpoint(std::unique_ptr<ByteStream> stream, const StreamTraits& traits,
                 std::string_view identity);
  ~StreamEndpoint() override;
  // Enters the endpoint into `list`, which it leaves when destroyed.
  void SignInto(std::vector<StreamEndpoint*>& list);

  bool established() const override { return established_; }
  std::string_view peer_identity() const override { return peer_identity_; }
  const Status& status() const override { return status_; }
  bool peer_left() const override { return peer_left_; }
  void Send(Transfer& transfer) override;
  void Recv(Transfer& transfer) override;
  bool SendNow(uint64_t tag, uint64_t label, Bytes message) override;
  bool RecvNow(uint64_t tag, uint64_t label, std::span<std::byte> to) override;
  void Cancel(Transfer& transfer) override;
  bool IsComing(const Transfer& receive) const override;
  bool Unclaimed(size_t index, uint64_t* tag, uint64_t* label) const override;
  void Close(std::string_view reason) override;
  bool flushed() const override;
  uint64_t arrivals() const override { return arrivals_; }

  // Writes what waits and reads what has come. True if anything moved.
  bool Progress();
  // See ByteStream::Arm.
  bool Arm();

 private:
  // A frame that waits to be written, or is being written.
  struct Outgoing {
    FrameHeader header;
    const std::byte* payload = nullptr;
    std::string owned;             // the payload, if it is ours
    Transfer* transfer = nullptr;  // whose message this is a piece of
    size_t written = 0;            // of header and payload
    bool denial = false;           // see Deny
    const std::byte* begin() const { return owned.empty() ? payload : AsBytes(owned).data(); }
    size_t header_bytes() const { return HeaderBytes(header.kind); }
    bool done() const { return written == header_bytes() + header.payload; }
  };
  struct Offer {
    uint64_t label, bytes;
    uint64_t place;  // where the peer has the message, if it may be read there; else 0
    uint32_t sender;
  };
  // A message or an offer that came before its receive.
  struct Arrival {
    uint64_t tag = 0, label = 0, bytes = 0;
    uint32_t sender = 0;  // of an offer, as is …
    uint64_t place = 0;
    bool offer = false;
    bool complete = false;        // an eager message's bytes are all there
    Transfer* claimed = nullptr;  // the receive that waits for them
    std::unique_ptr<std::byte[]> data;
    size_t room = 0;  // in data
  };

  static Status Broken(std::string_view what);
  bool TakeCredit(FrameHeader& header, size_t bytes);
  void Enqueue(Outgoing frame);
  // A frame of nothing but ids.
  void Tell(FrameKind kind, uint32_t sender, uint32_t receiver);
  // Answers who asks for a message that is not (or no longer) offered.
  Status Deny();
  void EnqueueText(FrameKind kind, uint32_t sender, std::string_view text);
  Result<size_t> WriteSome(Outgoing& frame);
  void OnWritten(Outgoing& frame);
  bool Flush();
  void EnqueueData(Transfer& transfer, uint32_t receiver);
  void Detach(size_t index);
  void DropOutgoing();

  bool TakeAhead(uint64_t tag, uint64_t label, std::span<std::byte> to);
  void OnReadFailure(Status status);
  void Leave();
  bool NoteTaken(size_t payload);
  Status ReadAhead(size_t bytes, ExpectedFrame* expected);
  Result<size_t> Fill(std::byte* to, size_t bytes);
  Result<size_t> Drop(size_t bytes);
  void StopReading();
  bool HasHeader() const;
  Result<bool> ReadHeader();
  Result<bool> ReadSome();
  Status OnHeader();
  Status OnEager();
  Status OnOffer();
  Status OnInvite();
  Status OnData();
  Status OnCredit();
  Status OnWithdraw();
  Status OnPayload();
  Status OnGreeting();
  void OnEagerComplete();
  void OnArrivalComplete();
  void FinishReading(Status status);
  Status OnRefuse();

  void TakeOffer(Transfer& transfer, const Offer& offer);
  void Invite(Transfer& transfer, uint32_t sender);
  void TakeArrival(Transfer& transfer, Arrival& arrival);
  std::list<Arrival>::iterator FindArrival(uint64_t tag);
  Arrival& NewArrival();
  void DropArrival(std::list<Arrival>::iterator arrival);
  void ReturnCredit(uint64_t message_bytes);
  void Fail(Status status);

  void OfferMemory();
  void Lend(const Transfer& transfer, Outgoing& offer);
  void OnReading();
  Status OnRead();
  bool PeerIsBusy();
  Status OnProbe();
  bool Borrows(Transfer& transfer, uint64_t place);
  void Borrow(Transfer& transfer, uint64_t place, uint32_t sender);
  bool ReadPeerMemory();
  Status OnSettle();
  void NotePath(const Transfer& transfer, ReceivePath path);

  std::unique_ptr<ByteStream> stream_;
  std::vector<StreamEndpoint*>* list_ = nullptr;
  const StreamTraits traits_;
  Status status_;
  bool established_ = false;
  bool peer_left_ = false;
  bool closed_ = false;  // by this side
  // Closed on this side, and the end of what the peer writes has not come: how long it is awaited.
  std::optional<std::chrono::steady_clock::time_point> linger_until_;
  std::string peer_identity_;
  uint64_t arrivals_ = 0;
  uint32_t next_id_ = 1;

  // Outgoing.
  std::deque<Outgoing> outgoing_;
  size_t denials_ = 0;      // in outgoing_
  TransferQueue offered_;   // sends that wait for an invitation
  uint64_t credit_ = 0;     // 0 until the peer's greeting told its window
  uint64_t secret_ = 0;     // that the peer shows it can read
  bool lends_ = false;      // it can
  int64_t read_until_ = 0;  // it reads now, for about so long

  // Incoming.
  TransferQueue posted_;     // receives without a message
  TransferQueue receiving_;  // receives whose offer was invited, or has been read, by id
  TransferQueue borrowing_;  // receives whose offer is read where it lies
  PeerMemory peer_memory_;
  ReceivePathChooser receive_path_;
  uint64_t place_ = 0;  // in the offer being read
  std::list<Arrival> unexpected_;
  std::list<Arrival> spare_;     // to be used again
  size_t offers_ = 0;            // in unexpected_
  uint64_t uncredited_ = 0;      // eager bytes that came and were not credited back
  uint64_t credit_to_give_ = 0;  // of those, taken from the queue

  // The frame being read.
  FrameHeader header_{};
  size_t header_read_ = 0;
  size_t payload_left_ = 0;
  std::byte* sink_ = nullptr;    // where its next payload byte goes; null: dropped
  Transfer* reading_ = nullptr;  // the receive it belongs to
  Arrival* arriving_ = nullptr;  // the early message it belongs to
  std::string text_;             // its text
  bool turn_over_ = false;       // a long message has come whole

  size_t read_ahead_;             // how much to ask for when a header is due
  std::vector<std::byte> ahead_;  // bytes read before they were asked for
  size_t ahead_begin_ = 0;
  size_t ahead_end_ = 0;
  bool drained_ = false;  // the last reading got less than it asked for
};

}  // namespace hr::comm
