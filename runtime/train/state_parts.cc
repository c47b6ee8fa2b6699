#include "runtime/train/state_parts.h"

#include <algorithm>
#include <cstring>

namespace hr::train {

Result<StateParts> StateParts::Of(session::Session& session, std::string_view group, int rank) {
  HR_ASSIGN_OR_RETURN(const auto shards, graph::ShardsOf(session.model().module()));
  StateParts out;
  out.rank_ = rank;
  // Half updated, it is a part of no step.
  out.step_ = session.tainted() ? -1 : session.step();
  HR_RETURN_IF_ERROR(session.ReadVariables({}, [&](const session::VariableStore& store, int64_t) {
    for (const graph::Shard& shard : shards) {
      if (shard.group != group) continue;
      out.ranks_ = shard.ranks;
      if (!shard.dims) continue;
      out.parts_.push_back({shard.variable, ElementCount(*shard.dims), store.Get(shard.variable)});
    }
    return Status();
  }));
  return out;
}

Result<Tensor> StateParts::MoveOne(const Part& part, session::Session& session,
                                   comm::Collectives& group, std::span<const int> holders,
                                   const CallLimits& limits) const {
  Allocator& allocator = session.env().allocator();
  const graph::Variable& variable = session.model().module().variables[part.variable];
  HR_ASSIGN_OR_RETURN(auto&& own, Tensor::Create(allocator, variable.dtype, variable.dims));
  if (own.bytes() != 0) std::memset(own.data(), 0, own.bytes());
  const int64_t size = graph::PartOf(part.elements, std::ssize(holders));
  HR_ASSIGN_OR_RETURN(auto&& given, Tensor::Create(allocator, variable.dtype, {size}));
  const auto width = static_cast<int64_t>(DTypeSize(variable.dtype));
  const int64_t own_begin = group.rank() * own.elements();
  for (int64_t i = 0; i < std::ssize(holders) && size != 0; ++i) {
    const int holder = holders[static_cast<size_t>(i)];
    if (group.rank() == holder) std::memcpy(given.data(), part.value.data(), given.bytes());
    HR_RETURN_IF_ERROR(group.Run({.kind = comm::OpKind::kBroadcast,
                                  .dtype = variable.dtype,
                                  .count = static_cast<uint64_t>(size),
                                  .peer = holder},
                                 given.data(), given.data(), limits));
    const int64_t begin = std::max(i * size, own_begin);
    const int64_t end = std::min({(i + 1) * size, own_begin + own.elements(), part.elements});
    if (begin >= end) continue;
    std::memcpy(own.data() + (begin - own_begin) * width, given.data() + (begin - i * size) * width,
                static_cast<size_t>((end - begin) * width));
  }
  return std::move(own);
}

// A failure on the way leaves the session's variables as they were.
Status StateParts::Move(session::Session& session, comm::Collectives& group,
                        std::span<const int> holders, const CallLimits& limits) const {
  std::vector<Tensor> moved;
  for (const Part& part : parts_) {
    HR_ASSIGN_OR_RETURN(auto&& value, MoveOne(part, session, group, holders, limits));
    moved.push_back(std::move(value));
  }
  return session.RestoreVariables(
      {}, [&](session::VariableStore& store, int64_t*, uint64_t*) -> Status {
        for (size_t i = 0; i < parts_.size(); ++i) {
          store.SetOwned(parts_[i].variable, std::move(moved[i]));
        }
        return {};
      });
}

std::vector<int> HoldersOf(std::span<const PartPlace> places) {
  const auto begun = [](const PartPlace& place) { return place.begun; };
  const auto first = std::find_if(places.begin(), places.end(), begun);
  const PartPlace& one = first == places.end() ? places[0] : *first;
  if (one.ranks < 1 || one.ranks > std::ssize(places)) return {};
  std::vector<int> out(static_cast<size_t>(one.ranks), -1);
  for (size_t i = 0; i < places.size(); ++i) {
    const PartPlace& place = places[i];
    if (place.begun != one.begun) continue;
    if (place.ranks != one.ranks || place.step != one.step || place.step < 0) return {};
    if (place.rank >= 0 && place.rank < place.ranks) {
      out[static_cast<size_t>(place.rank)] = static_cast<int>(i);
    }
  }
  const bool missing = std::find(out.begin(), out.end(), -1) != out.end();
  return missing ? std::vector<int>() : out;
}

}  // namespace hr::train
