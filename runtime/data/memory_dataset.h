// A data set over tensors in memory: examples are slices along dimension 0, shuffled, repeated and
// batched.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data/batching.h"

namespace hr::data {

// One field of all examples.
struct Column {
  std::string name;
  Tensor data;             // contiguous, on the CPU; kept alive and never written
  Dims example_dims;       // the shape of one example; as many elements as a slice of `data`
  std::vector<float> map;  // empty: delivered as it is. 256 values: `data` is uint8, and a value v
                           // is delivered as the float32 map[v]
};
// A column delivered as it is.
Column ColumnOf(std::string name, Tensor data);

// All columns must have the same number of examples, at least one. Batches are copies. `allocator`
// must outlive the data set and every tensor it delivered.
Result<std::unique_ptr<Dataset>> CreateMemoryDataset(std::vector<Column> columns,
                                                     const BatchOptions& options,
                                                     Allocator& allocator);

}  // namespace hr::data
