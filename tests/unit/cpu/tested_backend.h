// The CPU backend as a session has it, or with HEADRACE_TEST_THROUGH_TABLE set, as a plugin's:
// every call crosses the table of C functions twice.
#pragma once

#include <cstdlib>

#include "backends/cpu/cpu_backend.h"
#include "runtime/plugin/backend.h"
#include "runtime/plugin/guest.h"

namespace hr::cpu {

inline hr_status* CpuPluginEntry(const hr_plugin_host* host, hr_plugin* out) {
  return plugin::OfferBackend(host, out, "cpu",
                              [](Allocator& memory) -> Result<std::unique_ptr<Backend>> {
                                return CreateCpuBackend(memory);
                              });
}

inline std::unique_ptr<Backend> CreateCpuBackendThroughTable() {
  auto plugin = plugin::Plugin::Open(CpuPluginEntry,
                                     {.allocator = &SystemAllocator(), .clock = &SystemClock()});
  return plugin::CreateBackend(std::move(plugin).value()).value();
}

inline std::unique_ptr<Backend> CreateTestedBackend() {
  if (std::getenv("HEADRACE_TEST_THROUGH_TABLE") == nullptr) {
    return CreateCpuBackend(SystemAllocator());
  }
  return CreateCpuBackendThroughTable();
}

}  // namespace hr::cpu
