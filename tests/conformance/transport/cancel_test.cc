// Cancelled transfers: their memory is the caller's again at once, and nothing else is harmed.
#include <sys/mman.h>

#include "tests/conformance/transport/fixture.h"

namespace hr::comm {
namespace {

class TransportCancel : public TransportTest {
 protected:
  void TakeTurns(int turns) {
    for (int i = 0; i < turns; ++i) (i % 2 == 0 ? left_ : right_)->Progress();
  }
  // Whether the connection still works.
  bool AnotherArrives(unsigned seed) {
    Message sent(512, 2, seed);
    auto room = Message::Room(512, 2);
    to_right_->Send(sent.transfer);
    to_left_->Recv(room->transfer);
    const bool done = Until([&] { return room->done() && sent.done(); });
    EXPECT_TRUE(room->data == sent.data);
    return done;
  }
};

TEST_P(TransportCancel, CancelledReceiveTakesNothing) {
  auto cancelled = Message::Room(64), room = Message::Room(64);
  to_left_->Recv(cancelled->transfer);
  to_left_->Recv(room->transfer);
  to_left_->Cancel(cancelled->transfer);
  EXPECT_EQ(cancelled->completions, 1);
  EXPECT_EQ(cancelled->transfer.status.code(), Code::kCancelled);
  Message sent(64);
  to_right_->Send(sent.transfer);
  ASSERT_TRUE(Until([&] { return room->done(); }));
  EXPECT_TRUE(room->data == sent.data);
  EXPECT_EQ(cancelled->data[0], std::byte{0xA5});
}

TEST_P(TransportCancel, WithdrawnOfferIsAsIfNeverSent) {
  Message withdrawn(1 << 20, 1, 1), sent(1 << 20, 1, 2);
  to_right_->Send(withdrawn.transfer);
  Settle();
  to_right_->Cancel(withdrawn.transfer);
  EXPECT_EQ(withdrawn.transfer.status.code(), Code::kCancelled);
  to_right_->Send(sent.transfer);
  Settle();
  auto room = Message::Room(1 << 20);
  to_left_->Recv(room->transfer);
  ASSERT_TRUE(Until([&] { return room->done(); }));
  EXPECT_TRUE(room->data == sent.data);
}

// A large message is cancelled after a growing number of turns, on either side, so that every state
// is met. Afterwards the connection still works.
TEST_P(TransportCancel, CancelAtEveryState) {
  for (int turns = 0; turns < 60; ++turns) {
    for (bool sender : {true, false}) {
      Message large(3 << 20, 1);
      auto room = Message::Room(3 << 20, 1);
      to_left_->Recv(room->transfer);
      to_right_->Send(large.transfer);
      TakeTurns(turns);
      Message& victim = sender ? large : *room;
      (sender ? to_right_ : to_left_)->Cancel(victim.transfer);
      ASSERT_EQ(victim.completions, 1);
      // The other side ends, too: by itself, or cancelled.
      ASSERT_TRUE(AnotherArrives(turns)) << turns << sender;
      Settle();
      to_right_->Cancel(large.transfer);
      to_left_->Cancel(room->transfer);
      EXPECT_EQ(large.completions, 1);
      EXPECT_EQ(room->completions, 1);
    }
  }
}

// The receiver does not keep up, so that the transport has all it can take when the sender cancels.
TEST_P(TransportCancel, CancelledMemoryIsNotReadAgain) {
  constexpr std::byte kBefore{0x11}, kAfter{0xEE};
  Message large(8 << 20);
  auto room = Message::Room(8 << 20);
  std::fill(large.data.begin(), large.data.end(), kBefore);
  to_left_->Recv(room->transfer);
  to_right_->Send(large.transfer);
  ASSERT_TRUE(Until([&] { return room->data[0] == kBefore; }));
  for (int i = 0; i < 1000; ++i) left_->Progress();
  ASSERT_FALSE(large.done());
  to_right_->Cancel(large.transfer);
  std::fill(large.data.begin(), large.data.end(), kAfter);
  Settle();
  EXPECT_EQ(std::count(room->data.begin(), room->data.end(), kAfter), 0);
}

// A transfer whose memory is given back to the system when it goes.
struct Mapped {
  Mapped(size_t bytes, std::byte fill, bool goes = true) : unmaps(goes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    transfer.data = static_cast<std::byte*>(memory);
    transfer.bytes = bytes;
    transfer.tag = 1;
    transfer.owner = this;
    transfer.done = [](Transfer& t) { static_cast<Mapped*>(t.owner)->done = true; };
    std::fill_n(transfer.data, bytes, fill);
  }
  ~Mapped() {
    std::fill_n(transfer.data, transfer.bytes, std::byte{0});
    if (unmaps) ::munmap(transfer.data, transfer.bytes);
  }

  Transfer transfer;
  bool done = false;
  const bool unmaps;
};

constexpr std::byte kSent{0x11}, kOther{0xEE};
constexpr size_t kCancelledSizes[] = {40 << 10, 300 << 10, 1 << 20, 3 << 20};

// Whoever reads the memory of a cancelled message finds it gone.
TEST_P(TransportCancel, CancelledMessageComesWholeOrNotAtAll) {
  int whole = 0;
  for (int turns = 0; turns < 300; turns += 1 + turns / 6) {
    for (size_t bytes : kCancelledSizes) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << turns << " turns");
      auto room = Message::Room(bytes, 1);
      to_left_->Recv(room->transfer);
      {
        Mapped message(bytes, kSent, GetParam().pins);
        to_right_->Send(message.transfer);
        TakeTurns(turns);
        to_right_->Cancel(message.transfer);
        ASSERT_TRUE(message.done);
      }
      ASSERT_TRUE(AnotherArrives(turns));
      Settle();
      to_left_->Cancel(room->transfer);
      ASSERT_TRUE(room->done());
      if (!room->transfer.status.ok()) continue;
      ++whole;
      ASSERT_EQ(std::count(room->data.begin(), room->data.end(), kSent), bytes);
    }
  }
  EXPECT_GT(whole, 0);
}

TEST_P(TransportCancel, CancelledReceiveIsNotWrittenAgain) {
  for (int turns = 0; turns < 300; turns += 1 + turns / 6) {
    for (size_t bytes : kCancelledSizes) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << turns << " turns");
      Message large(bytes, 1);
      Mapped room(bytes, kSent);
      to_left_->Recv(room.transfer);
      to_right_->Send(large.transfer);
      TakeTurns(turns);
      to_left_->Cancel(room.transfer);
      ASSERT_TRUE(room.done);
      std::fill_n(room.transfer.data, bytes, kOther);
      ASSERT_TRUE(AnotherArrives(turns));
      Settle();
      to_right_->Cancel(large.transfer);
      ASSERT_EQ(std::count(room.transfer.data, room.transfer.data + bytes, kOther), bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransportCancel, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
