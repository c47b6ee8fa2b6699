// Deciding where each constant's bytes go in a file, and sending them there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/function_ref.h"
#include "runtime/graph/graph.h"

namespace hr::format {

// Receives a file's bytes in order.
using Sink = FunctionRef<Status(Bytes)>;

struct TensorPlace {
  uint32_t segment = graph::kNone;
  uint64_t offset = 0;
};

struct SegmentPlan {
  bool mutable_data = false;
  uint64_t offset = 0;  // from where segments begin
  uint64_t bytes = 0;
  std::optional<uint32_t> crc32c;
  std::vector<uint32_t> constants;  // one for each distinct piece of memory, in file order
};

struct SegmentTable {
  std::vector<TensorPlace> places;  // one per constant
  std::vector<SegmentPlan> segments;
  std::string side_file;  // empty: in the graph file
};

// Constants that are nothing but initial values of variables go to the mutable segment, all others
// to the read-only one; constants that share memory are written once. Fails if a constant has no
// data or lies on a device.
Result<SegmentTable> PlanSegments(const graph::Module& module);

// Sends the bytes of a segment. Strided tensors are copied, one at a time, through `allocator`.
Status SendSegment(const graph::Module& module, const SegmentTable& table,
                   const SegmentPlan& segment, Allocator& allocator, Sink sink);

// Sends `bytes` zero bytes.
Status SendZeros(uint64_t bytes, Sink sink);

}  // namespace hr::format
