// A queue of what has ended, which a thread of the host empties.
#pragma once

#include <deque>
#include <optional>

#include "runtime/base/wait_point.h"
#include "runtime/base/wake_event.h"

namespace hr {

// Thread-safe.
class CompletionQueue {
 public:
  struct Completion {
    uint64_t key;  // of the host
    Status status;
  };

  // Never waits.
  void Push(uint64_t key, Status status);
  // Returns the oldest completion; none if there is none.
  std::optional<Completion> Poll();
  // Returns the oldest completion, and waits for one within `limits`.
  Result<Completion> Wait(const CallLimits& limits);
  // Returns a handle that is readable while there are completions.
  Result<int> Handle();

 private:
  Completion TakeLocked();

  WaitPoint filled_;  // its mutex guards what follows
  std::deque<Completion> completions_;
  std::optional<WakeEvent> event_;  // set while there are completions
};

}  // namespace hr
