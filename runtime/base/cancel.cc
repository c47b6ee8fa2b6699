#include "runtime/base/cancel.h"

namespace hr {
namespace {

class SteadyClock final : public Clock {
 public:
  int64_t NowNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

constinit SteadyClock steady_clock;

}  // namespace

const Clock& SystemClock() { return steady_clock; }

}  // namespace hr
