// A data set whose batches a host's functions give.
#pragma once

#include <memory>
#include <vector>

#include "runtime/data/batching.h"

namespace hr::data {

// All are called with `context`, never two at a time, and (under a prefetcher) on its thread.
struct DatasetCallbacks {
  void* context = nullptr;

  // Makes the next batch of `examples` examples and returns true, or returns false at the end of
  // the epoch. Without shards a batch may have fewer. `out` holds tensors of the declared shapes,
  // but with dims[0] = `examples`, whose memory the host may fill; or the host replaces them by its
  // own. Fields with a dimension of -1 come undefined. A call that fails makes no batch.
  Result<bool> (*next)(void* context, int64_t examples, std::span<Tensor> out) = nullptr;

  // Makes the next batch begin with an example of an epoch, or end the epoch if it has only
  // `example` examples. A new data set begins with example 0 of epoch 0. Null: the data can be read
  // once, from its beginning.
  Status (*seek)(void* context, int64_t epoch, int64_t example) = nullptr;

  // Called once, when the data set is destroyed or could not be created. May be null.
  void (*release)(void* context) = nullptr;

  // Of one epoch, of all shards; 0 or less: unknown.
  int64_t examples = -1;
};

// The batch is dims[0] of the fields that declare it, the same for all; options.batch counts if no
// field does. A field whose dims[0] is -1 beside others that declare it may have any length. Seed
// and shuffle are not used: the host orders the examples. Repeating and shards need `seek`; shards
// and drop_remainder need the number of examples. `allocator` must outlive the data set and its
// tensors.
Result<std::unique_ptr<Dataset>> CreateCallbackDataset(std::vector<Field> fields,
                                                       const DatasetCallbacks& callbacks,
                                                       const BatchOptions& options,
                                                       Allocator& allocator);

}  // namespace hr::data
