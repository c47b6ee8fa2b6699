// A store that one process keeps for others: who keeps it, what happens when it goes or comes late,
// and who is not let in.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/base/strings.h"
#include "runtime/comm/remote_store.h"
#ifdef HEADRACE_TEST_TCP
#include "transport/tcp/tcp.h"

namespace hr::comm {
namespace {

using std::chrono::milliseconds;

CallLimits Within(std::chrono::nanoseconds time) {
  return {.deadline_nanos = SystemClock().NowNanos() + time.count(), .clock = &SystemClock()};
}

Result<std::unique_ptr<Store>> TryOpen(const std::string& place, bool serve,
                                       std::string secret = "") {
  return OpenRemoteStore(tcp::CreateTcpTransport, "tcp", place,
                         {.serve = serve, .secret = std::move(secret)});
}
std::unique_ptr<Store> Open(const std::string& place, bool serve, std::string secret = "") {
  auto store = TryOpen(place, serve, std::move(secret));
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(store).value() : nullptr;
}
std::string PlaceOf(const Store& store) { return store.Url().substr(4); }

TEST(TcpStore, TheUrlHasTheRealPort) {
  auto server = Open("127.0.0.1:0", true);
  EXPECT_EQ(HostOfStore(server->Url()), "127.0.0.1");
  EXPECT_EQ(server->Url().find(":0"), std::string::npos) << server->Url();
  EXPECT_EQ(HostOfStore("tcp://[::1]:80"), "::1");
  EXPECT_EQ(HostOfStore("file:a:1"), "");
}

TEST(TcpStore, PlacesThatMakeNoSense) {
  for (const char* place : {"", "x", "host", "host:", "host:x", "host:70000", ":5", "::1:80",
                            "[host]:5", "//", "1.2.3:80"}) {
    auto store = TryOpen(place, true);
    EXPECT_EQ(store.status().code(), Code::kInvalidArgument) << place;
    EXPECT_FALSE(store.status().message().empty());
  }
  EXPECT_EQ(TryOpen("127.0.0.1:0", false).status().code(), Code::kInvalidArgument);
}

TEST(TcpStore, WhoComesSecondIsAClient) {
  auto first = Open("127.0.0.1:0", true);
  auto second = Open(PlaceOf(*first), true), third = Open(Cat("//", PlaceOf(*first)), false);
  ASSERT_TRUE(second->Set("a", "1", Within(std::chrono::seconds(5))).ok());
  EXPECT_EQ(first->TryGet("a", {})->value(), "1");
  EXPECT_EQ(third->TryGet("a", {})->value(), "1");
}

TEST(TcpStore, AnAddressOfAnotherHostIsNotKept) {
  // An address that is nobody's (RFC 5737).
  auto store = TryOpen("192.0.2.1:5555", true, "a secret of these tests");
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_FALSE((*store)->Set("a", "1", Within(milliseconds(50))).ok());
}

TEST(TcpStore, ClientsThatComeFirstWaitForIt) {
  const std::string place = PlaceOf(*Open("127.0.0.1:0", true));
  auto client = Open(place, false);
  std::thread late([&] { EXPECT_EQ(*client->Get("a", Within(std::chrono::seconds(10))), "1"); });
  std::this_thread::sleep_for(milliseconds(100));
  auto server = Open(place, true);
  EXPECT_TRUE(server->Set("a", "1", {}).ok());
  late.join();
}

TEST(TcpStore, NobodyThereIsUnavailable) {
  const std::string place = PlaceOf(*Open("127.0.0.1:0", true));
  const Status status = Open(place, false)->Set("a", "1", Within(milliseconds(100)));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("cannot be reached"), std::string_view::npos)
      << status.ToString();
}

TEST(TcpStore, WhenItGoesItsClientsAreTold) {
  auto server = Open("127.0.0.1:0", true);
  auto client = Open(PlaceOf(*server), false);
  std::thread waits([&] {
    const Status status = client->Get("never", Within(std::chrono::seconds(10))).status().Clone();
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_NE(status.message().find("has ended"), std::string_view::npos) << status.ToString();
  });
  std::this_thread::sleep_for(milliseconds(100));
  server.reset();
  waits.join();
  const int64_t begin = SystemClock().NowNanos();
  EXPECT_EQ(client->Set("a", "1", Within(std::chrono::seconds(10))).code(), Code::kUnavailable);
  EXPECT_LT(SystemClock().NowNanos() - begin, 1'000'000'000) << "it is not coming back";
}

TEST(TcpStore, AnotherSecret) {
  auto server = Open("127.0.0.1:0", true, "a secret of these tests");
  for (std::string secret : {"", "a secret of other tests"}) {
    auto client = Open(PlaceOf(*server), false, secret);
    const Status status = client->Set("a", "1", Within(std::chrono::seconds(10)));
    EXPECT_EQ(status.code(), Code::kUnauthenticated) << status.ToString();
    EXPECT_NE(status.message().find("secret"), std::string_view::npos);
  }
  EXPECT_FALSE(server->TryGet("a", {})->has_value());
}

TEST(TcpStore, PlainTextStaysOnThisHost) {
  EXPECT_EQ(TryOpen("0.0.0.0:0", true).status().code(), Code::kFailedPrecondition);
  const Status status = Open("192.0.2.1:5555", false)->Set("a", "1", Within(milliseconds(50)));
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
}

TEST(TcpStore, WhatItHoldsIsBounded) {
  auto server = Open("127.0.0.1:0", true);
  auto client = Open(PlaceOf(*server), false);
  const std::string value(kMaxStoreValue, 'x');
  Status status;
  int held = 0;
  for (; status.ok() && held < 1000; ++held) status = client->Set(Cat("key", held), value, {});
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << held;
  EXPECT_TRUE(client->Delete("key0", {}).ok());
  EXPECT_TRUE(client->Set("key0", value, {}).ok());
}

}  // namespace
}  // namespace hr::comm
#endif
