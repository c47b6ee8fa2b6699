// What this machine can do at most, measured.
#pragma once

namespace headrace::tool {

struct Roof {
  // Multiplications and additions of float32 a second, in registers: of vectors, or of matrix units
  // that multiply three parts of bfloat16 for each number, whichever are more.
  double operations = 0;
  double bytes = 0;  // of memory a second, read and written, by copies that fit no cache
};

// Takes the best of several attempts, since others may share the machine: about a second. Throws
// std::bad_alloc or std::system_error.
Roof MeasureRoof(int threads);

}  // namespace headrace::tool
