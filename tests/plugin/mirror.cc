// A plugin written against the C++ interfaces of a backend: the CPU's, once more.
#include "runtime/plugin/guest.h"
#include "tests/plugin/mirror_backend.h"

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  return hr::plugin::OfferBackend(
      host, out, "mirror", [](hr::Allocator& memory) -> hr::Result<std::unique_ptr<hr::Backend>> {
        return std::unique_ptr<hr::Backend>(std::make_unique<hr::test::MirrorBackend>(memory, 1));
      });
}
