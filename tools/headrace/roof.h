// What this machine can do at most, measured.
#pragma once

namespace headrace::tool {

struct Roof {
  double operations = 0;  // float32 multiplications and additions a second, in registers
  double bytes = 0;       // of memory a second, read and written, by copies that fit no cache
};

// Takes the best of several attempts, since others may share the machine: about a second. Throws
// std::bad_alloc or std::system_error.
Roof MeasureRoof(int threads);

}  // namespace headrace::tool
