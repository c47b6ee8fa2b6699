// NumPy's .npy files (format 1.0 to 3.0, numpy.lib.format) of numbers and booleans.
#pragma once

#include <string>

#include "tools/headrace/library.h"

namespace headrace::tool {

// A contiguous tensor of the file's type and shape, whatever its byte order and memory order.
// Throws Failure that says what is wrong with the file.
hr::Tensor ReadNpy(const hr::Env& env, const std::string& path);

// Throws Failure if the file cannot be written. NumPy has no bfloat16 and no floats of
// 8 bits: they become float32.
void WriteNpy(const std::string& path, const hr::Tensor& tensor);

}  // namespace headrace::tool
