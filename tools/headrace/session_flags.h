// The options of a command line that say how a session makes its plans.
#pragma once

#include <string>

#include "tools/headrace/flags.h"
#include "tools/headrace/library.h"

namespace headrace::tool {

struct SessionFlags {
  std::string memory_limit, pin;

  void AddOptions(CLI::App* app);
  // Refers to these options. Throws UsageError.
  hr_session_options Options(uint64_t seed) const;
};

}  // namespace headrace::tool
