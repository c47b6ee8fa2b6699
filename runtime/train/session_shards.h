// Sessions of which each rank of a group holds a part of some variables (graph/shards.h): a
// checkpoint has them whole, so that any number of ranks can read it.
#pragma once

#include <vector>

#include "runtime/graph/shards.h"
#include "runtime/session/session.h"

namespace hr::train {

// What a checkpoint of a session needs to know of its variables.
class SessionShards {
 public:
  // FAILED_PRECONDITION if the group of a divided variable is not bound, or has another size.
  static Result<SessionShards> Of(session::Session& session);

  bool empty() const { return shards_.empty(); }
  // Whether this rank writes checkpoints: rank 0, or all if nothing is divided.
  bool writes() const { return shards_.empty() || shards_[0].group->rank() == 0; }
  // The variable's type in a checkpoint; null if it is in none.
  const Dims* DimsOf(uint32_t variable, const Dims& declared) const;
  // Collective: the rank that writes gets the whole of this part; others an empty tensor. What is
  // not divided is returned as it is.
  Result<Tensor> Gather(uint32_t variable, Tensor part, Allocator& allocator,
                        const CallLimits& limits) const;
  // This rank's part of a whole, for a variable of the declared size.
  Result<Tensor> PartOf(uint32_t variable, Tensor whole, const Dims& declared,
                        Allocator& allocator) const;

 private:
  struct One {
    graph::Shard shard;
    std::shared_ptr<comm::Collectives> group;
  };
  const One* Find(uint32_t variable) const;

  std::vector<One> shards_;
};

}  // namespace hr::train
