// One endpoint, whose peer is this test: it writes frames and reads those that are written to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/comm/stream_endpoint.h"

namespace hr::comm {
namespace {

constexpr size_t kLoanBytes = 100'000;

struct Wire {
  std::vector<std::byte> to_endpoint, from_endpoint;
};

class WireStream final : public ByteStream {
 public:
  explicit WireStream(Wire& wire) : wire_(wire) {}
  Result<size_t> Write(std::span<const Bytes> pieces) override {
    size_t total = 0;
    for (Bytes piece : pieces) {
      wire_.from_endpoint.insert(wire_.from_endpoint.end(), piece.begin(), piece.end());
      total += piece.size();
    }
    return total;
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    std::vector<std::byte>& from = wire_.to_endpoint;
    bytes = std::min(bytes, from.size());
    std::memcpy(to, from.data(), bytes);
    from.erase(from.begin(), from.begin() + static_cast<ptrdiff_t>(bytes));
    return bytes;
  }
  bool Arm(bool, bool) override { return true; }

 private:
  Wire& wire_;
};

struct Message {
  explicit Message(std::byte fill) : data(kLoanBytes, fill) {
    transfer.data = data.data();
    transfer.bytes = kLoanBytes;
    transfer.tag = 1;
    transfer.owner = this;
    transfer.done = [](Transfer& t) { static_cast<Message*>(t.owner)->done = true; };
  }
  std::vector<std::byte> data;
  Transfer transfer;
  bool done = false;
};

class StreamEndpointLoans : public ::testing::Test {
 protected:
  static constexpr StreamTraits kTraits = {.eager_bytes = 1000,
                                           .credit_bytes = 1 << 20,
                                           .frame_bytes = 1 << 20,
                                           .read_ahead = 256,
                                           .lends = true};

  void SetUp() override {
    Tell({.kind = FrameKind::kGreeting,
          .tag = kProtocolMagic,
          .label = kProtocolVersion,
          .bytes = 1 << 20});
    Run();
    Heard(FrameKind::kGreeting);
  }
  void Tell(const FrameHeader& header, Bytes payload = {}) {
    FrameHeader whole = header;
    whole.payload = static_cast<uint32_t>(payload.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(&whole);
    wire_.to_endpoint.insert(wire_.to_endpoint.end(), bytes, bytes + HeaderBytes(header.kind));
    wire_.to_endpoint.insert(wire_.to_endpoint.end(), payload.begin(), payload.end());
  }
  void Run() {
    for (int i = 0; i < 20; ++i) endpoint_.Progress();
  }
  // The next frame that the endpoint wrote, with its payload_.
  FrameHeader Take() {
    FrameHeader header{};
    std::vector<std::byte>& from = wire_.from_endpoint;
    std::memcpy(&header, from.data(), std::min(sizeof header, from.size()));
    const auto begin = from.begin() + static_cast<ptrdiff_t>(HeaderBytes(header.kind));
    payload_.assign(begin, begin + header.payload);
    from.erase(from.begin(), begin + header.payload);
    return header;
  }
  // The next of this kind; those before it are dropped.
  FrameHeader Heard(FrameKind kind) {
    while (!wire_.from_endpoint.empty()) {
      if (const FrameHeader header = Take(); header.kind == kind) return header;
    }
    ADD_FAILURE() << "no frame of kind " << static_cast<int>(kind);
    return {};
  }
  // Whether there is a frame of this kind among those that it wrote, which are dropped.
  bool HasHeard(FrameKind kind) {
    bool heard = false;
    while (!wire_.from_endpoint.empty()) heard |= Take().kind == kind;
    return heard;
  }
  // Shows the endpoint this process, so that it reads from it, and offers `at`.
  void Probe() {
    Tell({.kind = FrameKind::kProbe,
          .tag = reinterpret_cast<uintptr_t>(&secret_),
          .label = secret_,
          .sender = PeerMemory::OwnProcess()});
    Run();
    Heard(FrameKind::kReads);
  }
  void Offer(uint64_t place, uint32_t sender) {
    Tell({.kind = FrameKind::kOffer, .tag = 1, .bytes = kLoanBytes, .sender = sender},
         {reinterpret_cast<const std::byte*>(&place), sizeof place});
    Run();
  }
  // The first message is streamed, as the endpoint learns by turns which way is better.
  void StreamOne() {
    Message message(std::byte{1});
    endpoint_.Recv(message.transfer);
    Offer(reinterpret_cast<uintptr_t>(message.data.data()), 1);
    Tell({.kind = FrameKind::kData, .receiver = Heard(FrameKind::kInvite).receiver}, message.data);
    Run();
    ASSERT_TRUE(message.done);
  }
  // So it goes for `place`, where message 2 is said to be, first.
  void OfferSecond(Message& room, uint64_t place) {
    Probe();
    StreamOne();
    endpoint_.Recv(room.transfer);
    Offer(place, 2);
  }

  Wire wire_;
  const uint64_t secret_ = 0x1234567812345678;
  std::vector<std::byte> payload_;
  StreamEndpoint endpoint_{std::make_unique<WireStream>(wire_), kTraits, "endpoint"};
};

#ifdef __linux__

TEST_F(StreamEndpointLoans, MessageIsReadAndBelievedWhenItIsSettled) {
  Message sent(std::byte{7}), room(std::byte{0});
  OfferSecond(room, reinterpret_cast<uintptr_t>(sent.data.data()));
  EXPECT_EQ(Heard(FrameKind::kReading).sender, 2u);
  const FrameHeader read = Heard(FrameKind::kRead);
  EXPECT_EQ(read.sender, 2u);
  EXPECT_FALSE(room.done);
  Tell({.kind = FrameKind::kSettle, .receiver = read.receiver});
  Run();
  ASSERT_TRUE(room.done);
  EXPECT_TRUE(room.transfer.status.ok());
  EXPECT_TRUE(room.data == sent.data);
}

TEST_F(StreamEndpointLoans, MessageThatWasCancelledMeanwhileIsAborted) {
  Message sent(std::byte{7}), room(std::byte{0});
  OfferSecond(room, reinterpret_cast<uintptr_t>(sent.data.data()));
  Tell({.kind = FrameKind::kWithdraw, .receiver = Heard(FrameKind::kRead).receiver});
  Run();
  ASSERT_TRUE(room.done);
  EXPECT_EQ(room.transfer.status.code(), Code::kAborted);
}

TEST_F(StreamEndpointLoans, WhatCannotBeReadIsStreamed) {
  Message sent(std::byte{7}), room(std::byte{0});
  OfferSecond(room, 64);
  const FrameHeader invite = Heard(FrameKind::kInvite);
  EXPECT_EQ(invite.sender, 2u);
  Tell({.kind = FrameKind::kData, .receiver = invite.receiver}, sent.data);
  Run();
  ASSERT_TRUE(room.done);
  EXPECT_TRUE(room.transfer.status.ok());
  EXPECT_TRUE(room.data == sent.data);
}

TEST_F(StreamEndpointLoans, WhatCannotBeReadIsNotTriedForLong) {
  Probe();
  int tries = 0;
  for (uint32_t id = 1; id <= 50; ++id) {
    Message room(std::byte{0});
    endpoint_.Recv(room.transfer);
    Offer(64, id);
    tries += HasHeard(FrameKind::kReading);
    endpoint_.Cancel(room.transfer);
  }
  EXPECT_LE(tries, 4);
}

TEST_F(StreamEndpointLoans, CancelledReceiveLetsTheSenderGo) {
  Message sent(std::byte{7}), room(std::byte{0});
  OfferSecond(room, reinterpret_cast<uintptr_t>(sent.data.data()));
  const uint32_t id = Heard(FrameKind::kRead).receiver;
  endpoint_.Cancel(room.transfer);
  EXPECT_EQ(room.transfer.status.code(), Code::kCancelled);
  Tell({.kind = FrameKind::kSettle, .receiver = id});
  Run();
  EXPECT_TRUE(endpoint_.status().ok()) << endpoint_.status().ToString();
}

TEST_F(StreamEndpointLoans, WhatIsStreamedCannotBeSettled) {
  Probe();
  Message room(std::byte{0});
  endpoint_.Recv(room.transfer);
  Offer(reinterpret_cast<uintptr_t>(room.data.data()), 1);
  Tell({.kind = FrameKind::kSettle, .receiver = Heard(FrameKind::kInvite).receiver});
  Run();
  EXPECT_EQ(endpoint_.status().code(), Code::kDataLoss);
  EXPECT_TRUE(room.done);
}

#endif

// Another host has a process of the same number, too.
TEST_F(StreamEndpointLoans, ProcessThatDoesNotHaveTheSecretIsNotRead) {
  const uint64_t other = 1;
  Tell({.kind = FrameKind::kProbe,
        .tag = reinterpret_cast<uintptr_t>(&other),
        .label = secret_,
        .sender = PeerMemory::OwnProcess()});
  Message sent(std::byte{7}), room(std::byte{0});
  for (uint32_t id = 1; id < 5; ++id) {
    endpoint_.Recv(room.transfer);
    Offer(reinterpret_cast<uintptr_t>(sent.data.data()), id);
    const uint32_t receiver = Heard(FrameKind::kInvite).receiver;
    Tell({.kind = FrameKind::kData, .receiver = receiver}, sent.data);
    Run();
  }
  EXPECT_TRUE(endpoint_.status().ok());
}

TEST_F(StreamEndpointLoans, SenderShowsWhereAMessageIsAndSettles) {
  Tell({.kind = FrameKind::kReads});
  Run();
  Message sent(std::byte{7});
  endpoint_.Send(sent.transfer);
  Run();
  const FrameHeader offer = Heard(FrameKind::kOffer);
  ASSERT_EQ(payload_.size(), sizeof(uint64_t));
  uint64_t place = 0;
  std::memcpy(&place, payload_.data(), sizeof place);
  EXPECT_EQ(place, reinterpret_cast<uintptr_t>(sent.data.data()));
  EXPECT_FALSE(sent.done);
  Tell({.kind = FrameKind::kRead, .sender = offer.sender, .receiver = 9});
  Run();
  EXPECT_TRUE(sent.done && sent.transfer.status.ok());
  EXPECT_EQ(Heard(FrameKind::kSettle).receiver, 9u);
}

TEST_F(StreamEndpointLoans, CancelledMessageIsNotSettled) {
  Tell({.kind = FrameKind::kReads});
  Run();
  Message sent(std::byte{7});
  endpoint_.Send(sent.transfer);
  Run();
  const uint32_t sender = Heard(FrameKind::kOffer).sender;
  endpoint_.Cancel(sent.transfer);
  Heard(FrameKind::kWithdraw);
  Tell({.kind = FrameKind::kRead, .sender = sender, .receiver = 9});
  Run();
  EXPECT_EQ(Heard(FrameKind::kWithdraw).receiver, 9u);
}

TEST_F(StreamEndpointLoans, NothingIsShownToPeersThatDoNotRead) {
  Message sent(std::byte{7});
  endpoint_.Send(sent.transfer);
  Run();
  Heard(FrameKind::kOffer);
  EXPECT_TRUE(payload_.empty());
}

}  // namespace
}  // namespace hr::comm
