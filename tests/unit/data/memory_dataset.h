// A data set over tensors in memory.
#pragma once

#include <utility>
#include <vector>

#include "runtime/data/column_source.h"
#include "runtime/data/example_dataset.h"

namespace hr::data {

inline Result<std::unique_ptr<Dataset>> CreateMemoryDataset(std::vector<Column> columns,
                                                            const BatchOptions& options,
                                                            Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(SourceRef source, CreateColumnSource(std::move(columns)));
  return CreateExampleDataset({std::move(source), options}, allocator);
}

}  // namespace hr::data
