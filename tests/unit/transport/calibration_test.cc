#include "runtime/comm/calibration.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/base/errors.h"

namespace hr::comm {
namespace {

constexpr std::string_view kText =
    "headrace calibration 1\n"
    "machine a\n"
    "link tcp 1.5e-05 4e-10\n"
    "link fabric 1e-06 1e-11\n"
    "shared 3e-07 6e-11\n"
    "reduce 5e-11\n"
    "end\n";

std::string Without(std::string_view part, std::string_view instead = "") {
  std::string text(kText);
  return text.replace(text.find(part), part.size(), instead);
}

Code CodeOf(std::string_view text) { return ParseCalibration(text, "a").status().code(); }

TEST(Calibration, SaysWhatTheFileSaysAndTheUsualForTheRest) {
  auto read = ParseCalibration(kText, "a");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->source, Calibration::Source::kFile);
  EXPECT_EQ(read->Of("tcp").latency, 1.5e-5);
  EXPECT_EQ(read->Of("tcp").per_byte, 4e-10);
  EXPECT_EQ(read->Of("fabric").per_byte, 1e-11);
  EXPECT_EQ(read->Of("shm").latency, Calibration().Of("shm").latency);
  EXPECT_EQ(read->shared.per_byte, 6e-11);
  EXPECT_EQ(read->per_reduced_byte, 5e-11);
}

TEST(Calibration, OfAnotherMachineOrVersionIsRefused) {
  auto foreign = ParseCalibration(kText, "b");
  EXPECT_EQ(foreign.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(foreign.status().message(), "it is of the machine 'a', and this is 'b'");
  EXPECT_EQ(CodeOf(Without("calibration 1", "calibration 2")), Code::kFailedPrecondition);
}

TEST(Calibration, DamageIsNoticed) {
  EXPECT_EQ(CodeOf(""), Code::kDataLoss);
  EXPECT_EQ(CodeOf(Without("end\n")), Code::kDataLoss);
  EXPECT_EQ(CodeOf(Without("machine a\n")), Code::kDataLoss);
  for (std::string_view latency : {"-1e-05", "0", "nan", "inf", "2", "1e-05x", ""}) {
    EXPECT_EQ(CodeOf(Without("1.5e-05", latency)), Code::kDataLoss) << latency;
  }
  EXPECT_EQ(CodeOf(Without("fabric", "longername")), Code::kDataLoss);
  EXPECT_EQ(CodeOf(Without("reduce", "reduces")), Code::kDataLoss);
  EXPECT_NE(ParseCalibration(Without("6e-11", "x"), "a").status().message().find("line 5"),
            std::string_view::npos);
  for (size_t bytes = 0; bytes < kText.size() - 1; ++bytes) {
    EXPECT_FALSE(ParseCalibration(kText.substr(0, bytes), "a").ok()) << bytes;
  }
  std::string links;
  for (char name : {'p', 'q', 'r'}) links += Cat("link ", std::string(1, name), " 1e-6 1e-9\n");
  EXPECT_EQ(CodeOf(Without("shared", links + "shared")), Code::kDataLoss) << "too many links";
}

TEST(Calibration, LiesInTheUsersCache) {
  static std::map<std::string, const char*> variables;
  auto path = [] {
    return CalibrationPath([](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second;
    });
  };
  EXPECT_EQ(path(), "");
  variables = {{"HOME", "/h"}};
  EXPECT_TRUE(path().starts_with("/h/.cache/headrace/calibration-")) << path();
  variables["XDG_CACHE_HOME"] = "/c";
  EXPECT_TRUE(path().starts_with("/c/headrace/calibration-")) << path();
  variables["HEADRACE_CALIBRATION"] = "/given";
  EXPECT_EQ(path(), "/given");
  variables.clear();
}

}  // namespace
}  // namespace hr::comm
