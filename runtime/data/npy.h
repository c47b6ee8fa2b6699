// NumPy's files: .npy ("NEP 1: A simple file format for NumPy arrays"), and .npz, which are zip
// archives of them (PKWARE's APPNOTE 6.3.10, with its 64-bit sizes).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/device/tensor.h"

namespace hr::data {

struct NpyArray {
  Tensor tensor;      // in the memory of the file, with strides if it is in Fortran order
  bool swap = false;  // its elements are in the byte order of other machines
};

// The array in a buffer, from `offset` on. The header must describe exactly `bytes` bytes:
// DATA_LOSS otherwise. UNIMPLEMENTED for element types that tensors do not have. `name` begins all
// failures.
Result<NpyArray> ParseNpy(const BufferRef& buffer, size_t offset, size_t bytes,
                          std::string_view name);

struct NpzArray {
  std::string name;  // without ".npy"
  NpyArray array;
};

// The arrays of a mapped archive with these names, in this order; all in the order of the archive
// if there are no names. Those that are not compressed stay where they are; the others are unpacked
// and their checksums compared.
Result<std::vector<NpzArray>> ReadNpz(const BufferRef& file, std::span<const std::string> names,
                                      std::string_view path, Allocator& allocator);

}  // namespace hr::data
