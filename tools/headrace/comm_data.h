// Data for operations whose results can be checked: small whole numbers, exact in every type.
#pragma once

#include <cstddef>

#include "tools/headrace/library.h"

namespace headrace::tool {

// One rank's part of an operation, on memory of its own.
class CommData {
 public:
  // Room for operations whose larger buffer has up to `bytes` bytes. In place: one buffer.
  CommData(uint64_t bytes, bool in_place, int32_t rank, int32_t ranks);

  // Points `operation` to the buffers, and puts this rank's input there.
  void Prepare(hr_operation& operation);
  // How many elements of the output are not what the ranks' inputs make them.
  uint64_t CountErrors(const hr_operation& operation) const;

 private:
  const int32_t rank_, ranks_;
  std::vector<std::byte> output_, input_;  // input_ is empty in place
};

}  // namespace headrace::tool
