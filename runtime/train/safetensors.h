// The safetensors format (github.com/huggingface/safetensors, "Format"): 8 bytes little-endian
// length of a JSON header, the header, then the tensors' bytes without gaps, little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/file.h"
#include "runtime/base/shape.h"
#include "runtime/device/tensor.h"

namespace hr::train {

// A named tensor and where its bytes lie in a file.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kUndefined;
  Dims dims;
  int64_t offset = 0;  // from the beginning of the file
  int64_t bytes = 0;
};

// Everything of a file before the tensors' bytes, for entries that follow each other in the given
// order; sets their offsets, of which the first is a multiple of 64. INVALID_ARGUMENT for names
// that are not UTF-8, not unique or too many for a header of a sensible size.
Result<std::string> EncodeSafetensorsHeader(std::span<TensorEntry> entries);

// The entries of a file in the order of their bytes. Everything is verified: the length of the
// header (at most 16 MiB), its JSON, types, shapes against bytes, no gaps, overlaps or duplicates.
// DATA_LOSS with `path` otherwise; UNIMPLEMENTED for element types this version does not have.
Result<std::vector<TensorEntry>> ParseSafetensors(Bytes file, std::string_view path);

// The memory of a mapped file, which lives as long as anybody uses it.
BufferRef BufferOf(MappedFile file);
// An entry of the file in that memory; a copy if it does not lie aligned there.
Result<Tensor> TensorAt(const BufferRef& buffer, const TensorEntry& entry, Allocator& allocator);

}  // namespace hr::train
