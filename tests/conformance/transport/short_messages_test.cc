// The short way of small messages, SendNow and RecvNow, beside posted transfers. Where it is
// declined nothing has happened, and the long way is open.
#include "tests/conformance/transport/fixture.h"

namespace hr::comm {
namespace {

class TransportShortMessages : public TransportTest {
 protected:
  // By the short way where the transport knows it.
  void Send(Endpoint& to, Message& message) {
    const Transfer& transfer = message.transfer;
    if (to.SendNow(transfer.tag, transfer.label, {transfer.data, transfer.bytes})) {
      ++message.completions;
    } else {
      to.Send(message.transfer);
    }
  }
  // Likewise, once the message has come.
  bool Take(Endpoint& from, Message& room) {
    Transfer& transfer = room.transfer;
    bool taken = false;
    short_way_ |= Until([&] { return taken = RecvNow(from, room); }, 200);
    if (!taken) from.Recv(transfer);
    return taken || Until([&] { return room.done(); });
  }
  static bool RecvNow(Endpoint& from, Message& room) {
    const Transfer& transfer = room.transfer;
    return from.RecvNow(transfer.tag, transfer.label, {transfer.data, transfer.bytes});
  }
  using TransportTest::Until;
  // For so many turns.
  template <typename Done>
  bool Until(Done done, int turns) {
    for (int i = 0; i < turns; ++i) {
      if (done()) return true;
      left_->Progress();
      right_->Progress();
    }
    return false;
  }

  bool short_way_ = false;
};

TEST_P(TransportShortMessages, ArriveWhole) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{8}, size_t{63}, size_t{1000}}) {
    Message sent(bytes, 4, static_cast<unsigned>(bytes));
    sent.transfer.label = 11;
    auto room = Message::Room(bytes, 4);
    room->transfer.label = 11;
    Send(*to_right_, sent);
    ASSERT_TRUE(Take(*to_left_, *room)) << bytes;
    EXPECT_TRUE(room->data == sent.data) << bytes;
  }
  EXPECT_TRUE(short_way_);
}

// Who waits for a message looks at its connection alone.
TEST_P(TransportShortMessages, NeedNoTurnOfTheirReceiver) {
  Settle();
  for (size_t bytes : {8, 300, 1000, 4096}) {
    Message sent(bytes, 4, static_cast<unsigned>(bytes));
    auto room = Message::Room(bytes, 4);
    Send(*to_right_, sent);
    bool taken = false;
    for (int i = 0; i < 1'000'000 && !taken; ++i) {
      left_->Progress();
      taken = RecvNow(*to_left_, *room);
    }
    ASSERT_TRUE(taken) << bytes;
    EXPECT_TRUE(room->data == sent.data) << bytes;
  }
}

TEST_P(TransportShortMessages, ManyReturnTheirCredit) {
  // Many times what a peer may leave lying about.
  for (unsigned i = 0; i < 20'000; ++i) {
    Message sent(256, 4, i);
    auto room = Message::Room(256, 4);
    Send(*to_right_, sent);
    ASSERT_TRUE(Take(*to_left_, *room)) << i;
    ASSERT_TRUE(room->data == sent.data) << i;
    ASSERT_TRUE(Until([&] { return sent.done(); }));
  }
}

TEST_P(TransportShortMessages, StandBehindReceivesPostedBefore) {
  Message first(16, 4, 1), second(16, 4, 2);
  auto posted = Message::Room(16, 4), late = Message::Room(16, 4);
  to_left_->Recv(posted->transfer);
  Send(*to_right_, first);
  Send(*to_right_, second);
  ASSERT_TRUE(Take(*to_left_, *late));
  ASSERT_TRUE(Until([&] { return posted->done(); }));
  EXPECT_TRUE(posted->data == first.data);
  EXPECT_TRUE(late->data == second.data);
}

TEST_P(TransportShortMessages, LeaveOtherTagsAlone) {
  Message first(16, 4, 1), second(16, 5, 2);
  auto room_first = Message::Room(16, 4), room_second = Message::Room(16, 5);
  Send(*to_right_, first);
  Send(*to_right_, second);
  ASSERT_TRUE(Take(*to_left_, *room_second));
  ASSERT_TRUE(Take(*to_left_, *room_first));
  EXPECT_TRUE(room_first->data == first.data);
  EXPECT_TRUE(room_second->data == second.data);
}

TEST_P(TransportShortMessages, DoNotOvertakeWhatIsOnOffer) {
  Message large(2 << 20, 4, 1), small(16, 4, 2);
  auto room_large = Message::Room(2 << 20, 4), room_small = Message::Room(16, 4);
  to_right_->Send(large.transfer);
  Send(*to_right_, small);
  EXPECT_FALSE(Until([&] { return RecvNow(*to_left_, *room_small); }, 200));
  to_left_->Recv(room_large->transfer);
  ASSERT_TRUE(Take(*to_left_, *room_small));
  ASSERT_TRUE(Until([&] { return room_large->done(); }));
  EXPECT_TRUE(room_large->data == large.data);
  EXPECT_TRUE(room_small->data == small.data);
}

// What is not as the receiver thinks is left to the long way, which tells it so.
TEST_P(TransportShortMessages, AreLeftWhereTheyDoNotFit) {
  Message sent(16, 4, 1);
  sent.transfer.label = 1;
  auto other_label = Message::Room(16, 4), too_small = Message::Room(15, 4);
  other_label->transfer.label = 2;
  too_small->transfer.label = 1;
  Send(*to_right_, sent);
  EXPECT_FALSE(Until([&] { return RecvNow(*to_left_, *other_label); }, 100));
  EXPECT_FALSE(Until([&] { return RecvNow(*to_left_, *too_small); }, 100));
  auto room = Message::Room(16, 4);
  to_left_->Recv(room->transfer);
  ASSERT_TRUE(Until([&] { return room->done(); }));
  EXPECT_EQ(room->transfer.label, 1u);
  EXPECT_TRUE(room->data == sent.data);
}

TEST_P(TransportShortMessages, EndWithTheConnection) {
  Message sent(16, 4, 1);
  Send(*to_right_, sent);
  to_right_->Close("enough");
  auto room = Message::Room(16, 4), none = Message::Room(16, 4);
  ASSERT_TRUE(Take(*to_left_, *room));  // what came before the end
  EXPECT_TRUE(room->data == sent.data);
  ASSERT_TRUE(Until([&] {
    EXPECT_FALSE(RecvNow(*to_left_, *none));
    return !to_left_->status().ok();
  }));
  EXPECT_TRUE(to_left_->peer_left());
}

INSTANTIATE_TEST_SUITE_P(All, TransportShortMessages, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
