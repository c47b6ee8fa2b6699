// The plugin's side, for backends written against our C++ interfaces: an entry is one call,
//
//   HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
//     return hr::plugin::OfferBackend(host, out, "cuda", CreateCudaBackend);
//   }
//
// and the plugin holds the rooms up to `lowering` in object code of its own; see docs/plugins.md.
#pragma once

#include <memory>

#include "headrace/plugin.h"
#include "runtime/device/backend.h"

namespace hr::plugin {

// What a plugin's code needs of its host. Lives as long as the plugin's instance.
class Guest final : public LogSink, public Clock, public Allocator {
 public:
  explicit Guest(const hr_plugin_host& host) : host_(host) {}

  // For the host; null for a success.
  hr_status* Pass(Status status) const;
  // From the host, taking it over.
  Status Receive(hr_status* status) const;

  void Write(LogLevel level, std::string_view message) override;
  int64_t NowNanos() const override { return host_.now_nanos(host_.context); }
  void* Allocate(size_t bytes, size_t alignment) override {
    return host_.allocate(host_.context, bytes, alignment);
  }
  void Deallocate(void* data, size_t bytes, size_t alignment) override {
    host_.deallocate(host_.context, data, bytes, alignment);
  }

 private:
  const hr_plugin_host& host_;
};

// `make` gets host memory; it is not called if the versions differ.
hr_status* OfferBackend(const hr_plugin_host* host, hr_plugin* out, const char* name,
                        Result<std::unique_ptr<Backend>> (*make)(Allocator& host_memory));

}  // namespace hr::plugin
