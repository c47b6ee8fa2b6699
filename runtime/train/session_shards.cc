#include "runtime/train/session_shards.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr::train {

Result<SessionShards> SessionShards::Of(session::Session& session) {
  SessionShards out;
  HR_ASSIGN_OR_RETURN(auto shards, graph::ShardsOf(session.model().module()));
  for (graph::Shard& shard : shards) {
    HR_ASSIGN_OR_RETURN(auto group, session.FindGroup(shard.group));
    if (group->size() != shard.ranks) {
      return FailedPrecondition("the state of the optimizer is divided among ", shard.ranks,
                                " ranks, but the group '", shard.group, "' has ", group->size(),
                                "; build the graph for these");
    }
    out.shards_.push_back({std::move(shard), std::move(group)});
  }
  return out;
}

const SessionShards::One* SessionShards::Find(uint32_t variable) const {
  const auto found = std::find_if(shards_.begin(), shards_.end(),
                                  [&](const One& one) { return one.shard.variable == variable; });
  return found == shards_.end() ? nullptr : &*found;
}

const Dims* SessionShards::DimsOf(uint32_t variable, const Dims& declared) const {
  const One* one = Find(variable);
  if (one == nullptr) return &declared;
  return one->shard.dims ? &*one->shard.dims : nullptr;
}

Result<Tensor> SessionShards::Gather(uint32_t variable, Tensor part, Allocator& allocator,
                                     const CallLimits& limits) const {
  const One* one = Find(variable);
  if (one == nullptr || !one->shard.dims) return part;
  Tensor parts, whole;
  if (writes()) {
    HR_ASSIGN_OR_RETURN(
        parts, Tensor::Create(allocator, part.dtype(), {one->shard.ranks * part.elements()}));
    HR_ASSIGN_OR_RETURN(whole, Tensor::Create(allocator, part.dtype(), *one->shard.dims));
  }
  HR_RETURN_IF_ERROR(one->group->Run({.kind = comm::OpKind::kGather,
                                      .dtype = part.dtype(),
                                      .count = static_cast<uint64_t>(part.elements())},
                                     part.data(), parts.data(), limits));
  if (whole.bytes() != 0) std::memcpy(whole.data(), parts.data(), whole.bytes());
  return whole;
}

Result<Tensor> SessionShards::PartOf(uint32_t variable, Tensor whole, const Dims& declared,
                                     Allocator& allocator) const {
  const One* one = Find(variable);
  if (one == nullptr) return whole;
  HR_ASSIGN_OR_RETURN(auto&& part, Tensor::Create(allocator, whole.dtype(), declared));
  const auto begin = static_cast<size_t>(one->group->rank()) * part.bytes();
  const size_t bytes = std::min(part.bytes(), whole.bytes() - std::min(begin, whole.bytes()));
  if (part.bytes() != 0) std::memset(part.data(), 0, part.bytes());
  if (bytes != 0) {
    std::memcpy(part.data(), static_cast<const std::byte*>(whole.data()) + begin, bytes);
  }
  return std::move(part);
}

}  // namespace hr::train
