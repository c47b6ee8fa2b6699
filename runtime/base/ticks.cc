#include "runtime/base/ticks.h"

#include "runtime/base/file.h"

namespace hr {
namespace {

// Whether the kernel has found that the counter runs evenly, and alike on all processors.
bool CounterIsEven() {
#if defined(__x86_64__)
  const auto source = ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return source.ok() && *source == "tsc\n";
#else
  return true;
#endif
}

}  // namespace

TickCounter::TickCounter()
    : counts_(CounterIsEven()), ticks_(Now()), nanos_(SystemClock().NowNanos()) {}

TickCounter::Scale TickCounter::ScaleNow() const {
  return {ticks_, nanos_, Now(), SystemClock().NowNanos()};
}

}  // namespace hr
