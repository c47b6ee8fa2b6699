#include "runtime/comm/flight_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/file.h"

namespace hr::comm {
namespace {

using Json = nlohmann::json;

FlightRecord Send(const FlightRecorder& recorder, uint64_t label) {
  return {.channel = 1,
          .sequence = 7,
          .label = label,
          .operation = {.kind = OpKind::kSend, .dtype = DType::kFloat32, .count = label, .peer = 2},
          .posted = recorder.ticks().Now()};
}

class FlightRecorderTest : public testing::Test {
 protected:
  FlightRecorderTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("hr_flight_" + std::to_string(::getpid()))) {}
  ~FlightRecorderTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return (folder_ / "a" / "world-0-0.flight").string(); }

  const std::filesystem::path folder_;
};

TEST_F(FlightRecorderTest, RemembersTheLastOperationsInOrder) {
  FlightRecorder recorder;
  ASSERT_TRUE(recorder.Open("").ok());
  constexpr uint64_t kPosted = FlightLog::kCapacity + 3;
  for (uint64_t i = 0; i < kPosted; ++i) EXPECT_EQ(recorder.Post(Send(recorder, i)), i);
  recorder.End(kPosted - 1, false);
  recorder.End(0, false);  // forgotten: no effect on the record in its place
  const Json records = Json::parse(recorder.Json());
  ASSERT_EQ(records.size(), FlightLog::kCapacity);
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i]["number"], 3 + i);
  EXPECT_EQ(records.back()["state"], "failed");
  EXPECT_EQ(records.back()["operation"], "send(float32[2002] to 2)");
  EXPECT_GE(records.back()["ended_nanos"], records.back()["posted_nanos"]);
  EXPECT_EQ(records.front()["state"], "running");
  EXPECT_EQ(records.front()["ended_nanos"], 0);
  EXPECT_EQ(recorder.Find(1, 2), nullptr);
  ASSERT_NE(recorder.Find(1, 3), nullptr);
}

TEST_F(FlightRecorderTest, NobodySeesADraft) {
  FlightRecorder recorder;
  ASSERT_TRUE(recorder.Open(Path()).ok());
  recorder.Post(Send(recorder, 1));
  recorder.Draft(Send(recorder, 2));
  EXPECT_EQ(recorder.Find(1, 2), nullptr);
  EXPECT_EQ(Json::parse(recorder.Json()).size(), 1u);
  recorder.Draft(Send(recorder, 3));  // in its place
  recorder.PublishEnded();
  EXPECT_EQ(recorder.Find(1, 2), nullptr);
  ASSERT_NE(recorder.Find(1, 3), nullptr);
  EXPECT_EQ(recorder.Find(1, 3)->number, 1u);
  EXPECT_NE(recorder.Find(1, 3)->ended, 0u);
}

TEST_F(FlightRecorderTest, ADraftTakesThePlaceOfTheOldest) {
  FlightRecorder recorder;
  ASSERT_TRUE(recorder.Open("").ok());
  for (uint64_t i = 0; i < FlightLog::kCapacity; ++i) recorder.Post(Send(recorder, i));
  recorder.Draft(Send(recorder, 5000));
  EXPECT_EQ(recorder.Find(1, 5000), nullptr);
  const Json records = Json::parse(recorder.Json());
  ASSERT_EQ(records.size(), FlightLog::kCapacity - 1);
  EXPECT_EQ(records[0]["number"], 1);
}

TEST_F(FlightRecorderTest, ItsFileSaysTheSame) {
  FlightRecorder recorder;
  ASSERT_TRUE(recorder.Open(Path()).ok());
  EXPECT_EQ(recorder.path(), Path());
  for (uint64_t i = 0; i < 5; ++i) recorder.Post(Send(recorder, i));
  Result<std::string> read = ReadFlightLog(Path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Json theirs = Json::parse(*read), ours = Json::parse(recorder.Json());
  ASSERT_EQ(theirs.size(), ours.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(theirs[i]["operation"], ours[i]["operation"]);
    EXPECT_EQ(theirs[i]["number"], ours[i]["number"]);
    // The rate of the counter is known better later.
    EXPECT_NEAR(theirs[i]["posted_nanos"].get<double>(), ours[i]["posted_nanos"].get<double>(),
                1e9);
  }
  // Who comes after replaces the file and does not write into the one that is mapped.
  FlightRecorder next;
  ASSERT_TRUE(next.Open(Path()).ok());
  EXPECT_EQ(*ReadFlightLog(Path()), "[]");
  EXPECT_EQ(Json::parse(recorder.Json()).size(), 5u);
}

TEST_F(FlightRecorderTest, ADamagedFileIsReadOrRefused) {
  FlightRecorder recorder;
  ASSERT_TRUE(recorder.Open(Path()).ok());
  for (uint64_t i = 0; i < 5; ++i) recorder.Post(Send(recorder, i));
  const std::string good = *ReadFile(Path());
  for (size_t at = 0; at < 600; ++at) {
    std::string text = good;
    text[at] ^= at % 2 == 0 ? '\xff' : '\x80';
    std::ofstream(Path() + "x", std::ios::binary) << text;
    Result<std::string> read = ReadFlightLog(Path() + "x");
    if (read.ok()) {
      EXPECT_TRUE(Json::accept(*read)) << at;
    } else {
      EXPECT_EQ(read.status().code(), Code::kDataLoss);
    }
  }
}

TEST_F(FlightRecorderTest, DoesWithoutAFileThatCannotBe) {
  ASSERT_TRUE(MakeDirectories(Path()).ok());  // in its place
  FlightRecorder recorder;
  ASSERT_TRUE(recorder.Open(Path()).ok());
  EXPECT_EQ(recorder.path(), "");
  EXPECT_EQ(recorder.Post(Send(recorder, 1)), 0u);
  EXPECT_EQ(ReadFlightLog(Path()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace hr::comm
