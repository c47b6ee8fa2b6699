// What the operating system says about this machine.
#pragma once

#include <cstdint>
#include <string>

namespace headrace::tool {

struct Machine {
  std::string system;     // "Linux 6.1.0 x86_64"
  std::string processor;  // "AMD EPYC 9R14"; empty if unknown
  std::string
      extensions;       // of the instruction set, those that matter for numbers: "avx2 fma avx512f"
  int processors = 0;   // online
  int usable = 0;       // of them, those on which this process may run
  double quota = 0;     // processors' worth of time that a control group allows; 0: no limit
  uint64_t memory = 0;  // bytes; 0 if unknown
  uint64_t available = 0;
  uint64_t memory_limit = 0;  // of a control group; 0: none
  uint64_t shared_memory =
      0;  // size of the file system that shared memory lies in; 0: there is none
  uint64_t shared_memory_free = 0;
  std::string huge_pages;   // "always", "madvise", "never"; empty if unknown
  uint64_t open_files = 0;  // the most that this process may have
};

Machine ThisMachine();

}  // namespace headrace::tool
