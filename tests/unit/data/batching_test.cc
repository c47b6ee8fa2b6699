#include "runtime/data/batching.h"

#include <random>

#include "runtime/data/prefetch_dataset.h"
#include "tests/unit/data/memory_dataset.h"
#include "tests/unit/data/scripted_source.h"

namespace hr::data {
namespace {

using Int64s = std::vector<int64_t>;

TEST(BatchingTest, PartsAreTheWhole) {
  std::mt19937_64 random(1);
  for (int time = 0; time < 2000; ++time) {
    const auto count = static_cast<int64_t>(1 + random() % 9);
    const ExampleRange whole{static_cast<int64_t>(random() % 100),
                             static_cast<int64_t>(random() % 40)};
    int64_t at = whole.first;
    for (int64_t index = 0; index < count; ++index) {
      const ExampleRange part = PartOf(whole, {index, count});
      EXPECT_EQ(part.first, at);
      EXPECT_EQ(part.first, whole.first + index * whole.count / count);
      EXPECT_LE(part.count, (whole.count + count - 1) / count) << "no more than the batch";
      at += part.count;
    }
    EXPECT_EQ(at, whole.first + whole.count);
  }
}

TEST(BatchingTest, PartsOfHugeBatchesDoNotOverflow) {
  const ExampleRange whole{0, INT64_MAX};
  const Shard last{INT32_MAX - 1, INT32_MAX};
  const ExampleRange part = PartOf(whole, last);
  EXPECT_EQ(part.first + part.count, INT64_MAX);
  EXPECT_GT(part.first, 0);
}

TEST(BatchingTest, RefusesShardsThatCannotBe) {
  for (Shard shard : {Shard{0, 0}, {-1, 2}, {2, 2}, {0, -1}, {0, int64_t{1} << 31}}) {
    const Status status = CheckBatchOptions({.shard = shard}, 100);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_TRUE(Contains(status.message(), Cat("got ", shard.index, "/", shard.count)));
  }
  EXPECT_EQ(CheckBatchOptions({.batch = INT64_MAX / 2, .shard = {0, 3}}, 9).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CheckBatchOptions({.batch = 4, .drop_remainder = true, .shard = {0, 3}}, 11).code(),
            Code::kInvalidArgument);
}

// The same examples as a data set in memory and as one of a host, which orders them alike.
class ShardsTest : public DataTest {
 protected:
  static constexpr int64_t kExamples = 23;

  std::unique_ptr<Dataset> Open(bool host, int64_t batch, Shard shard, bool drop = false) {
    BatchOptions options{.batch = batch,
                         .shuffle = !host,
                         .seed = 3,
                         .repeat = 3,
                         .drop_remainder = drop,
                         .shard = shard};
    if (host) {
      ScriptedSource& source = sources_.emplace_back();
      source.examples = source.declared = kExamples;
      return CreateCallbackDataset(ScriptedFields(batch), source.callbacks(), options, allocator_)
          .value();
    }
    Int64s values;
    for (int64_t i = 0; i < kExamples; ++i) values.push_back(i);
    Tensor tensor = MakeTensor<int64_t>(allocator_, {kExamples}, values).value();
    auto data = CreateMemoryDataset({ColumnOf("value", tensor)}, options, allocator_).value();
    return CreatePrefetchDataset(std::move(data), 2).value();
  }

  // The next global batch of `count` shards, which stand at `state` before and afterwards.
  Int64s Draw(bool host, int64_t batch, int64_t count, std::string* state) {
    Int64s whole;
    std::string after;
    for (int64_t index = 0; index < count; ++index) {
      auto data = Open(host, batch, {index, count});
      HR_EXPECT_OK(data->Restore(*state, {}));
      std::vector<Tensor> out(1);
      EXPECT_TRUE(data->Next(out, {}).value());
      EXPECT_LE(out[0].elements(), batch);
      whole.insert(whole.end(), out[0].as<int64_t>(), out[0].as<int64_t>() + out[0].elements());
      EXPECT_TRUE(index == 0 || data->Save().value() == after) << "all stand at one position";
      after = data->Save().value();
    }
    *state = after;
    return whole;
  }

  std::deque<ScriptedSource> sources_;
};

TEST_F(ShardsTest, AnyNumberOfShardsGoesOn) {
  for (bool host : {false, true}) {
    auto one = Open(host, 5, {});
    const std::string begin = one->Save().value();
    const Int64s expected = DrawValues(*one);
    ASSERT_EQ(expected.size(), 3u * kExamples);
    for (int64_t seed = 0; seed < 20; ++seed) {
      std::mt19937_64 random(static_cast<uint64_t>(seed));
      std::string state = begin;
      Int64s drawn;
      while (drawn.size() < expected.size()) {
        const auto count = seed == 0 ? 4 - static_cast<int64_t>(drawn.size() > kExamples)
                                     : static_cast<int64_t>(1 + random() % 5);
        const int64_t batch = seed < 2 ? 3 : static_cast<int64_t>(1 + random() % 4);
        const Int64s batch_values = Draw(host, batch, count, &state);
        drawn.insert(drawn.end(), batch_values.begin(), batch_values.end());
      }
      EXPECT_EQ(drawn, expected) << "seed " << seed;
    }
  }
}

TEST_F(ShardsTest, AllMakeTheSameNumberOfBatches) {
  for (bool host : {false, true}) {
    for (bool drop : {false, true}) {
      for (int64_t count = 1; count < 12; ++count) {
        for (int64_t index = 0; index < count; ++index) {
          auto data = Open(host, 2, {index, count}, drop);
          const int64_t expected =
              drop ? kExamples / (2 * count) : (kExamples + 2 * count - 1) / (2 * count);
          EXPECT_EQ(data->size(), expected);
          std::vector<Tensor> out(1);
          int64_t batches = 0;
          for (; data->Next(out, {}).value(); ++batches) {
            EXPECT_TRUE(!drop || out[0].elements() == 2);
          }
          EXPECT_EQ(batches, 3 * expected) << index << "/" << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hr::data
