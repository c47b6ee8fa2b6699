#include "runtime/comm/losses.h"

#include <gtest/gtest.h>

#include <fstream>

namespace hr::comm {
namespace {

Result<Losses> Noted(const std::string& text) {
  const std::string path = ::testing::TempDir() + "losses";
  std::ofstream(path) << text;
  return Losses::Read(path);
}

TEST(LaunchLosses, ProcessesAreNamedByTheirRankAndTheirPredecessors) {
  const Losses none = *Noted("");
  EXPECT_FALSE(none.any());
  EXPECT_EQ(none.ProcessesOf(3), (std::vector<std::string>{"0", "1", "2"}));
  const Losses some = *Noted("2 replaced\n0 gone\n2 replaced\n");
  EXPECT_TRUE(some.any());
  EXPECT_EQ(some.ProcessesOf(4), (std::vector<std::string>{"1", "2.2", "3"}));
  EXPECT_EQ(some.ProcessOf(2), "2.2");
  EXPECT_EQ(some.ProcessOf(1), "1");
  for (const char* process : {"1", "2.2", "3"}) EXPECT_TRUE(some.Has(process)) << process;
  for (const char* process : {"0", "2", "2.1", "1.1", "", "x"}) {
    EXPECT_FALSE(some.Has(process)) << process;
  }
  EXPECT_FALSE(some == none);
  // One that replaced another is lost for good.
  EXPECT_EQ(Noted("1 replaced\n1 gone\n")->ProcessesOf(2), (std::vector<std::string>{"0"}));
}

TEST(LaunchLosses, OtherTextIsRefused) {
  for (const char* text : {"replaced", "2", "2 lost\n", "x gone\n", "2 replaced gone\n"}) {
    const Status refused = Noted(text).status().Clone();
    EXPECT_EQ(refused.code(), Code::kDataLoss) << text;
    EXPECT_NE(refused.message().find("'RANK replaced' or 'RANK gone'"), std::string::npos);
  }
  EXPECT_EQ(Losses::Read("/nonexistent/losses").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace hr::comm
