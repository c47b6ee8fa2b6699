// The handle of headrace/queue.h.
#pragma once

#include "capi/src/handles.h"
#include "runtime/base/completion_queue.h"

struct hr_queue {
  std::shared_ptr<hr::session::Env> env;
  std::shared_ptr<hr::CompletionQueue> rep;
};

namespace hr::capi {

// Puts how something ended into a queue, which may have lost its handle by then.
struct Enqueue {
  std::shared_ptr<CompletionQueue> queue;
  uint64_t key;

  void operator()(const Status& status) const { queue->Push(key, status.Clone()); }
};

}  // namespace hr::capi
