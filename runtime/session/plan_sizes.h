// The sizes of its dimensions that one plan has met.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/backend.h"
#include "runtime/transform/request.h"

namespace hr::session {

// A tensor's type as a run sees it.
struct ConcreteType {
  DType dtype = DType::kUndefined;
  Dims dims;
};

// A plan at one size of its dimensions: all that differs from its other sizes. Immutable.
struct PlanSize {
  std::vector<transform::Feed> feeds;
  std::vector<ConcreteType> outputs;
  std::vector<Tensor> constants;  // those that depend on no size are the same in all sizes
  std::unique_ptr<Executable> executable;
};

// Keeps a bounded number of sizes. Thread-safe.
class PlanSizes {
 public:
  // The least recently used beyond `most` are dropped.
  explicit PlanSizes(size_t most) : most_(most) {}

  // Null where there is none. Allocates nothing.
  std::shared_ptr<const PlanSize> Find(const std::vector<transform::Feed>& feeds);
  // The size, or the equal one that another thread has added meanwhile.
  std::shared_ptr<const PlanSize> Add(std::shared_ptr<const PlanSize> size);
  void Clear();
  // Most recently used first.
  std::vector<std::shared_ptr<const PlanSize>> List() const;
  size_t most() const { return most_; }

 private:
  std::shared_ptr<const PlanSize> FindLocked(const std::vector<transform::Feed>& feeds);

  const size_t most_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<const PlanSize>> sizes_;  // most recently used first
};

}  // namespace hr::session
