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
    return CreateInprocTransport(CreateInprocNetwork(), std::move(identity));
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

TEST_F(HubTest, NamesThatNobodyHas) {
  EXPECT_EQ(hub_.Transports("pigeon", {}).status().code(), Code::kNotFound);
  EXPECT_EQ(hub_.OpenStore("pigeon:loft", {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace hr::comm
