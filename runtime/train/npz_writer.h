// Writing NumPy's .npz: a zip archive of .npy files, here not compressed and with the zip format's
// fields of 64 bits, so that arrays may have any size (PKWARE's APPNOTE 6.3.10).
#pragma once

#include <string>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/device/tensor.h"

namespace hr::train {

class NpzWriter {
 public:
  // To an empty file, which must outlive this.
  explicit NpzWriter(FileWriter& file) : file_(file) {}

  // A contiguous array, whose elements begin at a multiple of 64 bytes of the file, so that they
  // can be mapped. UNIMPLEMENTED for element types that NumPy does not have.
  Status Add(const std::string& name, const Tensor& tensor);
  // The directory of what was added.
  Status Finish();

 private:
  struct Entry {
    std::string name;
    uint32_t checksum;
    uint64_t bytes;
    uint64_t offset;
  };

  FileWriter& file_;
  std::vector<Entry> entries_;
};

}  // namespace hr::train
