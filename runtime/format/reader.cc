#include "runtime/format/reader.h"

#include <cstring>

#include "runtime/format/decode.h"
#include "runtime/format/file_info.h"
#include "runtime/format/segment_reader.h"

namespace hr::format {
namespace {

using graph::Module;

Allocator& AllocatorOf(const ReadOptions& options) {
  return options.allocator == nullptr ? SystemAllocator() : *options.allocator;
}

Status CheckIdentifier(Bytes start) {
  std::string_view found = AsText(start.subspan(kIdentifierOffset, 4));
  if (found == kIdentifier) return {};
  if (found.starts_with("HRG") && found[3] >= '0' && found[3] <= '9') {
    return Unimplemented("the file is of format version ", found.substr(3), ", this library reads ",
                         kMajorVersion,
                         "; update Headrace, or write the file with a Headrace that ",
                         "writes version ", kMajorVersion);
  }
  return InvalidArgument("this is not a Headrace graph file: expected '", kIdentifier,
                         "' in bytes 4 to 7; give the path of a .hrg file");
}

Status CutShort(uint64_t expected, uint64_t found) {
  return DataLoss("the file is cut short: it should have at least ", expected, " bytes, it has ",
                  found, "; copy or download it again");
}

Result<Header> ReadHeader(Source& source, const ReadLimits& limits) {
  if (source.bytes() == 0) {
    return DataLoss("the file is empty; expected a Headrace graph file; copy or write it again");
  }
  if (source.bytes() < kHeaderOffset) return CutShort(kHeaderEnd, source.bytes());
  size_t available = std::min<uint64_t>(source.bytes(), kHeaderEnd);
  HR_ASSIGN_OR_RETURN(auto&& start, source.Range(0, available));
  HR_RETURN_IF_ERROR(CheckIdentifier(start.view()));
  if (available < kHeaderEnd) return CutShort(kHeaderEnd, available);
  Header header;
  std::memcpy(&header, start.view().data() + kHeaderOffset, sizeof header);
  if (header.structure_bytes <= kHeaderEnd || header.structure_bytes > kMaxStructureBytes) {
    return InvalidArgument("the header says that the structure has ", header.structure_bytes,
                           " bytes, expected ", kHeaderEnd + 1, " to ", kMaxStructureBytes);
  }
  HR_RETURN_IF_ERROR(DecodeContext::CheckLimit("bytes of structure", header.structure_bytes,
                                               limits.structure_bytes));
  if (header.structure_bytes > source.bytes()) {
    return CutShort(header.structure_bytes, source.bytes());
  }
  if (header.segments_begin == 0) return header;
  if (header.segments_begin % kSegmentAlignment != 0 ||
      header.segments_begin < header.structure_bytes) {
    return InvalidArgument("the header says that segments begin at ", header.segments_begin,
                           ", expected a multiple of ", kSegmentAlignment, " from ",
                           header.structure_bytes, " on");
  }
  if (header.segments_begin > source.bytes())
    return CutShort(header.segments_begin, source.bytes());
  return header;
}

Result<const fbs::GraphDef*> VerifyStructure(const Header& header, Bytes structure) {
  if (header.checksum != 0 && header.checksum != StructureChecksum(structure)) {
    return DataLoss("the structure is damaged: its checksum is not the one in the header; copy or ",
                    "write the file again");
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;  // of the schema: 5
  // A table takes 8 bytes at least, so more can only be the same ones visited again and again.
  options.max_tables = static_cast<uint32_t>(structure.size() / 8 + 1);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(structure.data()),
                                 structure.size(), options);
  if (!fbs::VerifyGraphDefBuffer(verifier)) {
    return DataLoss("the structure is damaged: it is not a valid FlatBuffer; write the file again");
  }
  return fbs::GetGraphDef(structure.data());
}

Result<Module> Read(Source& source, const std::string* folder, const ReadOptions& options) {
  HR_ASSIGN_OR_RETURN(Header header, ReadHeader(source, options.limits));
  HR_ASSIGN_OR_RETURN(auto&& structure, source.Range(0, header.structure_bytes));
  HR_ASSIGN_OR_RETURN(const fbs::GraphDef* def, VerifyStructure(header, structure.view()));
  DecodeContext context(header.structure_bytes, def->minor(), options.limits);
  Module module;
  HR_RETURN_IF_ERROR(DecodeModule(*def, &context, &module));
  SegmentReader segments(source, header, folder, options);
  HR_ASSIGN_OR_RETURN(auto&& pieces, segments.Read(def->segments(), &context));
  HR_RETURN_IF_ERROR(
      DecodeConstants(*def, pieces, options.external_constants, &context, &module.constants));
  HR_RETURN_IF_ERROR(graph::Verify(module, options.external_constants));
  return module;
}

Result<FileInfo> InfoOf(Source& source) {
  HR_ASSIGN_OR_RETURN(Header header, ReadHeader(source, {}));
  HR_ASSIGN_OR_RETURN(auto&& structure, source.Range(0, header.structure_bytes));
  HR_ASSIGN_OR_RETURN(const fbs::GraphDef* def, VerifyStructure(header, structure.view()));
  FileInfo info{.minor = def->minor(),
                .file_bytes = source.bytes(),
                .structure_bytes = header.structure_bytes,
                .structure_checksum = header.checksum != 0};
  if (def->segments() == nullptr) return info;
  for (const fbs::Segment* segment : *def->segments()) {
    info.segments.push_back({.file = segment->file() == nullptr ? "" : segment->file()->str(),
                             .offset = segment->offset(),
                             .bytes = segment->bytes(),
                             .mutable_data = segment->mutable_data(),
                             .checksum = segment->crc32c().has_value()});
  }
  return info;
}

// For sources without a path.
Result<Module> ReadFrom(Source& source, const ReadOptions& options) {
  if (options.side_file_folder == nullptr) return Read(source, nullptr, options);
  std::string folder = options.side_file_folder;
  return Read(source, &folder, options);
}

}  // namespace

Result<Module> ReadModule(const std::string& path, const ReadOptions& options) {
  HR_ASSIGN_OR_RETURN(auto&& source, OpenFileSource(path, options.map, AllocatorOf(options)));
  std::string folder(options.side_file_folder == nullptr ? DirectoryOf(path)
                                                         : options.side_file_folder);
  Result<Module> module = Read(*source, &folder, options);
  if (!module.ok()) return std::move(module).status().WithContext(Cat("'", path, "'"));
  return module;
}

Result<Module> ReadModule(BufferRef file, const ReadOptions& options) {
  HR_ASSIGN_OR_RETURN(auto&& source, MakeMemorySource(std::move(file), AllocatorOf(options)));
  return ReadFrom(*source, options);
}

Result<Module> ReadModule(const HostReader& file, const ReadOptions& options) {
  std::unique_ptr<Source> source = MakeReaderSource(file, AllocatorOf(options));
  return ReadFrom(*source, options);
}

Result<FileInfo> ReadFileInfo(const std::string& path) {
  HR_ASSIGN_OR_RETURN(auto&& source, OpenFileSource(path, true, SystemAllocator()));
  Result<FileInfo> info = InfoOf(*source);
  if (!info.ok()) return std::move(info).status().WithContext(Cat("'", path, "'"));
  return info;
}

Status VerifyChecksums(const std::string& path, ReadOptions options) {
  options.verify_checksums = true;
  return ReadModule(path, options).status().Clone();
}

}  // namespace hr::format
