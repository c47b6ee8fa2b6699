#include "runtime/format/region.h"

#include "runtime/base/strings.h"

namespace hr::format {

Result<std::string> WriteRegion(const graph::Module& region) {
  graph::Module copy = region;
  for (graph::Variable& variable : copy.variables) {
    variable.initial_constant = variable.initial_graph = graph::kNone;
  }
  for (graph::Signature& signature : copy.signatures) {
    for (auto* ports : {&signature.inputs, &signature.outputs}) {
      for (size_t i = 0; i < ports->size(); ++i) (*ports)[i].name = Cat(i);
    }
  }
  return WriteModuleToString(copy, {.external_constants = true});
}

Result<graph::Module> ReadRegion(Bytes file, Allocator* allocator) {
  // Never written: it is copied if it is unaligned, and read in place otherwise.
  auto* data = const_cast<std::byte*>(file.data());
  BufferRef buffer = AdoptBuffer(data, file.size(), DeviceId{}, nullptr, nullptr);
  return ReadModule(std::move(buffer), {.allocator = allocator, .external_constants = true});
}

}  // namespace hr::format
