// Queues of runs and operations that have ended.
#ifndef HEADRACE_CPP_QUEUE_HPP_
#define HEADRACE_CPP_QUEUE_HPP_

#include <optional>

#include "headrace/cpp/env.hpp"
#include "headrace/queue.h"

namespace hr {
inline namespace cpp {

// A run or an operation that has ended.
struct Completion {
  uint64_t key;
  std::optional<Error> failure;  // empty if it has succeeded
};

// Completions, for a thread that waits for many things; see hr_queue.
class Queue : public detail::Handle<hr_queue, hr_queue_release> {
 public:
  explicit Queue(const Env& env) : Handle(detail::made<hr_queue*>(hr_queue_create, env.get())) {}
  // Returns the oldest completion if there is one. Does not wait.
  std::optional<Completion> poll() {
    hr_completion done = {sizeof done, 0, nullptr};
    int32_t found = 0;
    check(hr_queue_poll(get(), &done, &found));
    if (found == 0) return std::nullopt;
    return from(done);
  }
  // Waits for a completion and returns the oldest.
  Completion wait(const hr_limits* limits = nullptr) {
    hr_completion done = {sizeof done, 0, nullptr};
    check(hr_queue_wait(get(), limits, &done));
    return from(done);
  }
  // Returns a file descriptor that is readable while there are completions.
  int32_t descriptor() const { return detail::made<int32_t>(hr_queue_descriptor, get()); }

 private:
  static Completion from(const hr_completion& done) {
    Completion out{done.key, std::nullopt};
    if (done.failure != nullptr) out.failure.emplace(done.failure);
    return out;
  }
};

}  // namespace cpp
}  // namespace hr
#endif  // HEADRACE_CPP_QUEUE_HPP_
