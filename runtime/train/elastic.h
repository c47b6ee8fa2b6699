// How a training goes on when its group loses ranks or gets new ones.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/base/cancel.h"
#include "runtime/base/result.h"
#include "runtime/train/checkpoint_term.h"

namespace hr::train {

// The group in which a session's graphs communicate, and its successors: it stands for the latest
// one. Used by the thread that trains.
class ElasticGroup {
 public:
  virtual ~ElasticGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Returns OK, or why the group has ended.
  virtual Status status() const = 0;
  // Go on in the next epoch, without ranks that have failed, or with new ones (comm/elastic.h).
  virtual Status Shrink(const CallLimits& limits) = 0;
  virtual Status Grow(int size, const CallLimits& limits) = 0;
  // Returns how many processes wait to become ranks.
  virtual Result<int> Waiting() = 0;
  // Says whether the group takes none in any more.
  virtual Status SetClosed(bool closed) = 0;
  // Binds the session to the group; all ranks call it.
  virtual Status Bind(const CallLimits& limits) = 0;
  // Waits until all ranks call it.
  virtual Status Meet(const CallLimits& limits) = 0;
  // For whom the chief of the group writes checkpoints.
  virtual CheckpointOwner owner() const = 0;
};

struct ElasticOptions {
  std::shared_ptr<ElasticGroup> group;
  int min_ranks = 1;  // with fewer, it waits for new ones
  int max_ranks = 0;  // up to which new ones are taken in; 0: as many as there are at first
};

class Elastic {
 public:
  // `say` tells people; `fit` makes the session one for so many ranks, before it is bound to them.
  Elastic(ElasticOptions options, std::function<void(std::string_view)> say,
          std::function<Status(int ranks)> fit);

  int rank() const { return options_.group->rank(); }
  int size() const { return options_.group->size(); }
  CheckpointOwner owner() const { return options_.group->owner(); }

  // Returns whether `failure` is the end of the group, which the other ranks may survive.
  bool IsEnd(const Status& failure) const;
  // Binds the session to the group, or to one without the ranks that fail meanwhile.
  Status Begin(const CallLimits& limits);
  // Goes on without the ranks that have failed. If this one cannot, the failure is `why`, with the
  // reason.
  Status GoOn(Status why, const CallLimits& limits);
  // Returns how many processes are to be taken in; for one rank, which tells the others. It asks
  // the store at most a few times a second.
  int Coming();
  // Says, for one rank, whether the training is over, so that nobody waits to take part in it.
  void SetOver(bool over) { options_.group->SetClosed(over).IgnoreError(); }
  // Takes so many in, on all ranks. Returns false if they did not come: then all is as before.
  Result<bool> TakeIn(int count, const CallLimits& limits);

 private:
  Status Bind(const CallLimits& limits);

  ElasticOptions options_;
  const std::function<void(std::string_view)> say_;
  const std::function<Status(int)> fit_;
  int64_t next_look_ = 0;
};

}  // namespace hr::train
