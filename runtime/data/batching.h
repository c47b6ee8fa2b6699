// How the examples of an epoch become batches, and the batches of several shards.
//
// A global batch has the next `batch` examples of the epoch's order for each shard, or what is left
// of the epoch. Every shard takes its own part of it, and all stand at the same position
// afterwards: so they make the same number of batches, and any other number of shards can go on
// from there.
#pragma once

#include "runtime/data/dataset.h"

namespace hr::data {

struct BatchOptions {
  int64_t batch = 32;    // examples of a batch, of one shard
  bool shuffle = false;  // a full permutation, another one each epoch
  uint64_t seed = 0;
  int64_t repeat = 1;           // epochs of a pass, or kRepeatForever
  bool drop_remainder = false;  // leave out a last global batch that would be smaller
  Shard shard;
};

// Examples of an epoch's order.
struct ExampleRange {
  int64_t first = 0;
  int64_t count = 0;
};

// INVALID_ARGUMENT for options that make no sense for `examples` examples (-1: unknown).
Status CheckBatchOptions(const BatchOptions& options, int64_t examples);

// Returns the number of batches that each shard makes of an epoch of `examples` examples.
int64_t BatchesOfEpoch(const BatchOptions& options, int64_t examples);

bool PassIsOver(const BatchOptions& options, const DataPosition& position);

// The examples of the global batch at `position`, and the shard's part of them.
ExampleRange GlobalBatch(const BatchOptions& options, const DataPosition& position);
ExampleRange PartOf(const ExampleRange& whole, const Shard& shard);

// Goes on by `count` examples, and to the next epoch if no batch is left in this one.
void Advance(const BatchOptions& options, int64_t count, DataPosition* position);

}  // namespace hr::data
