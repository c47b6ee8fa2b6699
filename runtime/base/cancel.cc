#include "runtime/base/cancel.h"

#include <ctime>

#include <algorithm>

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

constexpr int64_t kAskNanos = 50'000'000;
constexpr int64_t kInterrupted = -1;
// How much older than the time CoarseNanos may be: Linux counts at least 100 times a second.
constexpr int64_t kCoarseNanos = 10'000'000;

// The clock is read before each step of a run whose host wants to be asked, so it must cost little.
int64_t CoarseNanos() {
#if defined(CLOCK_MONOTONIC_COARSE)
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
#else
  return SystemClock().NowNanos();
#endif
}

// A host's clock may jump, so it is looked at again and again.
constexpr int64_t kHostClockSleep = 5'000'000;

}  // namespace

const Clock& SystemClock() { return steady_clock; }

int64_t CallLimits::SleepNanos(int64_t most) const {
  if (interrupted != nullptr) most = std::min(most, kAskNanos);
  if (clock == nullptr) return most;
  if (clock != &SystemClock()) most = std::min(most, kHostClockSleep);
  return std::clamp<int64_t>(deadline_nanos - clock->NowNanos(), 0, most);
}

bool CallLimits::MustAsk() const {
  return interrupted != nullptr && (ask_nanos == kInterrupted || CoarseNanos() >= ask_nanos);
}

// A call that ends within the first interval does not ask at all.
Status CallLimits::AskHost() const {
  const int64_t now = CoarseNanos();
  if (ask_nanos != kInterrupted) {
    if (now < ask_nanos) return {};
    const bool first = ask_nanos == 0;
    ask_nanos = now + kAskNanos - kCoarseNanos;  // so that a wait of kAskNanos is enough
    if (first || interrupted(context) == 0) return {};
    ask_nanos = kInterrupted;  // the host is not asked again
  }
  return Cancelled("the host interrupted the call");
}

void CancelToken::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  std::lock_guard lock(mutex_);
  for (CancelWake* wake = first_; wake != nullptr; wake = wake->next_) wake->wake_(wake->context_);
}

CancelWake::CancelWake(const CancelToken* token, void (*wake)(void* context), void* context)
    : token_(token), wake_(wake), context_(context) {
  if (token_ == nullptr) return;
  std::lock_guard lock(token_->mutex_);
  next_ = token_->first_;
  if (next_ != nullptr) next_->link_ = &next_;
  link_ = &token_->first_;
  token_->first_ = this;
}

CancelWake::~CancelWake() {
  if (token_ == nullptr) return;
  std::lock_guard lock(token_->mutex_);
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
}

}  // namespace hr
