// Finding the segments of a file, in itself and in side files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/format/decode_context.h"
#include "runtime/format/layout.h"
#include "runtime/format/source.h"

namespace hr::format {

class SegmentReader {
 public:
  // `folder`: where side files are; null if there can be none.
  SegmentReader(Source& graph_file, const Header& header, const std::string* folder,
                const ReadOptions& options)
      : graph_file_(graph_file), header_(header), folder_(folder), options_(options) {}

  // One piece for each segment, in order. Bounds, alignment and overlap are checked, and the
  // checksums if the options say so.
  Result<std::vector<Piece>> Read(const Tables<fbs::Segment>* segments, DecodeContext* context);

 private:
  struct File {
    std::string name;
    std::unique_ptr<Source> owned;  // null for the graph file itself
    Source* source = nullptr;
    uint64_t begin = 0;  // where segments begin
    uint64_t end = 0;    // of the last segment so far, from `begin`
  };

  Result<Piece> ReadOne(const fbs::Segment& segment, DecodeContext* context);
  // Valid until the next call.
  Result<File*> Open(const std::string& name);
  Result<File> OpenSideFile(const std::string& name);

  Source& graph_file_;
  const Header& header_;
  const std::string* folder_;
  const ReadOptions& options_;
  std::vector<File> files_;
};

}  // namespace hr::format
