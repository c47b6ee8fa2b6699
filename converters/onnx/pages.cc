#include "converters/onnx/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/format/source.h"

namespace hr::onnx {

Result<MappedFile> MapFile(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(auto&& source, format::OpenFileSource(path, /*map=*/true, allocator));
  HR_ASSIGN_OR_RETURN(auto&& piece, source->Range(0, static_cast<size_t>(source->bytes())));
  return MappedFile{std::move(piece.buffer), piece.offset, piece.bytes};
}

void ForgetPages(const std::vector<Bytes>& mapped, Bytes bytes) {
  const bool inside = std::any_of(mapped.begin(), mapped.end(), [&](Bytes file) {
    return bytes.data() >= file.data() && bytes.data() + bytes.size() <= file.data() + file.size();
  });
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (inside && end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace hr::onnx
