// What ends a command early. Failures of the library arrive as hr::Error.
#pragma once

#include <stdexcept>
#include <string>

namespace headrace::tool {

// The work failed: exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command line is invalid: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace headrace::tool
