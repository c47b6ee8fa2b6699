// A data set over examples that can be read by their numbers: shuffled, repeated and batched.
#pragma once

#include <memory>

#include "runtime/data/batching.h"
#include "runtime/data/example_source.h"

namespace hr::data {

// Everything that makes a data set.
struct Draw {
  SourceRef source;
  BatchOptions batch;
  int64_t prefetch = 0;  // batches that a thread reads ahead; 0: none
};

// Its fields are those of the source, with the batch before their dimensions. `allocator` must
// outlive the data set and every tensor it delivered. INVALID_ARGUMENT if there are no examples.
Result<std::unique_ptr<Dataset>> CreateExampleDataset(Draw draw, Allocator& allocator);

}  // namespace hr::data
