#include "runtime/train/callback_dataset.h"

#include "tests/unit/train/scripted_source.h"

namespace hr::train {
namespace {

using Values = std::vector<int64_t>;

class CallbackDatasetTest : public TrainTest {
 protected:
  std::unique_ptr<Dataset> Open(int64_t repeat = 1) {
    auto data = CreateCallbackDataset(ScriptedFields(), source_.callbacks(), repeat, allocator_);
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    return std::move(data).value();
  }
  ScriptedSource source_;
};

TEST_F(CallbackDatasetTest, DeliversAndRepeats) {
  EXPECT_EQ(DrawValues(*Open()), (Values{0, 1, 2}));
  source_.GoTo(0);
  auto data = Open(3);
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(DrawValues(*data), (Values{0, 1, 2, 100, 101, 102, 200, 201, 202}));
  EXPECT_EQ(DrawValues(*data), Values{});
  HR_EXPECT_OK(data->Rewind());
  EXPECT_EQ(DrawValues(*data, 2), (Values{300, 301}));
}

TEST_F(CallbackDatasetTest, DoneLooksAheadWithoutMovingThePosition) {
  auto data = Open();
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(data->done());
    EXPECT_EQ(data->position().index, i);
    EXPECT_EQ(DrawValues(*data, 1), Values{i});
  }
  EXPECT_TRUE(data->done());
  EXPECT_TRUE(data->done());
}

TEST_F(CallbackDatasetTest, ResumesByReadingUpToThePosition) {
  Values expected{0, 1, 2, 100, 101, 102};
  for (size_t count = 0; count <= expected.size(); ++count) {
    source_.GoTo(0);
    auto first = Open(2);
    DrawValues(*first, count);
    first->done();  // what is read ahead does not count
    std::string state = first->Save();
    source_.GoTo(0);
    auto second = Open(2);
    second->done();
    HR_EXPECT_OK(second->Restore(state));
    EXPECT_EQ(DrawValues(*second),
              Values(expected.begin() + static_cast<int64_t>(count), expected.end()));
  }
}

TEST_F(CallbackDatasetTest, RefusesAPositionBehindTheEnd) {
  auto data = Open();
  HR_EXPECT_ERROR(data->Seek({.epoch = 0, .index = 5}), kOutOfRange, "ended after 3");
}

TEST_F(CallbackDatasetTest, PassesFailuresOnAndGoesOn) {
  source_.fail_at = 1;
  auto data = Open();
  EXPECT_EQ(DrawValues(*data, 1), Values{0});
  EXPECT_FALSE(data->done());
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kUnavailable, "camera");
  EXPECT_EQ(data->position().index, 1);
  EXPECT_EQ(DrawValues(*data), (Values{1, 2}));
}

TEST_F(CallbackDatasetTest, ADataSetThatEndsEarlyIsNoEndlessLoop) {
  source_.batches = 0;
  auto data = Open(kRepeatForever);
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kFailedPrecondition, "no batch in epoch 0");
}

TEST_F(CallbackDatasetTest, AnEpochHasAsManyBatchesAsDeclared) {
  for (int64_t batches : {1, 3}) {
    source_.GoTo(0);
    source_.batches = batches;
    DatasetCallbacks callbacks = source_.callbacks();
    callbacks.size = [](void*) { return int64_t{2}; };
    auto data = CreateCallbackDataset(ScriptedFields(), callbacks, 2, allocator_).value();
    std::vector<Tensor> out(1);
    EXPECT_EQ(DrawValues(*data, std::min(batches, int64_t{2})).front(), 0);
    const std::string position = data->Save();
    for (int time = 0; time < 2; ++time) {
      EXPECT_FALSE(data->done());
      HR_EXPECT_ERROR(data->Next(out, {}), kDataLoss,
                      batches == 1 ? "declared 2 batches, epoch 0 ended after 1; deliver as many"
                      : time == 0  ? "declared 2 batches, epoch 0 has more; deliver as many"
                                   : "declared 2 batches, epoch 0 ended after 3; deliver as many");
    }
    EXPECT_EQ(data->Save(), position);
  }
}

TEST_F(CallbackDatasetTest, CountsCompleteEpochs) {
  for (bool known : {true, false}) {
    source_.GoTo(0);
    DatasetCallbacks callbacks = source_.callbacks();
    if (!known) callbacks.size = nullptr;
    auto data = CreateCallbackDataset(ScriptedFields(), callbacks, 2, allocator_).value();
    for (int64_t epoch : {0, 1}) {
      DrawValues(*data, 2);
      EXPECT_EQ(data->position().epoch, epoch);
      DrawValues(*data, 1);
      EXPECT_EQ(data->position().epoch, known ? epoch + 1 : epoch) << "after the last batch";
      EXPECT_EQ(data->done(), epoch == 1);
      EXPECT_EQ(data->position().epoch, epoch + 1) << "once its end is seen";
      EXPECT_EQ(data->position().index, 0);
    }
    EXPECT_EQ(DrawValues(*data), Values{});
  }
}

TEST_F(CallbackDatasetTest, ReadOnceWithoutReset) {
  DatasetCallbacks once{&source_, ScriptedSource::Next, nullptr, nullptr, nullptr};
  auto data = CreateCallbackDataset(ScriptedFields(), once, 1, allocator_).value();
  EXPECT_FALSE(data->size().has_value());
  HR_EXPECT_OK(data->Rewind());
  EXPECT_EQ(DrawValues(*data), (Values{0, 1, 2}));
  HR_EXPECT_ERROR(data->Rewind(), kFailedPrecondition, "no reset function");
  HR_EXPECT_ERROR(CreateCallbackDataset(ScriptedFields(), once, 2, allocator_), kInvalidArgument,
                  "reset");
}

TEST_F(CallbackDatasetTest, ReleasesOnceWhateverHappens) {
  Open();
  EXPECT_EQ(source_.released, 1);
  EXPECT_FALSE(CreateCallbackDataset({}, source_.callbacks(), 1, allocator_).ok());
  EXPECT_EQ(source_.released, 2);
}

TEST_F(CallbackDatasetTest, ChecksWhatTheHostGives) {
  struct Host {
    Tensor give;
    static Result<bool> Next(void* context, std::span<Tensor> out) {
      out[0] = static_cast<Host*>(context)->give;
      return true;
    }
  } host;
  DatasetCallbacks callbacks{&host, Host::Next, nullptr, nullptr, nullptr};
  auto data =
      CreateCallbackDataset({{"x", DType::kFloat32, {4, -1}}}, callbacks, 1, allocator_).value();
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kInvalidArgument, "returned no tensor for field 'x'");
  host.give = Tensor::Create(allocator_, DType::kFloat32, {3, 7}).value();
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[0].data(), host.give.data()) << "taken without a copy";
  host.give = Tensor::Create(allocator_, DType::kFloat64, {3, 7}).value();
  HR_EXPECT_ERROR(data->Next(out, {}), kInvalidArgument,
                  "'x' as float32[4, -1], its batch has float64[3, 7]");
  host.give = Tensor::Create(allocator_, DType::kFloat32, {5, 7}).value();
  HR_EXPECT_ERROR(data->Next(out, {}), kInvalidArgument, "float32[5, 7]");
  host.give = Tensor::Strided(host.give.buffer(), 0, DType::kFloat32, {3, 7}, {1, 5});
  HR_EXPECT_ERROR(data->Next(out, {}), kInvalidArgument, "contiguous");
}

}  // namespace
}  // namespace hr::train
