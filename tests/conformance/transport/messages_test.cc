// Messages arrive whole, in order by tag, whatever their size and whoever is first.
#include "tests/conformance/transport/fixture.h"

namespace hr::comm {
namespace {

using TransportMessages = TransportTest;

TEST_P(TransportMessages, TellsWhoThePeerIs) {
  EXPECT_EQ(to_right_->peer_identity(), "right");
  EXPECT_EQ(to_left_->peer_identity(), "left");
}

// Around the limits of eager messages, frames and rings.
constexpr size_t kMessageSizes[] = {0, 1, 8, 63, 4096, 8192, 8193, 65536, 262144, 262145, 5 << 20};

TEST_P(TransportMessages, EverySizeArrivesBothWays) {
  for (size_t bytes : kMessageSizes) {
    Message there(bytes, 1, 1), back(bytes, 2, 2);
    auto at_right = Message::Room(bytes, 1), at_left = Message::Room(bytes, 2);
    there.transfer.label = 77;
    to_left_->Recv(at_right->transfer);
    to_right_->Send(there.transfer);
    to_left_->Send(back.transfer);
    to_right_->Recv(at_left->transfer);
    ASSERT_TRUE(Until([&] {
      return at_right->done() && at_left->done() && there.done() && back.done();
    })) << bytes;
    EXPECT_TRUE(at_right->transfer.status.ok()) << at_right->transfer.status.ToString();
    EXPECT_EQ(at_right->transfer.received, bytes);
    EXPECT_EQ(at_right->transfer.label, 77u);
    EXPECT_TRUE(at_right->data == there.data) << bytes;
    EXPECT_TRUE(at_left->data == back.data) << bytes;
  }
}

TEST_P(TransportMessages, MessagesBeforeTheirReceiveWait) {
  for (size_t bytes : kMessageSizes) {
    Message sent(bytes, 5);
    auto room = Message::Room(bytes, 5);
    to_right_->Send(sent.transfer);
    for (int i = 0; i < 100; ++i) left_->Progress(), right_->Progress();
    EXPECT_FALSE(room->done());
    to_left_->Recv(room->transfer);
    ASSERT_TRUE(Until([&] { return room->done() && sent.done(); })) << bytes;
    EXPECT_TRUE(room->data == sent.data) << bytes;
  }
}

TEST_P(TransportMessages, SameTagKeepsTheOrder) {
  // Small and large alternate, so eager messages must not overtake offers.
  std::vector<std::unique_ptr<Message>> sent, rooms;
  for (unsigned i = 0; i < 40; ++i) {
    const size_t bytes = i % 2 == 0 ? 100 : 100'000;
    sent.push_back(std::make_unique<Message>(bytes, 9, i));
    sent.back()->transfer.label = i;
    rooms.push_back(Message::Room(100'000, 9));
    to_right_->Send(sent.back()->transfer);
  }
  for (auto& room : rooms) to_left_->Recv(room->transfer);
  ASSERT_TRUE(Until([&] {
    for (auto& room : rooms)
      if (!room->done()) return false;
    return true;
  }));
  for (unsigned i = 0; i < rooms.size(); ++i) {
    EXPECT_EQ(rooms[i]->transfer.label, i);
    EXPECT_EQ(std::memcmp(rooms[i]->data.data(), sent[i]->data.data(), sent[i]->data.size()), 0);
  }
}

TEST_P(TransportMessages, ReceivesTakeTheirTagOnly) {
  Message first(50'000, 1, 1), second(64, 2, 2);
  auto room_first = Message::Room(50'000, 1), room_second = Message::Room(64, 2);
  to_right_->Send(first.transfer);
  to_right_->Send(second.transfer);
  to_left_->Recv(room_second->transfer);
  // The first message, which nobody has asked for yet, does not hold the second up.
  ASSERT_TRUE(Until([&] { return room_second->done(); }));
  EXPECT_FALSE(room_first->done());
  to_left_->Recv(room_first->transfer);
  ASSERT_TRUE(Until([&] { return room_first->done(); }));
  EXPECT_TRUE(room_first->data == first.data);
}

TEST_P(TransportMessages, FloodWithoutReceiverIsHeldBackAndArrivesLater) {
  // Far more small messages than the credit allows: memory stays bounded, none is lost.
  std::vector<std::unique_ptr<Message>> sent, rooms;
  for (unsigned i = 0; i < 8000; ++i) {
    sent.push_back(std::make_unique<Message>(1024, 3, i));
    to_right_->Send(sent.back()->transfer);
    if (i % 16 == 0) left_->Progress(), right_->Progress();
  }
  Settle();
  int accepted = 0;
  for (auto& message : sent) accepted += message->completions;
  EXPECT_LT(accepted, 5000) << "all 8 MB were taken although nobody receives";
  for (unsigned i = 0; i < 8000; ++i) {
    rooms.push_back(Message::Room(1024, 3));
    to_left_->Recv(rooms.back()->transfer);
  }
  ASSERT_TRUE(Until([&] { return rooms.back()->done() && sent.back()->done(); }));
  for (unsigned i = 0; i < 8000; ++i) {
    ASSERT_EQ(rooms[i]->completions, 1);
    ASSERT_TRUE(rooms[i]->data == sent[i]->data) << i;
  }
}

TEST_P(TransportMessages, SteadyTrafficReturnsItsCredit) {
  for (unsigned i = 0; i < 5000; ++i) {
    Message sent(1000, 4, i);
    auto room = Message::Room(1000, 4);
    to_left_->Recv(room->transfer);
    to_right_->Send(sent.transfer);
    ASSERT_TRUE(Until([&] { return room->done() && sent.done(); })) << i;
    ASSERT_TRUE(room->data == sent.data) << i;
  }
}

TEST_P(TransportMessages, TooLongForTheRoomFailsOnlyThatReceive) {
  for (size_t bytes : {size_t{100}, size_t{1} << 20}) {
    Message sent(bytes, 1), next(8, 1);
    auto room = Message::Room(bytes - 1, 1), room_next = Message::Room(8, 1);
    to_left_->Recv(room->transfer);
    to_left_->Recv(room_next->transfer);
    to_right_->Send(sent.transfer);
    to_right_->Send(next.transfer);
    ASSERT_TRUE(Until([&] { return room->done() && sent.done() && room_next->done(); }));
    EXPECT_EQ(room->transfer.status.code(), Code::kInvalidArgument);
    EXPECT_EQ(room->transfer.received, bytes);
    EXPECT_EQ(room->data[0], std::byte{0xA5}) << "a message that does not fit is not written";
    EXPECT_TRUE(room_next->transfer.status.ok());
    EXPECT_TRUE(room_next->data == next.data);
  }
}

TEST_P(TransportMessages, ShorterThanTheRoomIsFine) {
  Message sent(10, 1);
  auto room = Message::Room(20, 1);
  to_left_->Recv(room->transfer);
  to_right_->Send(sent.transfer);
  ASSERT_TRUE(Until([&] { return room->done(); }));
  EXPECT_EQ(room->transfer.received, 10u);
  EXPECT_EQ(room->data[10], std::byte{0xA5});
}

TEST_P(TransportMessages, SmallOnesDoNotStandInLineBehindLargeOnes) {
  std::vector<std::unique_ptr<Message>> sent, rooms;
  Message small(64, 2);
  auto room_small = Message::Room(64, 2);
  to_left_->Recv(room_small->transfer);
  for (unsigned i = 0; i < 64; ++i) {
    sent.push_back(std::make_unique<Message>(1 << 20, 1, i));
    rooms.push_back(Message::Room(1 << 20, 1));
    to_left_->Recv(rooms.back()->transfer);
    to_right_->Send(sent.back()->transfer);
  }
  for (int i = 0; i < 20; ++i) left_->Progress(), right_->Progress();
  to_right_->Send(small.transfer);
  ASSERT_TRUE(Until([&] { return room_small->done(); }));
  EXPECT_FALSE(rooms.back()->done());
  ASSERT_TRUE(Until([&] { return rooms.back()->done(); }));
  EXPECT_TRUE(room_small->data == small.data);
  for (size_t i = 0; i < rooms.size(); ++i) EXPECT_TRUE(rooms[i]->data == sent[i]->data) << i;
}

// Both send so much that either's invitations and credit would wait long behind its own data.
TEST_P(TransportMessages, ManyLargeOnesCrossEachOther) {
  constexpr unsigned kCount = 12;
  constexpr size_t kBytes = 3 << 20;
  std::vector<std::unique_ptr<Message>> sent, rooms;
  for (unsigned i = 0; i < 2 * kCount; ++i) {
    Endpoint& to = i % 2 == 0 ? *to_right_ : *to_left_;
    Endpoint& from = i % 2 == 0 ? *to_left_ : *to_right_;
    // Some are eager where the transport sends so much uninvited.
    const size_t bytes = i % 3 == 0 ? kBytes / 16 : kBytes;
    sent.push_back(std::make_unique<Message>(bytes, i / 4, i));
    rooms.push_back(Message::Room(kBytes, i / 4));
    to.Send(sent.back()->transfer);
    from.Recv(rooms.back()->transfer);
  }
  ASSERT_TRUE(Until([&] {
    return std::all_of(rooms.begin(), rooms.end(), [](const auto& room) { return room->done(); });
  }));
  for (size_t i = 0; i < rooms.size(); ++i) {
    ASSERT_EQ(rooms[i]->transfer.received, sent[i]->data.size()) << i;
    EXPECT_EQ(std::memcmp(rooms[i]->data.data(), sent[i]->data.data(), sent[i]->data.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransportMessages, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
