// What a graph file consists of, told from its header and structure alone.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hr::format {

struct SegmentInfo {
  std::string file;  // the side file that holds it; empty: the graph file
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool mutable_data = false;
  bool checksum = false;  // whether there is one
};

struct FileInfo {
  uint16_t minor = 0;  // of the format's version
  uint64_t file_bytes = 0;
  uint64_t structure_bytes = 0;
  bool structure_checksum = false;  // whether there is one; it was right then
  std::vector<SegmentInfo> segments;
};

// Verifies the header and the FlatBuffer, not what it means.
Result<FileInfo> ReadFileInfo(const std::string& path);

}  // namespace hr::format
