#include "runtime/comm/hub.h"

#include <gtest/gtest.h>

#include "transport/inproc/inproc.h"

namespace hr::comm {
namespace {

// A transport "here", and one, "away", that this machine cannot have.
class HubTest : public testing::Test {
 protected:
  HubTest() {
    hub_.AddTransport("away", Make,
                      {.available = [] { return Unavailable("libaway.so is not here"); }});
    hub_.AddTransport("here", Make);
  }
  static Result<std::unique_ptr<Transport>> Make(const TransportSettings&, std::string identity) {
    return inproc::CreateInprocTransport(inproc::CreateInprocNetwork(), std::move(identity));
  }
  Hub hub_;
};

TEST_F(HubTest, AutoGoesWithoutWhatThisMachineLacks) {
  const auto factories = hub_.Transports("auto", {});
  ASSERT_TRUE(factories.ok()) << factories.status().ToString();
  EXPECT_EQ(factories->size(), 1u);
  EXPECT_EQ(hub_.transport_names(), std::vector<std::string_view>{"here"});
}

TEST_F(HubTest, WhoAsksForItByNameIsToldWhy) {
  const auto factories = hub_.Transports("here,away", {});
  EXPECT_EQ(factories.status().code(), Code::kUnavailable);
  EXPECT_NE(factories.status().message().find("libaway.so"), std::string_view::npos)
      << factories.status().ToString();
}

TEST_F(HubTest, AutoTakesWhatDependsOnTrustOnlyWithIt) {
  hub_.AddTransport("plain", Make,
                    {.automatic = [](const TransportSettings& s) { return s.trusted_fabric; },
                     .devices = [] { return "wire/0"; }});
  EXPECT_EQ(hub_.Transports("auto", {})->size(), 1u);
  EXPECT_EQ(hub_.Transports("auto", {.trusted_fabric = true})->size(), 2u);
  EXPECT_EQ(hub_.Transports("plain", {})->size(), 1u);
  EXPECT_EQ(hub_.DevicesOf("plain"), "wire/0");
  EXPECT_EQ(hub_.DevicesOf("here"), "");
}

TEST_F(HubTest, WhatAPluginBringsStandsBeforeTheLast) {
  hub_.AddTransport("last", Make, {.plugin = "net"});
  ASSERT_TRUE(hub_.AddPluginTransport("wire", Make, {.plugin = "wire"}).ok());
  EXPECT_EQ(hub_.transport_names(), (std::vector<std::string_view>{"here", "wire", "last"}));
  EXPECT_TRUE(hub_.AddPluginTransport("last", Make, {.plugin = "net"}).ok());
  EXPECT_EQ(hub_.AddPluginTransport("last", Make, {.plugin = "wire"}).code(), Code::kAlreadyExists);
  EXPECT_EQ(hub_.Transports("auto", {})->size(), 3u);
  EXPECT_EQ(hub_.AddPluginTransport("late", Make, {.plugin = "x"}).code(),
            Code::kFailedPrecondition);
}

// A store that says whether it is kept here, and counts how many there are.
class CountedStore final : public Store {
 public:
  CountedStore(bool kept, int* alive) : kept_(kept), alive_(alive) { ++*alive_; }
  ~CountedStore() override { --*alive_; }
  Status Set(std::string_view, std::string_view, const CallLimits&) override { return {}; }
  Result<std::optional<std::string>> TryGet(std::string_view, const CallLimits&) override {
    return std::optional<std::string>();
  }
  Result<std::string> Get(std::string_view, const CallLimits&) override { return std::string(); }
  Result<int64_t> Add(std::string_view, int64_t, const CallLimits&) override { return 0; }
  Result<std::string> CompareAndSwap(std::string_view, std::optional<std::string_view>,
                                     std::string_view, const CallLimits&) override {
    return std::string();
  }
  Status Delete(std::string_view, const CallLimits&) override { return {}; }
  std::string Describe() const override { return "counted store"; }
  bool kept_here() const override { return kept_; }

 private:
  const bool kept_;
  int* const alive_;
};

TEST(HubStores, GroupsThatFollowEachOtherMeetInTheStoreThatIsKeptHere) {
  int alive = 0;
  auto hub = std::make_unique<Hub>();
  hub->AddStore("count", [&](const std::string& place, const StoreSettings& settings) {
    const bool kept = settings.serve && place != "taken";
    return Result<std::unique_ptr<Store>>(std::make_unique<CountedStore>(kept, &alive));
  });
  const Store* first = hub->OpenGroupStore("count:a", {.serve = true})->get();
  EXPECT_EQ(hub->OpenGroupStore("count:a", {.serve = true})->get(), first);
  EXPECT_NE(hub->OpenGroupStore("count:a", {.serve = true, .secret = "s"})->get(), first);
  EXPECT_EQ(alive, 2);
  // Clients, and stores that somebody else keeps, go with their group.
  EXPECT_TRUE(hub->OpenGroupStore("count:a", {}).ok());
  EXPECT_TRUE(hub->OpenGroupStore("count:taken", {.serve = true}).ok());
  EXPECT_EQ(alive, 2);
  hub.reset();
  EXPECT_EQ(alive, 0);
}

TEST_F(HubTest, NamesThatNobodyHas) {
  EXPECT_EQ(hub_.Transports("pigeon", {}).status().code(), Code::kNotFound);
  EXPECT_EQ(hub_.OpenStore("pigeon:loft", {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace hr::comm
