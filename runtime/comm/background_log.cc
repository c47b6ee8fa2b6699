#include "runtime/comm/background_log.h"

#include <utility>

#include "runtime/base/strings.h"

namespace hr::comm {
namespace {

constexpr size_t kMostWaiting = 1000;

}  // namespace

BackgroundLog::~BackgroundLog() {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !writing_; });
}

void BackgroundLog::Write(LogLevel level, std::string_view message) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() == kMostWaiting) {
    ++dropped_;
    return;
  }
  waiting_.push_back({level, std::string(message)});
  if (!std::exchange(writing_, true)) threads_->Add([this] { WriteAll(); });
}

void BackgroundLog::WriteAll() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    const Message message = std::move(waiting_.front());
    waiting_.pop_front();
    const size_t dropped = waiting_.empty() ? std::exchange(dropped_, 0) : 0;
    lock.unlock();
    sink_.Write(message.level, message.text);
    if (dropped > 0) {
      sink_.Write(LogLevel::kWarning, Cat(dropped, " messages were dropped, because the log sink ",
                                          "did not return for a long time"));
    }
    lock.lock();
  }
  writing_ = false;
  written_.notify_all();  // under the lock: the log may go as soon as it is free
}

}  // namespace hr::comm
