// IDX files, the format of MNIST and its successors (Y. LeCun, C. Cortes, "The MNIST database",
// section "File formats"): magic 00 00 type rank, big-endian dimensions, big-endian elements.
#pragma once

#include <string>

#include "runtime/device/tensor.h"

namespace hr::data {

// The whole file, gzipped or not, in the byte order of this machine. The file must contain exactly
// what its header says: DATA_LOSS otherwise, with the path, what was expected and what was found.
// Nothing is allocated on the word of a header that the file is too small for.
Result<Tensor> ReadIdx(const std::string& path, Allocator& allocator);

}  // namespace hr::data
