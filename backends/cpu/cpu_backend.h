// The CPU backend: one device, "CPU:0".
#pragma once

#include <memory>

#include "runtime/base/json_writer.h"
#include "runtime/device/backend.h"

namespace hr::cpu {

// `allocator` must outlive the backend.
std::unique_ptr<Backend> CreateCpuBackend(Allocator& allocator);
// One that chooses by the table of costs in the file (ops/conv_costs.h).
Result<std::unique_ptr<Backend>> CreateCpuBackend(Allocator& allocator, const std::string& costs);

// Have this process do without AVX-512, and without the processor's matrix unit
// (instruction_set.h).
void DisableAvx512();
void DisableMatrixUnit();

// Writes what the backend has of oneDNN as an object: "version" and "path", or "missing" with the
// reason. Opens it if that has not been tried yet.
void DescribeOneDnn(JsonWriter& json);

}  // namespace hr::cpu
