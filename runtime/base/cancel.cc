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
