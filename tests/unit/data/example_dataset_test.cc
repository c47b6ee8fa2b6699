#include "runtime/data/example_dataset.h"

#include <algorithm>
#include <limits>

#include "tests/leaks.h"
#include "tests/unit/data/memory_dataset.h"
#include "tests/unit/data/test_support.h"

namespace hr::data {
namespace {

class ExampleDatasetTest : public DataTest {
 protected:
  // Example i has x = {10 i, 10 i + 1} and y = i.
  std::unique_ptr<Dataset> Open(int64_t examples, const BatchOptions& options) {
    std::vector<float> x;
    std::vector<int64_t> y;
    for (int64_t i = 0; i < examples; ++i) {
      x.insert(x.end(), {10.0f * static_cast<float>(i), 10.0f * static_cast<float>(i) + 1});
      y.push_back(i);
    }
    Tensor xs = MakeTensor<float>(allocator_, {examples, 2}, x).value();
    Tensor ys = MakeTensor<int64_t>(allocator_, {examples}, y).value();
    auto dataset = CreateMemoryDataset({ColumnOf("x", xs), ColumnOf("y", ys)}, options, allocator_);
    EXPECT_TRUE(dataset.ok()) << dataset.status().ToString();
    return std::move(dataset).value();
  }

  // The y of the next `batches` batches, or all; every x is checked against its y.
  std::vector<std::vector<int64_t>> Draw(Dataset& data, int batches = 1000) {
    std::vector<std::vector<int64_t>> drawn;
    std::vector<Tensor> out(2);
    while (batches-- > 0 && !data.Done({}).value()) {
      EXPECT_TRUE(data.Next(out, {}).value());
      std::span<int64_t> y = out[1].span<int64_t>();
      drawn.emplace_back(y.begin(), y.end());
      EXPECT_EQ(out[0].dims(), (Dims{static_cast<int64_t>(y.size()), 2}));
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(out[0].as<float>()[2 * i + 1], 10.0f * static_cast<float>(y[i]) + 1);
      }
    }
    return drawn;
  }

  Status CreationError(std::vector<Column> columns, const BatchOptions& options) {
    return CreateMemoryDataset(std::move(columns), options, allocator_).status().Clone();
  }
};

using Batches = std::vector<std::vector<int64_t>>;

TEST_F(ExampleDatasetTest, BatchesInOrder) {
  auto data = Open(5, {.batch = 2});
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->fields()[0].name, "x");
  EXPECT_EQ(data->fields()[0].dims, (Dims{2, 2}));
  EXPECT_EQ(Draw(*data), (Batches{{0, 1}, {2, 3}, {4}}));
  std::vector<Tensor> out(2);
  EXPECT_FALSE(data->Next(out, {}).value());
  EXPECT_FALSE(out[0].defined());
}

TEST_F(ExampleDatasetTest, IsAnInputSourceOfCalls) {
  auto data = Open(2, {.batch = 2});
  session::InputSource& source = *data;
  EXPECT_EQ(Join(source.names()), "x, y");
  std::vector<Tensor> out(2);
  EXPECT_TRUE(source.Next(out, {}).value());
  EXPECT_EQ(out[1].as<int64_t>()[1], 1);
  EXPECT_FALSE(source.Next(out, {}).value());
}

TEST_F(ExampleDatasetTest, DropsTheRemainderWhenAsked) {
  auto data = Open(5, {.batch = 2, .repeat = 2, .drop_remainder = true});
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(Draw(*data), (Batches{{0, 1}, {2, 3}, {0, 1}, {2, 3}}));
}

TEST_F(ExampleDatasetTest, RepeatsForever) {
  auto data = Open(3, {.batch = 2, .repeat = kRepeatForever});
  EXPECT_EQ(Draw(*data, 100).size(), 100u);
  EXPECT_EQ(data->position()->epoch, 50);
}

TEST_F(ExampleDatasetTest, ShufflesEachEpochAnew) {
  auto data = Open(40, {.batch = 40, .shuffle = true, .seed = 7, .repeat = 2});
  Batches epochs = Draw(*data);
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(epoch[static_cast<size_t>(i)], i);
  }
}

TEST_F(ExampleDatasetTest, RewindGoesOnToTheNextEpoch) {
  auto whole = Open(10, {.batch = 4, .shuffle = true, .seed = 1, .repeat = 3});
  Batches expected = Draw(*whole);
  auto data = Open(10, {.batch = 4, .shuffle = true, .seed = 1});
  Batches drawn;
  for (int pass = 0; pass < 3; ++pass) {
    HR_EXPECT_OK(data->Rewind({}));
    HR_EXPECT_OK(data->Rewind({}));  // changes nothing: nothing was delivered
    for (auto& batch : Draw(*data)) drawn.push_back(batch);
  }
  EXPECT_EQ(drawn, expected);
}

TEST_F(ExampleDatasetTest, ResumesAnywhere) {
  BatchOptions options{.batch = 3, .shuffle = true, .seed = 5, .repeat = 3};
  auto whole = Open(10, options);
  Batches expected = Draw(*whole);
  for (size_t done = 0; done <= expected.size(); ++done) {
    auto first = Open(10, options);
    Draw(*first, static_cast<int>(done));
    auto second = Open(10, {.batch = 3, .repeat = 3});  // seed and shuffle come from the state
    HR_EXPECT_OK(second->Restore(first->Save().value(), {}));
    Batches rest = Draw(*second);
    EXPECT_EQ(rest, Batches(expected.begin() + static_cast<int64_t>(done), expected.end()));
  }
}

TEST_F(ExampleDatasetTest, SeekingTakesTheOrderOfTheState) {
  auto shuffled = Open(20, {.batch = 5, .shuffle = true, .seed = 2});
  std::string begin = shuffled->Save().value();
  Batches expected = Draw(*shuffled);
  auto other = Open(20, {.batch = 5, .shuffle = true, .seed = 3});
  EXPECT_NE(Draw(*other, 2)[0], expected[0]);
  HR_EXPECT_OK(other->Restore(begin, {}));
  EXPECT_EQ(Draw(*other), expected);
}

TEST_F(ExampleDatasetTest, SavesALineOfJson) {
  auto data = Open(10, {.batch = 4, .shuffle = true, .seed = UINT64_MAX});
  Draw(*data, 2);
  EXPECT_EQ(data->Save().value(),
            R"({"epoch":0,"example":8,"first_epoch":0,"seed":18446744073709551615,)"
            R"("shuffle":true,"size":10})");
}

TEST_F(ExampleDatasetTest, RefusesForeignStates) {
  auto data = Open(10, {.batch = 4});
  auto state = [](std::string_view example, std::string_view size, std::string_view more = "") {
    return Cat(R"({"epoch":2,"example":)", example, R"(,"first_epoch":2,"seed":1,"shuffle":false,)",
               R"("size":)", size, more, "}");
  };
  HR_EXPECT_OK(data->Restore(state("8", "10"), {}));
  std::string before = data->Save().value();
  HR_EXPECT_ERROR(data->Restore(state("8", "11"), {}), kInvalidArgument, "this data set has 10");
  HR_EXPECT_ERROR(data->Restore(state("11", "10"), {}), kInvalidArgument, "outside the data");
  HR_EXPECT_ERROR(data->Restore(state("-1", "10"), {}), kDataLoss, "'example' is out of range");
  HR_EXPECT_ERROR(data->Restore(state("1e30", "10"), {}), kDataLoss, "expected an integer");
  HR_EXPECT_ERROR(data->Restore(state("18446744073709551615", "10"), {}), kDataLoss,
                  "out of range");
  HR_EXPECT_ERROR(data->Restore(state("\"8\"", "10"), {}), kDataLoss, "got string");
  HR_EXPECT_ERROR(data->Restore(state("8", "10", R"(,"size":10)"), {}), kDataLoss, "'size' twice");
  HR_EXPECT_ERROR(data->Restore("[1]", {}), kDataLoss, "got array");
  HR_EXPECT_ERROR(data->Restore("{", {}), kDataLoss, "not valid JSON");
  HR_EXPECT_ERROR(data->Restore("{}", {}), kDataLoss, "no member 'epoch'");
  HR_EXPECT_ERROR(data->Restore(std::string(1000, '['), {}), kDataLoss, "nested");
  EXPECT_EQ(data->Save().value(), before);
}

TEST_F(ExampleDatasetTest, AllocatesNothingAfterTheFirstBatches) {
  auto data = Open(10, {.batch = 4, .shuffle = true, .repeat = kRepeatForever});
  std::vector<Tensor> out(2);
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(data->Next(out, {}).value());
  int tensors = allocator_.allocations();
  const long before = ObjectsMade();
  for (int i = 0; i < 100; ++i) {
    if (!data->Next(out, {}).ok()) break;
  }
  const long after = ObjectsMade();
  EXPECT_EQ(after, before);
  EXPECT_EQ(allocator_.allocations(), tensors);
}

TEST_F(ExampleDatasetTest, BatchesLiveAsLongAsTheyAreHeld) {
  auto data = Open(8, {.batch = 2});
  std::vector<std::vector<Tensor>> held(4, std::vector<Tensor>(2));
  for (auto& out : held) EXPECT_TRUE(data->Next(out, {}).value());
  data.reset();
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(held[static_cast<size_t>(i)][1].as<int64_t>()[0], 2 * i);
}

TEST_F(ExampleDatasetTest, MapsBytesToFloats) {
  std::vector<uint8_t> pixels{0, 1, 255, 2};
  Column column = ColumnOf("images", MakeTensor<uint8_t>(allocator_, {2, 2}, pixels).value());
  column.example_dims = {1, 2, 1};
  for (int v = 0; v < 256; ++v) column.map.push_back(static_cast<float>(v) * 0.5f);
  auto data = CreateMemoryDataset({column}, {.batch = 2}, allocator_).value();
  EXPECT_EQ(data->fields()[0].dims, (Dims{2, 1, 2, 1}));
  std::vector<Tensor> out(1);
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[0].TypeText(), "float32[2, 1, 2, 1]");
  EXPECT_EQ(out[0].as<float>()[2], 127.5f);
}

TEST_F(ExampleDatasetTest, RefusesColumnsThatDoNotFit) {
  Tensor four = Tensor::Create(allocator_, DType::kUint8, {4, 3}).value();
  Tensor five = Tensor::Create(allocator_, DType::kFloat32, {5}).value();
  Tensor none = Tensor::Create(allocator_, DType::kFloat32, {0, 3}).value();
  Tensor scalar = Tensor::Create(allocator_, DType::kFloat32, {}).value();
  HR_EXPECT_ERROR(CreationError({}, {}), kInvalidArgument, "at least one field");
  HR_EXPECT_ERROR(CreationError({ColumnOf("a", four), ColumnOf("b", five)}, {}), kInvalidArgument,
                  "'b' has 5 examples, the first field has 4");
  HR_EXPECT_ERROR(CreationError({ColumnOf("a", none)}, {}), kInvalidArgument, "no examples");
  HR_EXPECT_ERROR(CreationError({ColumnOf("a", scalar)}, {}), kInvalidArgument, "dimension 0");
  HR_EXPECT_ERROR(CreationError({Column{"a", {four}, {4}, {}}}, {}), kInvalidArgument,
                  "shape [4] cannot come from uint8[4, 3]");
  HR_EXPECT_ERROR(CreationError({Column{"a", {four}, {INT64_MAX, 3}, {}}}, {}), kInvalidArgument,
                  "");
  HR_EXPECT_ERROR(CreationError({Column{"a", {four}, {3}, {1, 2}}}, {}), kInvalidArgument, "256");
  HR_EXPECT_ERROR(CreationError({ColumnOf("a", four)}, {.batch = 0}), kInvalidArgument, "got 0");
  HR_EXPECT_ERROR(CreationError({ColumnOf("a", four)}, {.repeat = -2}), kInvalidArgument, "got -2");
  HR_EXPECT_ERROR(CreationError({ColumnOf("a", four)}, {.batch = 5, .drop_remainder = true}),
                  kInvalidArgument, "smaller batch");
}

TEST_F(ExampleDatasetTest, FailuresLeaveThePosition) {
  auto data = Open(4, {.batch = 2});
  std::vector<Tensor> one(1);
  HR_EXPECT_ERROR(data->Next(one, {}), kInvalidArgument, "has 2 tensors, got room for 1");
  CancelToken token;
  token.Cancel();
  std::vector<Tensor> out(2);
  HR_EXPECT_ERROR(data->Next(out, {.cancel = &token}), kCancelled, "");
  for (int successes = 0; data->position()->example == 0; ++successes) {
    allocator_.FailAfter(successes);
    Result<bool> result = data->Next(out, {});
    EXPECT_EQ(result.ok(), data->position()->example != 0);
  }
  allocator_.FailAfter(100);
  EXPECT_EQ(Draw(*data), (Batches{{2, 3}}));
}

}  // namespace
}  // namespace hr::data
