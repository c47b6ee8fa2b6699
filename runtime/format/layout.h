// Where things lie in a graph file:
//
//   0   uint32  offset of the FlatBuffer's root table
//   4   "HRG1"  FlatBuffers' file identifier
//   8   uint64  bytes of the structure (the FlatBuffer, these first 32 bytes included)
//   16  uint64  where segments begin, a multiple of 16384; 0 if the file has none
//   24  uint64  0, or 2^32 + CRC-32C of the structure without these 8 bytes
//   32  the rest of the structure
//   …   segments: 16 KiB aligned, tensors in them 64-byte aligned
//
// All numbers are little-endian. docs/file_format.md has the whole story.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/base/crc32c.h"

namespace hr::format {

static_assert(std::endian::native == std::endian::little, "graph files are used in place");

inline constexpr char kIdentifier[] = "HRG1";
inline constexpr size_t kIdentifierOffset = 4;
inline constexpr size_t kHeaderOffset = 8;
inline constexpr size_t kChecksumOffset = 24;
inline constexpr size_t kHeaderEnd = 32;
inline constexpr uint64_t kSegmentAlignment = 16 * 1024;
inline constexpr uint64_t kTensorAlignmentInFile = 64;
// FlatBuffers' offsets are 31 bits.
inline constexpr uint64_t kMaxStructureBytes = (uint64_t{1} << 31) - 1;

struct Header {
  uint64_t structure_bytes;
  uint64_t segments_begin;
  uint64_t checksum;
};
static_assert(sizeof(Header) == kHeaderEnd - kHeaderOffset);

constexpr uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// The value of Header::checksum for this structure.
inline uint64_t StructureChecksum(Bytes structure) {
  uint32_t crc = Crc32c(structure.first(kChecksumOffset));
  return (uint64_t{1} << 32) | Crc32c(structure.subspan(kHeaderEnd), crc);
}

}  // namespace hr::format
