// Messages for the people who run a program. A sink belongs to an env; nothing prints by itself.
#pragma once

#include <string_view>

namespace hr {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

// Thread-safe.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogLevel level, std::string_view message) = 0;
};

}  // namespace hr
