#include "runtime/format/segment_reader.h"

#include "runtime/format/side_file.h"

namespace hr::format {
namespace {

Status CheckChecksum(const fbs::Segment& segment, const Piece& piece) {
  if (!segment.crc32c().has_value()) {
    return FailedPrecondition("carries no checksum; write the file with checksums to verify them");
  }
  uint32_t found = Crc32c(piece.view());
  if (found == *segment.crc32c()) return {};
  return DataLoss("its tensors are damaged: the checksum is ", found, ", expected ",
                  *segment.crc32c(), "; copy the file again");
}

}  // namespace

Result<std::vector<Piece>> SegmentReader::Read(const Tables<fbs::Segment>* segments,
                                               DecodeContext* context) {
  std::vector<Piece> pieces;
  if (segments == nullptr) return pieces;
  HR_RETURN_IF_ERROR(context->CheckLimit("segments", segments->size(), context->limits().segments));
  HR_RETURN_IF_ERROR(context->Each("segment", segments, &pieces,
                                   [&](const fbs::Segment& from, Piece& to) -> Status {
                                     HR_ASSIGN_OR_RETURN(to, ReadOne(from, context));
                                     return {};
                                   }));
  return pieces;
}

Result<Piece> SegmentReader::ReadOne(const fbs::Segment& segment, DecodeContext* context) {
  std::string name;
  HR_RETURN_IF_ERROR(context->Text(segment.file(), &name));
  HR_ASSIGN_OR_RETURN(File * file, Open(name));
  uint64_t offset = segment.offset();
  if (offset % kSegmentAlignment != 0) {
    return InvalidArgument("begins at ", offset, ", which is not a multiple of ",
                           kSegmentAlignment);
  }
  if (offset < file->end) {
    return InvalidArgument("begins at ", offset, ", within the segment before it, which ends at ",
                           file->end);
  }
  uint64_t room = file->source->bytes() - file->begin;
  if (offset > room || segment.bytes() > room - offset) {
    return DataLoss("the file is cut short: the segment takes ", segment.bytes(), " bytes from ",
                    offset, ", there are ", room, "; copy or download the file again");
  }
  file->end = offset + segment.bytes();
  HR_ASSIGN_OR_RETURN(auto&& piece, file->source->Range(file->begin + offset, segment.bytes()));
  if (options_.verify_checksums) HR_RETURN_IF_ERROR(CheckChecksum(segment, piece));
  return piece;
}

Result<SegmentReader::File*> SegmentReader::Open(const std::string& name) {
  for (File& file : files_) {
    if (file.name == name) return &file;
  }
  File file;
  if (!name.empty()) {
    HR_ASSIGN_OR_RETURN(file, OpenSideFile(name));
  } else if (header_.segments_begin == 0) {
    return InvalidArgument("is in the graph file, whose header says that it has no segments");
  } else {
    file.source = &graph_file_;
    file.begin = header_.segments_begin;
  }
  file.name = name;
  files_.push_back(std::move(file));
  return &files_.back();
}

Result<SegmentReader::File> SegmentReader::OpenSideFile(const std::string& name) {
  HR_RETURN_IF_ERROR(CheckSideFileName(name));
  if (folder_ == nullptr) {
    return FailedPrecondition("the tensors lie in the side file '", name,
                              "'; load the graph by its ",
                              "path, or give the folder of the side files");
  }
  std::string path = JoinPath(*folder_, name);
  Allocator& allocator = options_.allocator == nullptr ? SystemAllocator() : *options_.allocator;
  auto source = OpenFileSource(path, options_.map, allocator);
  if (!source.ok() && source.status().code() == Code::kNotFound) {
    return NotFound("the side file '", name,
                    "' with the graph's tensors is missing; expected it at '", path,
                    "': copy it there");
  }
  if (!source.ok()) return std::move(source).status();
  File file;
  file.owned = std::move(source).value();
  file.source = file.owned.get();
  return file;
}

}  // namespace hr::format
