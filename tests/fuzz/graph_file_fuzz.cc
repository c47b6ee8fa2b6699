// Any bytes as a graph file: they load or fail cleanly, and what loads can be written and loads
// again.
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/format/layout.h"
#include "runtime/format/reader.h"
#include "runtime/format/writer.h"

namespace {

using namespace hr;

Result<graph::Module> Load(std::string_view text, bool external) {
  HR_ASSIGN_OR_RETURN(BufferRef buffer, AllocateBuffer(SystemAllocator(), text.size()));
  if (!text.empty()) std::memcpy(buffer->data(), text.data(), text.size());
  return format::ReadModule(std::move(buffer), {.external_constants = external});
}

void Check(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  // No search would ever hit the structure's checksum.
  if (size >= format::kHeaderEnd) {
    std::memset(text.data() + format::kChecksumOffset, 0,
                format::kHeaderEnd - format::kChecksumOffset);
  }
  auto module = Load(text, true);
  if (!module.ok()) {
    Check(!module.status().message().empty());
    return 0;
  }
  auto region = format::WriteModuleToString(*module, {.external_constants = true});
  Check(region.ok());
  auto again = Load(*region, true);
  Check(again.ok());
  Check(format::WriteModuleToString(*again, {.external_constants = true}).value() == *region);
  if (auto whole = format::WriteModuleToString(*module); whole.ok())
    Check(Load(*whole, false).ok());
  return 0;
}
