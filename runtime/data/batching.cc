#include "runtime/data/batching.h"

#include <algorithm>
#include <limits>

#include "runtime/base/errors.h"

namespace hr::data {
namespace {

constexpr int64_t kMostShards = std::numeric_limits<int32_t>::max();

int64_t GlobalSize(const BatchOptions& options) { return options.batch * options.shard.count; }

Status CheckShard(const BatchOptions& options) {
  const Shard& shard = options.shard;
  if (shard.count < 1 || shard.count > kMostShards || shard.index < 0 ||
      shard.index >= shard.count) {
    return InvalidArgument("expected a shard INDEX/COUNT with 0 <= INDEX < COUNT, got ",
                           shard.index, "/", shard.count);
  }
  if (options.batch <= std::numeric_limits<int64_t>::max() / shard.count) return {};
  return InvalidArgument("a batch of ", options.batch, " for each of ", shard.count,
                         " shards has too many examples");
}

// floor(part * whole / count), without overflow for part <= count <= kMostShards.
int64_t Share(int64_t whole, int64_t part, int64_t count) {
  return part * (whole / count) + part * (whole % count) / count;
}

}  // namespace

Status CheckBatchOptions(const BatchOptions& options, int64_t examples) {
  if (options.batch < 1)
    return InvalidArgument("expected a batch of at least 1, got ", options.batch);
  if (options.repeat < 1 && options.repeat != kRepeatForever) {
    return InvalidArgument("expected to repeat at least 1 time, got ", options.repeat);
  }
  HR_RETURN_IF_ERROR(CheckShard(options));
  if (!options.drop_remainder || examples < 0 || GlobalSize(options) <= examples) return {};
  return InvalidArgument("a batch of ", options.batch, " for each of ", options.shard.count,
                         " shards with drop_remainder leaves nothing of ", examples,
                         " examples; use a smaller batch");
}

int64_t BatchesOfEpoch(const BatchOptions& options, int64_t examples) {
  const bool partial = examples % GlobalSize(options) != 0 && !options.drop_remainder;
  return examples / GlobalSize(options) + (partial ? 1 : 0);
}

bool PassIsOver(const BatchOptions& options, const DataPosition& position) {
  return options.repeat != kRepeatForever &&
         position.epoch - position.first_epoch >= options.repeat;
}

ExampleRange GlobalBatch(const BatchOptions& options, const DataPosition& position) {
  int64_t count = GlobalSize(options);
  if (position.size >= 0) count = std::min(count, position.size - position.example);
  return {position.example, count};
}

ExampleRange PartOf(const ExampleRange& whole, const Shard& shard) {
  const int64_t begin = Share(whole.count, shard.index, shard.count);
  return {whole.first + begin, Share(whole.count, shard.index + 1, shard.count) - begin};
}

void Advance(const BatchOptions& options, int64_t count, DataPosition* position) {
  position->example += count;
  if (position->size < 0) return;
  const int64_t left = position->size - position->example;
  if (left > 0 && !(options.drop_remainder && left < GlobalSize(options))) return;
  ++position->epoch;
  position->example = 0;
}

}  // namespace hr::data
