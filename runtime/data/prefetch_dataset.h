// Reads batches ahead on a thread of its own, so that the training loop finds them ready.
#pragma once

#include <memory>

#include "runtime/data/dataset.h"

namespace hr::data {

// Delivers exactly what `source` delivers, in the same order, failures included, each at its place.
// At most `depth` >= 1 batches wait; the thread blocks while they do. It starts with the first call
// of Next or Done, and is joined by the destructor, Rewind and Seek, which wait for a call of
// `source` in progress. If the limits of Rewind or Seek end this wait, nothing has changed.
Result<std::unique_ptr<Dataset>> CreatePrefetchDataset(std::unique_ptr<Dataset> source,
                                                       int64_t depth);

}  // namespace hr::data
