// Working memory that runs lend each other: plans that do not run at the same time need it once.
#pragma once

#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/quick_mutex.h"

namespace hr {

// Thread-safe.
class ArenaPool {
 public:
  // Keeps at most `most` blocks that nobody uses: one for each run that can go on at one time.
  ArenaPool(Allocator& allocator, int most);

  // Returns a block of at least so many bytes: the one at `last` if it is idle, else the smallest
  // idle one that is large enough, else a new one in the place of the largest idle one.
  // RESOURCE_EXHAUSTED if the allocator has none.
  Result<Block> Take(size_t bytes, const void* last);
  // Takes a block back. Allocates nothing.
  void Put(Block block);
  // Frees what is idle.
  void Clear();
  // Frees what is idle, now and from now on.
  void Close();
  size_t idle_bytes() const;

 private:
  // Returns the idle block that Take gives; empty if there is none.
  Block TakeIdle(size_t bytes, const void* last);

  Allocator& allocator_;
  mutable QuickMutex mutex_;
  std::vector<Block> idle_;  // never grows beyond its first capacity
  bool closed_ = false;
};

}  // namespace hr
