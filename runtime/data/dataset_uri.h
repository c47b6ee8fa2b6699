// Opens a data set by its address:
//
//   idx:PLACE/SPLIT?batch=64&shuffle=1&seed=7&repeat=6&normalize=0.2860,0.3530&prefetch=2
//
// PLACE holds SPLIT-images-idx3-ubyte and SPLIT-labels-idx1-ubyte (or with .gz; the split `test` is
// called t10k in MNIST's files). It is a folder, or the name of one below the data root, below
// /usr/share/datasets or below /usr/local/share/datasets.
//
// Fields: `images` float32 [batch, channels, height, width] and `labels` int64 [batch].
//
// | key            | meaning                                                   | default |
// | batch          | examples a batch                                          | 32      |
// | shuffle        | 1: another order each epoch                               | 0       |
// | seed           | of the shuffling                                          | 0       |
// | repeat         | epochs of a pass, or `forever`                            | 1       |
// | drop_remainder | 1: leave out a smaller last batch                         | 0       |
// | shard          | INDEX/COUNT: this shard's part of every batch (batching.h) | 0/1     |
// | normalize      | MEAN,STD of pixels in [0, 1]: (pixel - MEAN) / STD        | 0,1     |
// | raw            | 1: images as uint8, 0 … 255                               | 0       |
// | prefetch       | batches read ahead on a thread of their own; 0: none      | 0       |
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/data/dataset.h"

namespace hr::data {

struct DatasetOptions {
  // Must outlive the data set and its tensors. Null: SystemAllocator().
  Allocator* allocator = nullptr;
  // Where names are looked up first. Empty: the environment's HEADRACE_DATA, if that is set.
  std::string data_root;
};

// INVALID_ARGUMENT for an address that makes no sense (unknown keys are listed with the valid
// ones), NOT_FOUND with all places looked at, DATA_LOSS for damaged files.
Result<std::unique_ptr<Dataset>> OpenDataset(std::string_view uri, const DatasetOptions& options);

}  // namespace hr::data
