#include "runtime/format/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/format/source.h"

namespace hr::format {

Result<FileMapping> MapFile(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(auto&& source, OpenFileSource(path, /*map=*/true, allocator));
  HR_ASSIGN_OR_RETURN(auto&& piece, source->Range(0, static_cast<size_t>(source->bytes())));
  return FileMapping{std::move(piece.buffer), piece.offset, piece.bytes};
}

void ForgetPages(std::span<const Bytes> mapped, Bytes bytes) {
  // The kernel maps what lies around a page that is read, up to a large page.
  constexpr size_t kAround = size_t{4} << 20;
  const auto inside = std::find_if(mapped.begin(), mapped.end(), [&](Bytes file) {
    return bytes.data() >= file.data() && bytes.data() + bytes.size() <= file.data() + file.size();
  });
  if (inside == mapped.end() || bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(inside->data());
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size());
  const uintptr_t from = begin - std::min<uintptr_t>(begin - first, kAround);
  madvise(reinterpret_cast<void*>(from / page * page), end - from / page * page, MADV_DONTNEED);
}

void PageWalk::Passed(Bytes bytes) {
  constexpr std::ptrdiff_t kStep = std::ptrdiff_t{4} << 20;
  const std::byte* end = bytes.data() + bytes.size();
  if (end - last_ < kStep) return;
  ForgetPages(std::span(&file_, 1), {last_, end});
  last_ = end;
}

}  // namespace hr::format
