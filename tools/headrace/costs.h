// What convolutions cost on this machine, for the model that chooses their layouts and kernels.
#pragma once

#include <string>

namespace headrace::tool {

// Measures each method in some shapes, prints how it compares with the model, and writes the table:
// half a minute. Throws Failure.
void MeasureCosts(const std::string& path);

}  // namespace headrace::tool
