// One registration for each transport: everything in this folder runs over all of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

struct TransportDriver {
  std::string name;
  // Makes a factory whose transports can reach each other.
  std::function<std::function<Result<std::unique_ptr<Transport>>(std::string identity)>()> open;
  // What it reads by itself stays there for it. The kernel, as UCX uses it in place of network
  // adapters, does not pin memory, and UCX gives the connection up where it is gone.
  bool pins = true;
};

// What GoogleTest prints, and ctest takes into the tests' names.
inline void PrintTo(const TransportDriver& driver, std::ostream* out) { *out << driver.name; }

std::vector<TransportDriver> TransportDrivers();

inline CallLimits Within(std::chrono::nanoseconds time) {
  return {.deadline_nanos = SystemClock().NowNanos() + time.count(), .clock = &SystemClock()};
}

}  // namespace hr::comm
