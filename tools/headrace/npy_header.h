// The header of a .npy file: its text and what it says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/headrace/library.h"

namespace headrace::tool {

struct NpyHeader {
  hr_dtype dtype = HR_UNDEFINED;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// The dictionary that stands in the header, e.g.
// {'descr': '<f4', 'fortran_order': False, 'shape': (64, 10), }. Throws Failure.
NpyHeader ParseNpyHeader(std::string_view text);

// Bytes of all elements. Throws Failure if they are more than memory can hold.
size_t NpyBytes(const NpyHeader& header);

// Magic, version 1.0 and the dictionary, padded so that elements begin 64-byte aligned.
std::string NpyHeaderText(hr_dtype dtype, const std::vector<int64_t>& dims);

}  // namespace headrace::tool
