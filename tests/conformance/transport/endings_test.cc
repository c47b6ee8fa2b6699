// Close, loss and strangers: every transfer ends exactly once, and nothing else is harmed.
#include <thread>

#include "runtime/base/wake_event.h"
#include "tests/conformance/transport/fixture.h"

namespace hr::comm {
namespace {

using TransportEndings = TransportTest;

TEST_P(TransportEndings, CloseDeliversWhatWasSentAndSaysWhy) {
  Message sent(2000, 1);
  auto room = Message::Room(2000, 1), never = Message::Room(8, 2), own = Message::Room(8, 3);
  to_left_->Recv(room->transfer);
  to_left_->Recv(never->transfer);
  to_right_->Recv(own->transfer);
  to_right_->Send(sent.transfer);
  to_right_->Close("the job is over");
  EXPECT_EQ(own->transfer.status.code(), Code::kCancelled);
  ASSERT_TRUE(Until([&] { return never->done() && to_right_->flushed(); }));
  EXPECT_TRUE(room->transfer.status.ok()) << room->transfer.status.ToString();
  EXPECT_TRUE(room->data == sent.data);
  EXPECT_EQ(never->transfer.status.code(), Code::kUnavailable);
  EXPECT_NE(never->transfer.status.message().find("the job is over"), std::string_view::npos);
  // Later transfers end at once.
  Message late(8);
  to_left_->Send(late.transfer);
  EXPECT_EQ(late.completions, 1);
  EXPECT_EQ(late.transfer.status.code(), Code::kUnavailable);
}

// Each has more to write than the transport holds, and wants nothing more of the other.
TEST_P(TransportEndings, BothCloseWithMuchOnItsWay) {
  Message from_left(8 << 20, 1), from_right(8 << 20, 2);
  auto at_right = Message::Room(8 << 20, 1), at_left = Message::Room(8 << 20, 2);
  const std::byte none = at_left->data[0];
  to_left_->Recv(at_right->transfer);
  to_right_->Recv(at_left->transfer);
  to_right_->Send(from_left.transfer);
  to_left_->Send(from_right.transfer);
  ASSERT_TRUE(Until([&] { return at_left->data[0] != none && at_right->data[0] != none; }));
  to_right_->Close("enough");
  to_left_->Close("enough");
  EXPECT_TRUE(Until([&] { return to_right_->flushed() && to_left_->flushed(); }));
}

TEST_P(TransportEndings, MessagesThatCameBeforeTheEndAreStillReceived) {
  Message sent(500, 1);
  to_right_->Send(sent.transfer);
  to_right_->Close("done");
  ASSERT_TRUE(Until([&] { return !to_left_->status().ok(); }));
  EXPECT_TRUE(to_left_->peer_left());
  auto room = Message::Room(500, 1), none = Message::Room(500, 1);
  to_left_->Recv(room->transfer);
  to_left_->Recv(none->transfer);
  EXPECT_TRUE(room->done() && room->data == sent.data);
  EXPECT_EQ(none->transfer.status.code(), Code::kUnavailable);
}

TEST_P(TransportEndings, VanishedPeerFailsEverything) {
  for (int turns : {0, 1, 2, 5, 20}) {
    Message large(3 << 20, 1), small(8, 2);
    auto room = Message::Room(8, 3);
    auto far_room = Message::Room(3 << 20, 1);
    to_left_->Recv(far_room->transfer);
    to_right_->Send(large.transfer);
    to_right_->Recv(room->transfer);
    for (int i = 0; i < turns; ++i) (i % 2 == 0 ? left_ : right_)->Progress();
    to_left_.reset();
    ASSERT_TRUE(Until([&] { return room->done() && large.done(); })) << turns;
    EXPECT_EQ(room->transfer.status.code(), Code::kUnavailable);
    EXPECT_EQ(to_right_->status().code(), Code::kUnavailable);
    EXPECT_EQ(large.completions, 1);
    to_right_.reset();
    Connect();
  }
}

TEST_P(TransportEndings, NobodyAtTheAddress) {
  const std::string address = right_->address();
  to_left_.reset();
  to_right_.reset();
  right_.reset();
  auto endpoint = left_->Connect(address);
  if (!endpoint.ok()) {
    EXPECT_EQ(endpoint.status().code(), Code::kUnavailable) << endpoint.status().ToString();
    return;
  }
  Message message(8);
  (*endpoint)->Send(message.transfer);
  ASSERT_TRUE(Until([&] { return message.done(); }));
  EXPECT_EQ(message.transfer.status.code(), Code::kUnavailable);
}

TEST_P(TransportEndings, SenseWithoutAddress) {
  for (const char* address : {"", "nonsense", "tcp:", "shm:/", "tcp:1.2.3.4:99999999"}) {
    auto endpoint = left_->Connect(address);
    ASSERT_FALSE(endpoint.ok()) << address;
    EXPECT_FALSE(endpoint.status().message().empty());
  }
}

TEST_P(TransportEndings, ManyConnectionsComeAndGo) {
  for (int i = 0; i < 300; ++i) {
    auto endpoint = left_->Connect(right_->address());
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().ToString();
    std::unique_ptr<Endpoint> accepted;
    ASSERT_TRUE(Until([&] { return (accepted = right_->Accept()) != nullptr; }));
  }
}

// ---- Sleeping ----

bool Readable(int handle, int milliseconds) {
  const auto before = std::chrono::steady_clock::now();
  WaitReadable({&handle, 1}, milliseconds * 1'000'000LL);
  return std::chrono::steady_clock::now() - before < std::chrono::milliseconds(milliseconds);
}

TEST_P(TransportEndings, SleepsWhileNothingComesAndWakesWhenItDoes) {
  for (size_t bytes : {size_t{8}, size_t{1} << 20}) {
    Settle();
    ASSERT_TRUE(right_->Arm());
    EXPECT_FALSE(Readable(right_->wait_handle(), 30)) << "woken by nothing";
    Message sent(bytes);
    to_right_->Send(sent.transfer);
    while (left_->Progress()) {
    }
    EXPECT_TRUE(Readable(right_->wait_handle(), 2000));
    auto room = Message::Room(bytes);
    to_left_->Recv(room->transfer);
    ASSERT_TRUE(Until([&] { return room->done(); }));
  }
}

TEST_P(TransportEndings, FullStreamWakesItsWriter) {
  // Both sides only ever move after a sleep, so a lost wake-up shows as a timeout.
  Message sent(8 << 20);
  auto room = Message::Room(8 << 20);
  to_left_->Recv(room->transfer);
  to_right_->Send(sent.transfer);
  std::atomic<bool> stop = false;
  auto drive = [&](Transport& transport, Message& message) {
    while (!message.done() && !stop) {
      if (transport.Progress() || !transport.Arm()) continue;
      if (!Readable(transport.wait_handle(), 5000)) stop = true;
    }
  };
  std::thread other([&] { drive(*right_, *room); });
  drive(*left_, sent);
  other.join();
  EXPECT_FALSE(stop) << "slept although there was something to do";
  EXPECT_TRUE(room->data == sent.data);
}

TEST_P(TransportEndings, ClosingWakesTheSleeper) {
  Settle();
  ASSERT_TRUE(right_->Arm());
  to_right_.reset();
  EXPECT_TRUE(Readable(right_->wait_handle(), 2000));
  ASSERT_TRUE(Until([&] { return !to_left_->status().ok(); }));
}

TEST_P(TransportEndings, DiallingWakesTheSleeper) {
  Settle();
  ASSERT_TRUE(right_->Arm());
  auto endpoint = left_->Connect(right_->address());
  ASSERT_TRUE(endpoint.ok());
  left_->Progress();
  EXPECT_TRUE(Readable(right_->wait_handle(), 2000));
  std::unique_ptr<Endpoint> accepted;
  ASSERT_TRUE(Until([&] { return (accepted = right_->Accept()) != nullptr; }));
}

// A socket that is closed while something unread lies in it takes back what it has not delivered.
TEST_P(TransportEndings, UnreadMessagesDoNotTakeBackWhatWasSent) {
  std::vector<std::unique_ptr<Message>> sent, rooms;
  Message unread(64, 9);
  for (unsigned i = 0; i < 6; ++i) {
    sent.push_back(std::make_unique<Message>(400 << 10, 1, i));
    rooms.push_back(Message::Room(400 << 10, 1));
    to_left_->Recv(rooms.back()->transfer);
    to_right_->Send(sent.back()->transfer);
  }
  // The left side is quicker, so much is under way when it is done.
  const auto slowly = [&](auto done) {
    for (int turn = 0; turn < 10'000'000; ++turn) {
      if (done()) return true;
      left_->Progress();
      if (turn % 64 == 0) right_->Progress();
    }
    return false;
  };
  ASSERT_TRUE(slowly([&] { return sent.back()->done(); }));
  to_left_->Send(unread.transfer);
  to_right_->Close("enough");
  ASSERT_TRUE(slowly([&] { return to_right_->flushed(); }));
  to_right_.reset();
  ASSERT_TRUE(Until([&] { return rooms.back()->done() && !to_left_->status().ok(); }));
  for (size_t i = 0; i < rooms.size(); ++i) EXPECT_TRUE(rooms[i]->data == sent[i]->data) << i;
  EXPECT_TRUE(to_left_->peer_left()) << to_left_->status().ToString();
}

INSTANTIATE_TEST_SUITE_P(All, TransportEndings, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
