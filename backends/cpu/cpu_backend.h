// The CPU backend: one device, "CPU:0".
#pragma once

#include <memory>

#include "runtime/device/backend.h"

namespace hr::cpu {

// `allocator` must outlive the backend.
std::unique_ptr<Backend> CreateCpuBackend(Allocator& allocator);

}  // namespace hr::cpu
