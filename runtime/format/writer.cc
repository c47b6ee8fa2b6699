#include "runtime/format/writer.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/format/encode.h"
#include "runtime/format/layout.h"
#include "runtime/format/side_file.h"

namespace hr::format {
namespace {

using graph::Module;

Allocator& AllocatorOf(const WriteOptions& options) {
  return options.allocator == nullptr ? SystemAllocator() : *options.allocator;
}

// What is read at a time where the options want to know what has been read.
constexpr size_t kToldBytes = size_t{4} << 20;

// `sink`, and then what the options say.
auto Telling(const WriteOptions& options, Sink sink) {
  return [&options, sink](Bytes bytes) -> Status {
    if (!options.after_read) return sink(bytes);
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kToldBytes))) {
      const Bytes piece = bytes.first(std::min(bytes.size(), kToldBytes));
      HR_RETURN_IF_ERROR(sink(piece));
      options.after_read(piece);
    }
    return {};
  };
}

Status AddChecksums(const Module& module, const WriteOptions& options, SegmentTable* table) {
  for (SegmentPlan& segment : table->segments) {
    uint32_t crc = 0;
    auto update = [&](Bytes bytes) {
      crc = Crc32c(bytes, crc);
      return Status();
    };
    HR_RETURN_IF_ERROR(
        SendSegment(module, *table, segment, AllocatorOf(options), Telling(options, update)));
    segment.crc32c = crc;
  }
  return {};
}

Result<SegmentTable> MakeTable(const Module& module, const WriteOptions& options) {
  HR_RETURN_IF_ERROR(graph::Verify(module, options.external_constants));
  SegmentTable table;
  if (options.external_constants) {
    table.places.resize(module.constants.size());
    return table;
  }
  HR_ASSIGN_OR_RETURN(table, PlanSegments(module));
  if (options.checksums) HR_RETURN_IF_ERROR(AddChecksums(module, options, &table));
  return table;
}

// All segments with the padding between them; `sent` bytes of padding before the first.
Status SendSegments(const Module& module, const SegmentTable& table, const WriteOptions& options,
                    Sink sink) {
  uint64_t sent = 0;
  for (const SegmentPlan& segment : table.segments) {
    HR_RETURN_IF_ERROR(SendZeros(segment.offset - sent, sink));
    HR_RETURN_IF_ERROR(
        SendSegment(module, table, segment, AllocatorOf(options), Telling(options, sink)));
    sent = segment.offset + segment.bytes;
  }
  return {};
}

Status Send(const Module& module, const SegmentTable& table, const WriteOptions& options,
            Sink sink) {
  HR_ASSIGN_OR_RETURN(auto&& structure, EncodeStructure(module, table, options.names));
  HR_RETURN_IF_ERROR(sink(AsBytes(structure)));
  if (table.segments.empty() || !table.side_file.empty()) return {};
  uint64_t padding = AlignUp(structure.size(), kSegmentAlignment) - structure.size();
  HR_RETURN_IF_ERROR(SendZeros(padding, sink));
  return SendSegments(module, table, options, sink);
}

}  // namespace

Status WriteModule(const Module& module, Sink sink, const WriteOptions& options) {
  if (!options.side_file.empty()) {
    return InvalidArgument("a graph written to memory can have no side file ('", options.side_file,
                           "'); write it to a path, or leave the side file out");
  }
  HR_ASSIGN_OR_RETURN(auto&& table, MakeTable(module, options));
  return Send(module, table, options, sink);
}

Result<std::string> WriteModuleToString(const Module& module, const WriteOptions& options) {
  std::string out;
  auto append = [&](Bytes bytes) {
    out.append(AsText(bytes));
    return Status();
  };
  HR_RETURN_IF_ERROR(WriteModule(module, append, options));
  return out;
}

Status WriteModule(const Module& module, const std::string& path, const WriteOptions& options) {
  HR_ASSIGN_OR_RETURN(auto&& table, MakeTable(module, options));
  if (!options.side_file.empty()) {
    HR_RETURN_IF_ERROR(CheckSideFileName(options.side_file));
    table.side_file = options.side_file;
    if (options.side_file == BaseName(path)) {
      return InvalidArgument("the side file and the graph file are both '", path, "'");
    }
    std::string side_path = JoinPath(DirectoryOf(path), options.side_file);
    HR_RETURN_IF_ERROR(WriteFileAtomically(side_path, [&](FileWriter& writer) {
      auto sink = [&](Bytes bytes) { return writer.Write(bytes); };
      return SendSegments(module, table, options, sink);
    }));
  }
  return WriteFileAtomically(path, [&](FileWriter& writer) {
    auto sink = [&](Bytes bytes) { return writer.Write(bytes); };
    return Send(module, table, options, sink);
  });
}

}  // namespace hr::format
