#include "runtime/data/callback_dataset.h"

#include "tests/unit/data/scripted_source.h"

namespace hr::data {
namespace {

using Int64s = std::vector<int64_t>;
using Places = std::vector<std::pair<int64_t, int64_t>>;

class CallbackDatasetTest : public DataTest {
 protected:
  Result<std::unique_ptr<Dataset>> Create(const BatchOptions& options, int64_t batch = 1) {
    return CreateCallbackDataset(ScriptedFields(batch), source_.callbacks(), options, allocator_);
  }
  std::unique_ptr<Dataset> Open(const BatchOptions& options = {}, int64_t batch = 1) {
    source_.GoTo(0);
    auto data = Create(options, batch);
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    return std::move(data).value();
  }
  ScriptedSource source_;
};

TEST_F(CallbackDatasetTest, DeliversAndRepeats) {
  EXPECT_EQ(DrawValues(*Open()), (Int64s{0, 1, 2}));
  EXPECT_EQ(source_.seeks.size(), 0u) << "new data is at its beginning";
  auto data = Open({.repeat = 3});
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(DrawValues(*data), (Int64s{0, 1, 2, 100, 101, 102, 200, 201, 202}));
  EXPECT_EQ(source_.seeks, (Places{{1, 0}, {2, 0}}));
  EXPECT_EQ(DrawValues(*data), Int64s{});
  HR_EXPECT_OK(data->Rewind({}));
  EXPECT_EQ(DrawValues(*data, 2), (Int64s{300, 301}));
}

TEST_F(CallbackDatasetTest, AsksForABatchOrForWhatIsLeft) {
  source_.examples = source_.declared = 7;
  auto data = Open({}, 3);
  std::vector<Tensor> out(1);
  EXPECT_EQ(data->size(), 3);
  for (int64_t asked : {3, 3, 1}) {
    EXPECT_TRUE(data->Next(out, {}).value());
    EXPECT_EQ(out[0].elements(), asked);
  }
  EXPECT_GT(allocator_.live(), 0) << "the host has filled memory of the library";
  EXPECT_TRUE(data->Done({}).value());
}

TEST_F(CallbackDatasetTest, PositionsCountExamplesOfNaturalBatches) {
  source_.examples = source_.declared = 7;
  source_.most = 2;
  for (int64_t declared : {7, -1}) {
    source_.declared = declared;
    auto data = Open({.repeat = 2}, 3);
    EXPECT_EQ(DrawValues(*data, 4), (Int64s{0, 1, 2, 3}));
    EXPECT_EQ(data->position()->example, 4);
    const std::string state = data->Save().value();
    source_.most = 3;  // other batches
    auto other = Open({.repeat = 2}, 5);
    HR_EXPECT_OK(other->Restore(state, {}));
    EXPECT_EQ(DrawValues(*other), (Int64s{4, 5, 6, 100, 101, 102, 103, 104, 105, 106}));
    source_.most = 2;
  }
}

TEST_F(CallbackDatasetTest, DoneLooksAheadWithoutMovingThePosition) {
  auto data = Open();
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(data->Done({}).value());
    EXPECT_EQ(data->position()->example, i);
    EXPECT_EQ(DrawValues(*data, 1), Int64s{i});
  }
  EXPECT_TRUE(data->Done({}).value());
  EXPECT_TRUE(data->Done({}).value());
}

TEST_F(CallbackDatasetTest, ResumesAnywhere) {
  Int64s expected{0, 1, 2, 100, 101, 102};
  for (size_t count = 0; count <= expected.size(); ++count) {
    auto first = Open({.repeat = 2});
    DrawValues(*first, count);
    HR_EXPECT_OK(first->Done({}));  // what is read ahead does not count
    std::string state = first->Save().value();
    auto second = Open({.repeat = 2});
    HR_EXPECT_OK(second->Done({}));
    HR_EXPECT_OK(second->Restore(state, {}));
    EXPECT_EQ(DrawValues(*second),
              Int64s(expected.begin() + static_cast<int64_t>(count), expected.end()));
  }
}

TEST_F(CallbackDatasetTest, ShardsTakeTheirParts) {
  source_.examples = source_.declared = 11;
  auto data = Open({.repeat = 2, .shard = {1, 2}}, 3);
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(DrawValues(*data), (Int64s{3, 4, 5, 8, 9, 10, 103, 104, 105, 108, 109, 110}));
  EXPECT_EQ(source_.seeks, (Places{{0, 3}, {0, 8}, {1, 3}, {1, 8}}));
  source_.seeks.clear();
  data = Open({.shard = {0, 2}}, 3);
  EXPECT_EQ(DrawValues(*data), (Int64s{0, 1, 2, 6, 7}));
  EXPECT_EQ(data->position()->epoch, 1);
}

TEST_F(CallbackDatasetTest, PassesFailuresOnAndGoesOn) {
  source_.fail_at = 1;
  auto data = Open();
  EXPECT_EQ(DrawValues(*data, 1), Int64s{0});
  EXPECT_FALSE(data->Done({}).value());
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kUnavailable,
                  "the host's data set failed to make a batch: the camera is off");
  EXPECT_EQ(data->position()->example, 1);
  EXPECT_EQ(DrawValues(*data), (Int64s{1, 2}));
}

TEST_F(CallbackDatasetTest, ASeekThatFailsIsTriedAgain) {
  DatasetCallbacks callbacks = source_.callbacks();
  callbacks.seek = [](void* context, int64_t epoch, int64_t example) -> Status {
    auto& source = ScriptedSource::Of(context);
    if (std::exchange(source.fail_pending, false)) return NotFound("no such tape");
    return ScriptedSource::Seek(context, epoch, example);
  };
  auto data = CreateCallbackDataset(ScriptedFields(), callbacks, {.repeat = 2}, allocator_).value();
  EXPECT_EQ(DrawValues(*data, 3), (Int64s{0, 1, 2}));
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kNotFound,
                  "could not go to example 0 of epoch 1: no such tape");
  EXPECT_EQ(DrawValues(*data), (Int64s{100, 101, 102}));
}

TEST_F(CallbackDatasetTest, ADataSetThatEndsEarlyIsNoEndlessLoop) {
  source_.examples = 0;
  source_.declared = -1;
  auto data = Open({.repeat = kRepeatForever});
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kFailedPrecondition, "no batch in epoch 0");
}

TEST_F(CallbackDatasetTest, AnEpochHasAsManyExamplesAsDeclared) {
  for (int64_t examples : {1, 3}) {
    source_.examples = examples;
    source_.declared = 2;
    auto data = Open({.repeat = 2});
    std::vector<Tensor> out(1);
    EXPECT_EQ(DrawValues(*data, static_cast<size_t>(std::min(examples, int64_t{2}))).front(), 0);
    const std::string position = data->Save().value();
    for (int time = 0; time < 3; ++time) {
      EXPECT_FALSE(data->Done({}).value());
      HR_EXPECT_ERROR(data->Next(out, {}), kDataLoss,
                      examples == 1 ? "declared 2 examples, epoch 0 ended after 1; deliver as many"
                                    : "declared 2 examples, epoch 0 has more; deliver as many");
    }
    EXPECT_EQ(data->Save().value(), position);
  }
}

TEST_F(CallbackDatasetTest, CountsCompleteEpochs) {
  for (bool known : {true, false}) {
    source_.declared = known ? 3 : -1;
    auto data = Open({.repeat = 2});
    for (int64_t epoch : {0, 1}) {
      DrawValues(*data, 2);
      EXPECT_EQ(data->position()->epoch, epoch);
      DrawValues(*data, 1);
      EXPECT_EQ(data->position()->epoch, known ? epoch + 1 : epoch) << "after the last batch";
      EXPECT_EQ(data->Done({}).value(), epoch == 1);
      EXPECT_EQ(data->position()->epoch, epoch + 1) << "once its end is seen";
      EXPECT_EQ(data->position()->example, 0);
    }
    EXPECT_EQ(DrawValues(*data), Int64s{});
  }
}

TEST_F(CallbackDatasetTest, ReadOnceWithoutSeek) {
  DatasetCallbacks once = source_.callbacks();
  once.seek = nullptr;
  once.examples = -1;
  auto data = CreateCallbackDataset(ScriptedFields(), once, {}, allocator_).value();
  EXPECT_FALSE(data->size().has_value());
  HR_EXPECT_OK(data->Rewind({}));
  EXPECT_EQ(DrawValues(*data), (Int64s{0, 1, 2}));
  HR_EXPECT_ERROR(data->Rewind({}), kFailedPrecondition, "no seek function");
  HR_EXPECT_ERROR(CreateCallbackDataset(ScriptedFields(), once, {.repeat = 2}, allocator_),
                  kInvalidArgument, "seek");
  once.examples = 3;
  HR_EXPECT_ERROR(CreateCallbackDataset(ScriptedFields(), once, {.shard = {0, 2}}, allocator_),
                  kInvalidArgument, "seek");
}

TEST_F(CallbackDatasetTest, RefusesOptionsWithoutSense) {
  HR_EXPECT_ERROR(Create({.shuffle = true}), kInvalidArgument, "let the host order");
  HR_EXPECT_ERROR(Create({.repeat = 0}), kInvalidArgument, "got 0");
  HR_EXPECT_ERROR(Create({.drop_remainder = true}, 4), kInvalidArgument, "smaller batch");
  source_.declared = -1;
  HR_EXPECT_ERROR(Create({.drop_remainder = true}), kInvalidArgument, "declare its number");
  HR_EXPECT_ERROR(Create({.shard = {0, 2}}), kInvalidArgument, "declare its number");
  std::vector<Field> fields{{"a", DType::kInt64, {2}}, {"b", DType::kInt64, {3}}};
  HR_EXPECT_ERROR(CreateCallbackDataset(fields, source_.callbacks(), {}, allocator_),
                  kInvalidArgument, "field 'a' declares batches of 2 examples, field 'b' of 3");
}

TEST_F(CallbackDatasetTest, ReleasesOnceWhateverHappens) {
  Open();
  EXPECT_EQ(source_.released, 1);
  EXPECT_FALSE(CreateCallbackDataset({}, source_.callbacks(), {}, allocator_).ok());
  EXPECT_EQ(source_.released, 2);
}

// A host that gives what the test tells it to.
struct Giver {
  std::vector<Tensor> give;
  int64_t asked = 0;
  static Result<bool> Next(void* context, int64_t examples, std::span<Tensor> out) {
    auto& self = *static_cast<Giver*>(context);
    self.asked = examples;
    std::ranges::copy(self.give, out.begin());
    return true;
  }
  static Status Seek(void*, int64_t, int64_t) { return {}; }
  DatasetCallbacks callbacks(int64_t examples = -1) {
    return {this, Next, Seek, nullptr, examples};
  }
};

TEST_F(CallbackDatasetTest, ChecksWhatTheHostGives) {
  Giver host{{Tensor()}};
  auto data =
      CreateCallbackDataset({{"x", DType::kFloat32, {4, -1}}}, host.callbacks(), {}, allocator_)
          .value();
  std::vector<Tensor> out(1);
  auto give = [&](DType dtype, Dims dims) {
    host.give[0] = Tensor::Create(allocator_, dtype, std::move(dims)).value();
    return data->Next(out, {});
  };
  HR_EXPECT_ERROR(data->Next(out, {}), kInvalidArgument, "returned no tensor for field 'x'");
  EXPECT_TRUE(give(DType::kFloat32, {3, 7}).value());
  EXPECT_EQ(out[0].data(), host.give[0].data()) << "taken without a copy";
  HR_EXPECT_ERROR(give(DType::kFloat64, {3, 7}), kInvalidArgument,
                  "'x' as float32[4, -1], its batch has float64[3, 7]");
  HR_EXPECT_ERROR(give(DType::kFloat32, {5, 7}), kInvalidArgument, "float32[5, 7]");
  HR_EXPECT_ERROR(give(DType::kFloat32, {0, 7}), kInvalidArgument,
                  "asked for 1 to 4 examples, the same of each field; field 'x' has 0");
  EXPECT_EQ(data->position()->example, 3);
  host.give[0] =
      Tensor::Strided(Tensor::Create(allocator_, DType::kFloat32, {5, 7}).value().buffer(), 0,
                      DType::kFloat32, {3, 7}, {1, 5});
  HR_EXPECT_ERROR(data->Next(out, {}), kInvalidArgument, "contiguous");
}

TEST_F(CallbackDatasetTest, FieldsOfABatchHaveTheSameExamples) {
  Giver host;
  for (int64_t examples : {3, 2})
    host.give.push_back(Tensor::Create(allocator_, DType::kInt64, {examples}).value());
  std::vector<Tensor> out(2);
  auto open = [&](int64_t first, int64_t second, const BatchOptions& options, int64_t examples) {
    return CreateCallbackDataset({{"a", DType::kInt64, {first}}, {"b", DType::kInt64, {second}}},
                                 host.callbacks(examples), options, allocator_)
        .value();
  };
  HR_EXPECT_ERROR(open(4, 4, {}, -1)->Next(out, {}), kInvalidArgument, "field 'b' has 2");
  HR_EXPECT_ERROR(open(-1, -1, {}, -1)->Next(out, {}), kInvalidArgument, "field 'b' has 2");
  EXPECT_EQ(host.asked, 32);
  HR_EXPECT_ERROR(open(-1, -1, {.batch = 2}, -1)->Next(out, {}), kInvalidArgument, "'a' has 3");
  HR_EXPECT_OK(open(4, -1, {}, -1)->Next(out, {}));
  HR_EXPECT_OK(open(3, -1, {.shard = {1, 2}}, 6)->Next(out, {}));
  HR_EXPECT_ERROR(open(4, -1, {.shard = {1, 2}}, 8)->Next(out, {}), kInvalidArgument,
                  "asked for exactly 4 examples");
}

TEST_F(CallbackDatasetTest, AnEmptyPartIsNotAskedFor) {
  source_.examples = source_.declared = 3;
  auto data = Open({.shard = {0, 2}});
  std::vector<Tensor> out(1);
  EXPECT_EQ(DrawValues(*data, 1), Int64s{0});
  const int calls = source_.calls.load();
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[0].TypeText(), "int64[0]");
  EXPECT_EQ(source_.calls.load(), calls);
  EXPECT_FALSE(data->Next(out, {}).value());
}

}  // namespace
}  // namespace hr::data
