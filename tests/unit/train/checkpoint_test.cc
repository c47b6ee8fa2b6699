#include <cstdio>
#include <thread>

#include "runtime/base/crc32c.h"
#include "tests/unit/train/checkpoint_support.h"

namespace hr::train {
namespace {

class CheckpointTest : public TrainTest {
 protected:
  std::string Directory() const { return folder_.Path("checkpoints"); }
  std::string StepPath(int64_t step) const {
    return JoinPath(Directory(), CheckpointName{step}.Text());
  }
  Status Save(int64_t step, const CheckpointOptions& options = {}) {
    return SaveTensors(Directory(), step, {{"w", StepTensor(allocator_, step, 100)}}, options);
  }
  Result<OpenedCheckpoint> Open() { return OpenCheckpoint(Directory(), {}); }
  // The step that is found, after checking its contents.
  int64_t FoundStep() {
    auto opened = Open();
    if (!opened.ok()) return -1;
    EXPECT_EQ(opened->reader.Get("w")->as<float>()[0], static_cast<float>(opened->reader.step()));
    return opened->reader.step();
  }
};

TEST_F(CheckpointTest, KeepsTensorsAndMetadata) {
  std::vector<uint8_t> bytes{1, 2, 3};
  NamedTensors tensors{
      {"flags", MakeTensor<uint8_t>(allocator_, {3}, bytes).value()},
      {"weights/ä\"", StepTensor(allocator_, 5, 7)},
      {"empty", Tensor::Create(allocator_, DType::kFloat64, {0, 4}).value()},
      {"step", MakeTensor<int64_t>(allocator_, {}, std::vector<int64_t>{123}).value()}};
  HR_EXPECT_OK(SaveTensors(Directory(), 123, tensors, {}, {{"data", R"({"epoch":1})"}, {"b", ""}}));
  OpenedCheckpoint opened = Open().value();
  EXPECT_TRUE(opened.warnings.empty());
  const CheckpointReader& reader = opened.reader;
  EXPECT_EQ(reader.step(), 123);
  EXPECT_EQ(reader.metadata().at("data"), R"({"epoch":1})");
  ASSERT_EQ(reader.tensors().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    Tensor read = reader.Get(name).value();
    EXPECT_EQ(read.TypeText(), tensor.TypeText());
    EXPECT_EQ(AsText({read.data(), read.bytes()}), AsText({tensor.data(), tensor.bytes()}));
  }
  EXPECT_EQ(ReadFile(JoinPath(Directory(), "latest")).value(), "step-000123\n");
}

TEST_F(CheckpointTest, TensorsAreMappedAlignedAndOutliveTheReader) {
  NamedTensors tensors{{"a", StepTensor(allocator_, 0, 3)},
                       {"b", Tensor::Create(allocator_, DType::kInt8, {3}).value()},
                       {"c", Tensor::Create(allocator_, DType::kFloat64, {5}).value()}};
  HR_EXPECT_OK(SaveTensors(Directory(), 1, tensors));
  int allocations = allocator_.allocations();
  std::vector<Tensor> read;
  {
    CheckpointReader reader =
        CheckpointReader::Open(StepPath(1), {.allocator = &allocator_}).value();
    for (const auto& [name, tensor] : reader.tensors()) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % DTypeSize(tensor.dtype()), 0u);
      read.push_back(tensor);
    }
  }
  HR_EXPECT_OK(RemoveTree(Directory()));
  EXPECT_EQ(read[0].as<float>()[2], 2.0f);
  EXPECT_EQ(allocator_.allocations(), allocations) << "nothing was copied";
}

TEST_F(CheckpointTest, CutsIntoShards) {
  NamedTensors tensors;
  for (int i = 0; i < 7; ++i) tensors[Cat("t", i)] = StepTensor(allocator_, i, 100);
  tensors["large"] = StepTensor(allocator_, 9, 1000);
  HR_EXPECT_OK(SaveTensors(Directory(), 1, tensors, {.max_shard_bytes = 1000}));
  EXPECT_TRUE(FileExists(JoinPath(StepPath(1), "shard-00004-of-00005.safetensors")));
  CheckpointReader reader = Open()->reader;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(reader.Get(Cat("t", i))->as<float>()[1], i + 1.0f);
  EXPECT_EQ(reader.Get("large")->elements(), 1000);
}

TEST_F(CheckpointTest, RestoresPartly) {
  HR_EXPECT_OK(Save(3));
  CheckpointReader reader = Open()->reader;
  Tensor fits = Tensor::Create(allocator_, DType::kFloat32, {100}).value();
  HR_EXPECT_OK(reader.ReadInto("w", fits));
  EXPECT_EQ(fits.as<float>()[99], 102.0f);
  Tensor other = Tensor::Create(allocator_, DType::kFloat32, {10, 10}).value();
  HR_EXPECT_ERROR(reader.ReadInto("w", other), kInvalidArgument,
                  "is float32[100], expected float32[10, 10]");
  HR_EXPECT_ERROR(reader.ReadInto("ww", fits), kNotFound, "did you mean 'w'?");
}

TEST_F(CheckpointTest, KeepsTheLastOnes) {
  for (int64_t step = 1; step <= 5; ++step) HR_EXPECT_OK(Save(step, {.keep = 2}));
  auto folders = ListCheckpoints(Directory()).value();
  ASSERT_EQ(folders.size(), 2u);
  EXPECT_EQ(folders[0].name.step, 5);
  EXPECT_EQ(folders[1].name.step, 4);
  HR_EXPECT_OK(Save(3, {.keep = 1}));  // after going back: nothing newer is touched
  EXPECT_EQ(ListCheckpoints(Directory())->size(), 3u);
  EXPECT_TRUE(FileExists(StepPath(3)));
}

TEST_F(CheckpointTest, ReplacesAStep) {
  HR_EXPECT_OK(SaveTensors(Directory(), 7, {{"w", StepTensor(allocator_, 1, 4)}}));
  HR_EXPECT_OK(Save(7));
  EXPECT_EQ(FoundStep(), 7);
  EXPECT_EQ(ListDirectory(Directory())->size(), 2u) << "step-000007 and latest";
}

TEST_F(CheckpointTest, ACrashWhileReplacingLosesNothing) {
  HR_EXPECT_OK(Save(7));
  HR_EXPECT_OK(RenamePath(StepPath(7), StepPath(7) + ".old"));
  EXPECT_EQ(FoundStep(), 7);
  HR_EXPECT_OK(Save(8, {.keep = 2}));
  HR_EXPECT_OK(RemoveTree(StepPath(8)));
  EXPECT_EQ(FoundStep(), 7) << "it is still one of the two kept";
  HR_EXPECT_OK(Save(7));
  EXPECT_FALSE(FileExists(StepPath(7) + ".old"));
}

TEST_F(CheckpointTest, WritersAtTheSameTimeBothSaveWholeCheckpoints) {
  const TensorSpec spec = {"w", DType::kFloat32, {4}};
  for (const int64_t other : {7, 8}) {
    const NamedTensors a = {{"w", StepTensor(allocator_, 1, 4)}};
    const NamedTensors b = {{"w", StepTensor(allocator_, 2, 4)}};
    auto first = CheckpointWriter::Create(Directory(), 7, {spec}, {}, {}).value();
    auto second = CheckpointWriter::Create(Directory(), other, {spec}, {}, {}).value();
    HR_EXPECT_OK(first->Write(a.at("w")));
    HR_EXPECT_OK(first->Commit());
    HR_EXPECT_OK(second->Write(b.at("w")));
    EXPECT_EQ(*Open()->reader.Get("w")->as<float>(), 1);
    HR_EXPECT_OK(second->Commit());
    EXPECT_EQ(Open()->reader.step(), other);
    EXPECT_EQ(*Open()->reader.Get("w")->as<float>(), 2);
  }
  EXPECT_EQ(ListDirectory(Directory())->size(), 3u) << "two steps and latest";
}

TEST_F(CheckpointTest, ThreadsReplaceOneStepAgainAndAgain) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 30; ++k) HR_EXPECT_OK(Save(7, {.keep = 1}));
    });
  }
  for (int k = 0; k < 100; ++k) {
    const auto opened = Open();
    if (opened.status().code() != Code::kNotFound) HR_EXPECT_OK(opened.status());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(FoundStep(), 7);
  HR_EXPECT_OK(Save(7, {.keep = 1}));
  EXPECT_EQ(ListDirectory(Directory())->size(), 2u) << "step-000007 and latest";
}

TEST_F(CheckpointTest, SkipsDamagedNewerOnes) {
  HR_EXPECT_OK(Save(1));
  HR_EXPECT_OK(Save(2));
  HR_EXPECT_OK(Save(3));
  FlipBit(JoinPath(StepPath(3), ShardName(0, 1)), 200);
  HR_EXPECT_OK(RemoveFile(JoinPath(StepPath(2), "manifest.json")));
  OpenedCheckpoint opened = Open().value();
  EXPECT_EQ(opened.reader.step(), 1);
  ASSERT_EQ(opened.warnings.size(), 2u);
  EXPECT_TRUE(Contains(opened.warnings[0], "step-000003' is skipped"));
  EXPECT_TRUE(Contains(opened.warnings[0], "checksum")) << opened.warnings[0];
  HR_EXPECT_ERROR(OpenCheckpoint(StepPath(3), {}), kDataLoss, "checksum");
  HR_EXPECT_OK(RemoveTree(StepPath(1)));
  HR_EXPECT_ERROR(Open(), kDataLoss, "no checkpoint in");
  HR_EXPECT_OK(RemoveTree(StepPath(2)));
  HR_EXPECT_OK(RemoveTree(StepPath(3)));
  HR_EXPECT_ERROR(Open(), kNotFound, "there is no checkpoint");
  HR_EXPECT_ERROR(OpenCheckpoint(folder_.Path("none"), {}), kNotFound, "none");
}

TEST_F(CheckpointTest, FindsEveryFlippedBitAndTruncation) {
  HR_EXPECT_OK(
      SaveTensors(Directory(), 1, {{"w", StepTensor(allocator_, 1, 4)}}, {}, {{"k", "v"}}));
  for (const char* name : {"manifest.json", "shard-00000-of-00001.safetensors"}) {
    std::string path = JoinPath(StepPath(1), name);
    std::string good = ReadFile(path).value();
    for (size_t i = 0; i < good.size(); ++i) {
      FlipBit(path, i, static_cast<int>(i % 8));
      EXPECT_FALSE(Open().ok()) << name << " byte " << i;
      WriteText(path, good.substr(0, i));
      EXPECT_FALSE(Open().ok()) << name << " cut to " << i;
      WriteText(path, good);
    }
    WriteText(path, good + " ");
    EXPECT_FALSE(Open().ok()) << name << " with more at its end";
    WriteText(path, good);
  }
  EXPECT_EQ(FoundStep(), 1);
}

TEST_F(CheckpointTest, WithoutChecksumsStructureIsStillVerified) {
  HR_EXPECT_OK(Save(1));
  std::string shard = JoinPath(StepPath(1), ShardName(0, 1));
  FlipBit(shard, ReadFile(shard)->size() - 1);
  HR_EXPECT_OK(CheckpointReader::Open(StepPath(1), {.verify_checksums = false}));
  FlipBit(shard, 0);
  HR_EXPECT_ERROR(CheckpointReader::Open(StepPath(1), {.verify_checksums = false}), kDataLoss, "");
}

// The text of a manifest with the lines that vouch for `body`, as a hostile writer would make it.
std::string Signed(const std::string& body) {
  char crc[9];
  std::snprintf(crc, sizeof crc, "%08x", Crc32c(AsBytes(body)));
  return Cat(body, "\"manifest_bytes\":", body.size(), ",\n\"manifest_crc32c\":\"", crc, "\"\n}\n");
}

TEST_F(CheckpointTest, RefusesManifestsThatMakeNoSense) {
  const std::string head = R"({"format":"headrace-checkpoint","version":1,"step":1,)";
  auto parse = [](const std::string& body) { return ParseManifest(Signed(body), "m"); };
  auto shards = [&](std::string_view list) {
    return ParseManifest(Signed(Cat(head, R"("metadata":{},"shards":)", list, ",\n")), "m");
  };
  auto shard = [](std::string_view file, std::string_view bytes, std::string_view crc) {
    return Cat(R"([{"file":")", file, R"(","bytes":)", bytes, R"(,"crc32c":")", crc, R"("}])");
  };
  const std::string name = ShardName(0, 1);
  EXPECT_EQ(shards(shard(name, "10", "00000abc"))->shards[0].crc32c, 0xabcu);
  HR_EXPECT_ERROR(shards(shard("../../etc/passwd", "10", "00000abc")), kDataLoss, "got '../");
  HR_EXPECT_ERROR(shards(shard(name, "-1", "00000abc")), kDataLoss, "'bytes'");
  HR_EXPECT_ERROR(shards(shard(name, "10", "ABC")), kDataLoss, "8 hexadecimal digits");
  HR_EXPECT_ERROR(shards("[7]"), kDataLoss, "expected objects");
  HR_EXPECT_ERROR(shards("{}"), kDataLoss, "got object");
  HR_EXPECT_ERROR(parse(Cat(head, R"("metadata":{"k":1},"shards":[],)")), kDataLoss, "strings");
  HR_EXPECT_ERROR(parse(Cat(head, R"("shards":[],)")), kDataLoss, "'metadata'");
  HR_EXPECT_ERROR(parse(R"({"format":"other",)"), kDataLoss, "got 'other'");
  HR_EXPECT_ERROR(parse(R"({"format":"headrace-checkpoint","version":2,)"), kUnimplemented,
                  "use a newer one");
  HR_EXPECT_ERROR(parse("}{"), kDataLoss, "not valid JSON");
  HR_EXPECT_ERROR(ParseManifest("", "m"), kDataLoss, "cut off");
}

TEST_F(CheckpointTest, RefusesWhatCannotBeSaved) {
  auto create = [&](std::vector<TensorSpec> specs, CheckpointMetadata metadata = {},
                    int64_t step = 1) {
    return CheckpointWriter::Create(Directory(), step, std::move(specs), std::move(metadata), {});
  };
  HR_EXPECT_ERROR(create({}, {}, -1), kInvalidArgument, "got -1");
  HR_EXPECT_ERROR(create({{"s", DType::kString, {1}}}), kInvalidArgument, "'s' string[1]");
  HR_EXPECT_ERROR(create({{"s", DType::kInt8, {-1}}}), kInvalidArgument, "[-1]");
  HR_EXPECT_ERROR(create({{"s", DType::kInt8, {1}}, {"s", DType::kInt64, {1}}}), kInvalidArgument,
                  "named 's'");
  HR_EXPECT_ERROR(create({{"\xff", DType::kInt8, {1}}}), kInvalidArgument, "UTF-8");
  HR_EXPECT_ERROR(create({}, {{"k", "\xc0\x80"}}), kInvalidArgument, "'k' is not");
  auto writer = create({{"w", DType::kFloat32, {4}}}).value();
  HR_EXPECT_ERROR(writer->Commit(), kFailedPrecondition, "1 tensors, 0 are written");
  HR_EXPECT_ERROR(writer->Write(Tensor()), kInvalidArgument, "got none");
  HR_EXPECT_ERROR(writer->Write(StepTensor(allocator_, 1, 5)), kInvalidArgument,
                  "expects the tensor 'w' float32[4], got float32[5]");
  HR_EXPECT_OK(writer->Write(StepTensor(allocator_, 1, 4)));
  HR_EXPECT_ERROR(writer->Write(StepTensor(allocator_, 1, 4)), kFailedPrecondition, "all 1");
  HR_EXPECT_OK(writer->Commit());
  HR_EXPECT_ERROR(writer->Commit(), kFailedPrecondition, "already");
}

TEST_F(CheckpointTest, AnAbandonedWriterLeavesNothing) {
  HR_EXPECT_OK(Save(1));
  {
    auto writer = CheckpointWriter::Create(Directory(), 2, {{"w", DType::kFloat32, {4}}}, {}, {});
    HR_EXPECT_OK((*writer)->Write(StepTensor(allocator_, 1, 4)));
  }
  EXPECT_EQ(ListDirectory(Directory())->size(), 2u);
  EXPECT_EQ(FoundStep(), 1);
}

}  // namespace
}  // namespace hr::train
