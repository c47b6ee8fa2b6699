// The CPU backend: one device, "CPU:0".
#pragma once

#include <memory>

#include "runtime/base/json_writer.h"
#include "runtime/device/backend.h"

namespace hr::cpu {

// `allocator` must outlive the backend.
std::unique_ptr<Backend> CreateCpuBackend(Allocator& allocator);

// Writes what the backend has of oneDNN as an object: "version" and "path", or "missing" with the
// reason. Opens it if that has not been tried yet.
void DescribeOneDnn(JsonWriter& json);

}  // namespace hr::cpu
