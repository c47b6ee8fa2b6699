// Examples in memory, also in that of mapped files: slices of tensors along their dimension 0.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/example_source.h"

namespace hr::data {

// One field of all examples.
struct Column {
  std::string name;
  // The examples of these follow each other. On the CPU, with any strides and any alignment; kept
  // alive and never written.
  std::vector<Tensor> parts;
  Dims example_dims;  // the shape of one example; as many elements as a slice of `parts`

  // At most one of these: how the elements are delivered, if not as they are.
  std::vector<float> map;  // 256 values for all elements, or for each slice along the example's
                           // dimension 0: a uint8 v of slice i is delivered as map[256 * i + v]
  bool widen = false;      // uint8 is delivered as int64
  bool swap = false;       // the bytes of an element are in the other order
};
// A column delivered as it is.
Column ColumnOf(std::string name, Tensor data);

// All columns must have the same number of examples. `identity` as of ExampleSource.
Result<SourceRef> CreateColumnSource(std::vector<Column> columns, std::string identity = "");

}  // namespace hr::data
