// A data set whose batches a host's functions give.
#pragma once

#include <memory>
#include <vector>

#include "runtime/train/dataset.h"

namespace hr::train {

// All are called with `context`, never two at a time, and (under a prefetcher) on its thread.
struct DatasetCallbacks {
  void* context = nullptr;

  // The next batch of the epoch; false at its end. `out` holds tensors of the declared shapes whose
  // memory the host may fill; or the host replaces them by its own. Fields with a dimension of -1
  // come undefined. Dimension 0 may be smaller than declared.
  Result<bool> (*next)(void* context, std::span<Tensor> out) = nullptr;

  // Goes to the first batch of `epoch`. Null: the data can be read once.
  Status (*reset)(void* context, int64_t epoch) = nullptr;

  // Batches of one epoch, -1 if unknown. Null: unknown.
  int64_t (*size)(void* context) = nullptr;

  // Called once, when the data set is destroyed or could not be created. May be null.
  void (*release)(void* context) = nullptr;
};

// `repeat`: epochs of a pass or kRepeatForever; more than one needs `reset`. Seeking resets and
// then reads batches up to the position. `allocator` must outlive the data set and its tensors.
Result<std::unique_ptr<Dataset>> CreateCallbackDataset(std::vector<Field> fields,
                                                       const DatasetCallbacks& callbacks,
                                                       int64_t repeat, Allocator& allocator);

}  // namespace hr::train
