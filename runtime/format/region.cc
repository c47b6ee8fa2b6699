#include "runtime/format/region.h"

namespace hr::format {

Result<std::string> WriteRegion(const graph::Module& region) {
  return WriteModuleToString(region, {.external_constants = true});
}

Result<graph::Module> ReadRegion(Bytes file, Allocator* allocator) {
  // Never written: it is copied where it is unaligned, and read in place otherwise.
  auto* data = const_cast<std::byte*>(file.data());
  BufferRef buffer = AdoptBuffer(data, file.size(), DeviceId{}, nullptr, nullptr);
  return ReadModule(std::move(buffer), {.allocator = allocator, .external_constants = true});
}

}  // namespace hr::format
