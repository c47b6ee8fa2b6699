#include "runtime/train/checkpoint_term.h"

#include <atomic>
#include <thread>

#include "tests/unit/train/checkpoint_support.h"

namespace hr::train {
namespace {

using Owner = CheckpointOwner;

TEST(CheckpointName, SaysStepAndTerm) {
  EXPECT_EQ((CheckpointName{7}).Text(), "step-000007");
  EXPECT_EQ((CheckpointName{1234567, 3}).Text(), "step-1234567-term-000003");
  for (const CheckpointName& name : {CheckpointName{0}, {7, 1}, {INT64_MAX, UINT64_MAX}}) {
    const auto parsed = CheckpointName::Parse(name.Text());
    ASSERT_TRUE(parsed.has_value()) << name.Text();
    EXPECT_EQ(parsed->Text(), name.Text());
  }
  for (const char* text :
       {"", "step-", "step-7", "step-0000007", "step--00001", "step-000007-", "step-000007-term-",
        "step-000007-term-1", "step-000007-term-000000", "step-000007-term-000001x", "term-000007",
        "step-000007.old", "step-99999999999999999999", "step-000007term-000001"}) {
    EXPECT_FALSE(CheckpointName::Parse(text).has_value()) << text;
  }
}

TEST(CheckpointName, ATermCountsMoreThanSteps) {
  EXPECT_TRUE((CheckpointName{1, 2}).IsNewerThan({9, 1}));
  EXPECT_TRUE((CheckpointName{9, 1}).IsNewerThan({8, 1}));
  EXPECT_TRUE((CheckpointName{0, 1}).IsNewerThan({9, 0}));
  EXPECT_FALSE((CheckpointName{9, 1}).IsNewerThan({9, 1}));
}

class CheckpointTermTest : public TrainTest {
 protected:
  std::string Directory() const { return folder_.Path("checkpoints"); }
  Result<uint64_t> Take(const std::string& job, uint64_t epoch) {
    return TakeTerm(Directory(), Owner{job, epoch});
  }
  Status Save(int64_t step, const std::optional<Owner>& owner, int keep = 5) {
    return SaveTensors(Directory(), step, {{"w", StepTensor(allocator_, step, 10)}},
                       {.keep = keep, .owner = owner});
  }
  std::unique_ptr<CheckpointWriter> Written(int64_t step, const std::optional<Owner>& owner) {
    auto writer = CheckpointWriter::Create(Directory(), step, {{"w", DType::kFloat32, {10}}}, {},
                                           {.owner = owner});
    if (!writer.ok() || !(*writer)->Write(StepTensor(allocator_, step, 10)).ok()) return nullptr;
    return std::move(writer).value();
  }
  std::string Found() {
    auto opened = OpenCheckpoint(Directory(), {});
    if (!opened.ok()) return opened.status().ToString();
    EXPECT_EQ(opened->reader.Get("w")->as<float>()[0], static_cast<float>(opened->reader.step()));
    return opened->reader.path().substr(Directory().size() + 1);
  }
  std::vector<std::string> Names() { return ListDirectory(Directory()).value(); }
};

TEST_F(CheckpointTermTest, GrowsWithEpochsAndJobs) {
  EXPECT_EQ(Take("a", 0).value(), 1u);
  EXPECT_EQ(Take("a", 0).value(), 1u) << "who has it keeps it";
  EXPECT_EQ(Take("a", 3).value(), 2u);
  HR_EXPECT_ERROR(Take("a", 0), kFailedPrecondition, "epoch 0 is over");
  HR_EXPECT_ERROR(Take("a", 2), kFailedPrecondition,
                  "belong to epoch 3 of job a since term 2; epoch 2 is over");
  EXPECT_EQ(Take("b", 0).value(), 3u) << "started anew, with epochs that begin anew";
  HR_EXPECT_ERROR(Take("a", 3), kFailedPrecondition, "which came after job a had them");
  EXPECT_EQ(Take("b", 0).value(), 3u);
  EXPECT_EQ(Take("a", 4).value(), 4u) << "started anew, with the store that it had";
  HR_EXPECT_ERROR(Take("b", 0), kFailedPrecondition, "which came after job b had them");
}

TEST_F(CheckpointTermTest, OneOfManyTakesIt) {
  std::atomic<int> own{0};
  std::atomic<int> refused{0};
  std::vector<uint64_t> terms(8);
  std::vector<std::thread> takers;
  for (uint64_t i = 0; i < 8; ++i) {
    takers.emplace_back([&, i] {
      const Result<uint64_t> term = Take("a", i);
      if (term.ok()) terms[i] = *term;
      ++(term.ok() ? own : refused);
    });
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(own + refused, 8);
  uint64_t before = 0;
  for (const uint64_t term : terms) {
    if (term == 0) continue;
    EXPECT_GT(term, before) << "a later epoch has a later term";
    before = term;
  }
  EXPECT_EQ(Take("a", 7).value(), before) << "the last epoch is never refused";
  for (const std::string& name : Names()) EXPECT_FALSE(name.ends_with(".tmp")) << name;
}

TEST_F(CheckpointTermTest, ALateCommitOfAnEarlierEpochFails) {
  HR_EXPECT_OK(Save(100, Owner{"a", 1}));
  auto late = Written(110, Owner{"a", 1});
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(Take("a", 2).value(), 2u);
  for (const std::string& name : Names())
    EXPECT_FALSE(name.ends_with(".tmp")) << "so that its last step cannot succeed";
  HR_EXPECT_ERROR(late->Commit(), kFailedPrecondition, "epoch 1 is over");
  late.reset();
  EXPECT_EQ(Found(), "step-000100-term-000001");
  HR_EXPECT_OK(Save(105, Owner{"a", 2}));
  HR_EXPECT_ERROR(Save(111, Owner{"a", 1}), kFailedPrecondition, "epoch 1 is over");
  EXPECT_EQ(Found(), "step-000105-term-000002");
  EXPECT_EQ(ReadFile(JoinPath(Directory(), "latest")).value(), "step-000105-term-000002\n");
}

// As one that was stopped between its last look and the rename.
TEST_F(CheckpointTermTest, WhatAnEarlierTermAddsIsNeverTheNewest) {
  HR_EXPECT_OK(Save(100, Owner{"a", 2}));
  HR_EXPECT_OK(Save(100, Owner{"b", 0}));
  const std::string late = JoinPath(Directory(), "step-000110-term-000001");
  HR_EXPECT_OK(RenamePath(JoinPath(Directory(), "step-000100-term-000001"), late));
  EXPECT_EQ(Found(), "step-000100-term-000002");
  auto folders = ListCheckpoints(Directory()).value();
  ASSERT_EQ(folders.size(), 2u);
  EXPECT_EQ(folders[1].path, late);
  HR_EXPECT_OK(Save(101, Owner{"b", 0}, 2));
  EXPECT_FALSE(FileExists(late)) << "it counts as older than what the later term has kept";
}

TEST_F(CheckpointTermTest, TouchesNothingOfLaterTerms) {
  auto early = Written(7, Owner{"a", 1});
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(ListDirectory(Directory())->size(), 2u) << "a term, and what is being written";
  auto later = Written(7, Owner{"a", 2});
  ASSERT_NE(later, nullptr);
  HR_EXPECT_ERROR(early->Commit(), kFailedPrecondition, "epoch 1 is over");
  early.reset();
  HR_EXPECT_OK(RemoveOldCheckpoints(Directory(), {1000, 1}, 1));
  HR_EXPECT_OK(later->Commit());
  HR_EXPECT_OK(RemoveOldCheckpoints(Directory(), {1000, 1}, 1));
  EXPECT_EQ(Found(), "step-000007-term-000002");
}

TEST_F(CheckpointTermTest, AWriterWhoseFilesWereTidiedAwayLearnsWhy) {
  auto early = Written(7, Owner{"a", 1});
  ASSERT_NE(early, nullptr);
  HR_EXPECT_OK(Save(8, Owner{"a", 2}));
  HR_EXPECT_ERROR(early->Commit(), kFailedPrecondition, "epoch 1 is over");
}

TEST_F(CheckpointTermTest, WithoutAGroupItGoesOnInTheLastTerm) {
  HR_EXPECT_OK(Save(5, {}));
  EXPECT_EQ(Found(), "step-000005");
  HR_EXPECT_OK(Save(6, Owner{"a", 0}));
  HR_EXPECT_OK(Save(8, {}));
  EXPECT_EQ(Found(), "step-000008-term-000001");
  auto alone = Written(9, {});
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(Take("a", 1).value(), 2u);
  HR_EXPECT_ERROR(alone->Commit(), kFailedPrecondition, "taken while this checkpoint was written");
}

TEST_F(CheckpointTermTest, CopiedCheckpointsKeepTheirOrder) {
  HR_EXPECT_OK(Save(5, Owner{"a", 0}));
  HR_EXPECT_OK(RemoveTree(JoinPath(Directory(), "term-000001")));
  EXPECT_EQ(Take("b", 0).value(), 2u);
  HR_EXPECT_OK(Save(1, Owner{"b", 0}));
  EXPECT_EQ(Found(), "step-000001-term-000002");
}

TEST_F(CheckpointTermTest, TidiesWhatTakersLeftThatDied) {
  EXPECT_EQ(Take("a", 0).value(), 1u);
  const std::string died = JoinPath(Directory(), "term-000001.4711.tmp");
  const std::string busy = JoinPath(Directory(), "term-000002.4711.tmp");
  for (const std::string& path : {died, busy}) HR_EXPECT_OK(MakeDirectories(path));
  HR_EXPECT_OK(Save(1, Owner{"a", 0}));
  EXPECT_FALSE(FileExists(died));
  EXPECT_TRUE(FileExists(busy));
}

TEST_F(CheckpointTermTest, SaysWhyItCannotTake) {
  WriteText(folder_.Path("file"), "no folder");
  HR_EXPECT_ERROR(TakeTerm(folder_.Path("file"), Owner{"a", 0}), kAlreadyExists, "file");
  EXPECT_EQ(Take("a", 0).value(), 1u);
  WriteText(JoinPath(Directory(), "term-000001/owner.json"), "{\"job\":1}");
  HR_EXPECT_ERROR(Take("a", 1), kDataLoss, "term-000001/owner.json': expected");
}

}  // namespace
}  // namespace hr::train
