// Writing graph files. The same module gives the same bytes, always.
#pragma once

#include <functional>
#include <string>

#include "runtime/format/segments.h"

namespace hr::format {

struct WriteOptions {
  // Without names of nodes and values the file is smaller and errors speak of numbers. Variables,
  // signatures and symbols keep their names.
  bool names = true;
  // A CRC-32C for each segment; costs one more pass over the tensors.
  bool checksums = true;
  // If not empty, tensors go to this file, named relative to the folder of the graph file (no
  // absolute path, no "..", "/" between folders). It is replaced just before the graph file is;
  // choose a new name if a crash between the two must not leave an old graph with new tensors.
  std::string side_file;
  // Constants are written as types only; whoever runs the graph supplies their bytes.
  bool external_constants = false;
  // Called with the bytes of each tensor, piece by piece, whenever they have been read, twice if
  // there are checksums.
  std::function<void(Bytes)> after_read;
  // For contiguous copies of strided tensors. Null: the system's.
  Allocator* allocator = nullptr;
};

// Replaces `path` by the module's file, or leaves it as it was. The module is verified first;
// tensors are streamed from where they lie.
Status WriteModule(const graph::Module& module, const std::string& path,
                   const WriteOptions& options = {});

// The same bytes, in order, to `sink`, whose failure is passed on. No side file.
Status WriteModule(const graph::Module& module, Sink sink, const WriteOptions& options = {});
Result<std::string> WriteModuleToString(const graph::Module& module,
                                        const WriteOptions& options = {});

}  // namespace hr::format
