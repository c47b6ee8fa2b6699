// Writes schedules. Each algorithm has a function in a file of its own family.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/schedule.h"

namespace hr::collective {

using comm::CostModel;
using comm::Fused;
using comm::Operation;
using comm::OpKind;
using comm::Place;
using comm::ReduceOp;
using comm::Schedule;
using comm::Slice;
using comm::Step;

class ScheduleBuilder {
 public:
  ScheduleBuilder(const Operation& operation, int rank, int size, const CostModel& cost)
      : operation(operation),
        rank(rank),
        size(size),
        cost(cost),
        slice_bytes(cost.slice_bytes),
        shared_bytes(cost.shared_bytes) {}
  // Goes on writing `whole`, for some of its ranks, in this order; this one is among them. The call
  // is theirs: peers count among them. `in_place`: their input is what lies in the output by now.
  ScheduleBuilder(ScheduleBuilder& whole, const Operation& operation, std::vector<int> ranks,
                  bool in_place)
      : operation(operation),
        rank(static_cast<int>(std::find(ranks.begin(), ranks.end(), whole.rank) - ranks.begin())),
        size(static_cast<int>(ranks.size())),
        cost(whole.cost),
        slice_bytes(whole.slice_bytes),
        shared_bytes(whole.shared_bytes),
        ranks_(std::move(ranks)),
        in_place_(in_place),
        to_(whole.to_) {}
  ScheduleBuilder(const ScheduleBuilder&) = delete;

  // Starts a transfer and returns its number, for Await. What is empty is not sent, by either side,
  // unless the whole call is: then only that something comes tells whether all called the same.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t Send(int peer, Slice a) { return Skips(a) ? kNone : Signal(peer, a); }
  uint32_t Recv(int peer, Slice out) { return Skips(out) ? kNone : Listen(peer, out); }
  void Await(uint32_t transfer) {
    if (transfer != kNone) Add({.kind = Step::kAwait, .transfer = transfer});
  }
  // As Send and Recv, for messages that say something by coming.
  uint32_t Signal(int peer, Slice a = {}) {
    return Transfer({.kind = Step::kSend, .peer = RankAt(peer), .a = a});
  }
  uint32_t Listen(int peer, Slice out = {}) {
    return Transfer({.kind = Step::kRecv, .peer = RankAt(peer), .out = out});
  }
  void AwaitAll() { Add({.kind = Step::kAwaitAll}); }
  void Combine(Slice a, Slice b, Slice out, const Fused& fused = {}) {
    if (out.bytes > 0) Add({.kind = Step::kCombine, .a = a, .b = b, .out = out, .fused = fused});
  }
  void Copy(Slice a, Slice out) {
    if (out.bytes > 0) Add({.kind = Step::kCopy, .a = a, .out = out});
  }

  void Raise() {
    Add({.kind = Step::kRaise});
    ++to_.raises;
  }
  void AwaitRaised(int peer, uint32_t times) {
    Add({.kind = Step::kAwaitRaised, .peer = peer, .transfer = times});
  }
  // Takes stages of each rank's ring, of which others may still read so many when this rank is
  // done.
  void TakeRing(uint64_t stage_bytes, uint64_t stages) {
    to_.ring_stage = stage_bytes;
    to_.ring_bytes = stage_bytes * stages;
  }

  // The first `count` elements of a buffer.
  Slice Whole(Place place) const { return Elements(place, 0, operation.count); }
  // Elements [begin, end) of a buffer.
  Slice Elements(Place place, uint64_t begin, uint64_t end) const {
    const uint64_t width = DTypeSize(operation.dtype);
    if (in_place_ && place == Place::kInput) place = Place::kOutput;
    return {place, begin * width, (end - begin) * width};
  }
  // In pieces of slice_bytes, and of whole elements.
  std::vector<Slice> Sliced(Slice whole) const {
    constexpr uint64_t kWidest = 8;
    const uint64_t each = std::max(slice_bytes / kWidest, uint64_t{1}) * kWidest;
    std::vector<Slice> slices;
    for (uint64_t at = 0; at < whole.bytes; at += each) {
      slices.push_back({whole.place, whole.begin + at, std::min(each, whole.bytes - at)});
    }
    return slices;
  }
  // `count` more bytes of scratch, aligned for every dtype.
  Slice Scratch(uint64_t bytes) {
    const Slice slice = {Place::kScratch, to_.scratch_bytes, bytes};
    to_.scratch_bytes += (bytes + 63) / 64 * 64;
    return slice;
  }
  // Copies this rank's contribution to where it is reduced, multiplied if the operation says so.
  void Prepare(Slice input, Slice to) {
    const bool multiply = operation.reduce_op == ReduceOp::kPreMultipliedSum;
    Add({.kind = multiply ? Step::kMultiply : Step::kCopy, .a = input, .out = to});
  }
  // Turns a sum into what was asked for.
  void Complete(Slice sum) {
    if (operation.reduce_op == ReduceOp::kAverage)
      Add({.kind = Step::kDivide, .a = sum, .out = sum});
  }

  Schedule Take(std::string algorithm) {
    AwaitAll();
    to_.algorithm = std::move(algorithm);
    return std::move(to_);
  }

  const Operation& operation;
  const int rank;
  const int size;
  const CostModel& cost;
  const uint64_t slice_bytes;   // how large messages are cut, so that they can be passed on early
  const uint64_t shared_bytes;  // of each rank's ring

 private:
  uint32_t Transfer(Step step) {
    to_.steps.push_back(step);
    return to_.transfers++;
  }
  void Add(Step step) { to_.steps.push_back(step); }
  bool Skips(const Slice& slice) const { return slice.bytes == 0 && operation.count > 0; }
  int RankAt(int peer) const { return ranks_.empty() ? peer : ranks_[peer]; }

  const std::vector<int> ranks_;  // empty: all
  const bool in_place_ = false;
  Schedule own_;
  Schedule& to_ = own_;
};

// The part of `count` elements that is number `part` of `size`: the first ones are one longer.
struct Part {
  uint64_t begin, end;
};
inline Part PartOf(uint64_t count, uint64_t part, uint64_t size) {
  const uint64_t base = count / size, extra = count % size;
  const uint64_t begin = part * base + std::min(part, extra);
  return {begin, begin + base + (part < extra ? 1 : 0)};
}

// all_reduce.cc
void RecursiveDoublingAllReduce(ScheduleBuilder& b);
void RingAllReduce(ScheduleBuilder& b);
void RabenseifnerAllReduce(ScheduleBuilder& b);
// hierarchical.cc: inside hosts, and between one rank of each
void HierarchicalAllReduce(ScheduleBuilder& b);
void HierarchicalBroadcast(ScheduleBuilder& b);
void HierarchicalReduce(ScheduleBuilder& b);
void HierarchicalBarrier(ScheduleBuilder& b);
// lanes.cc: inside hosts, and between all their ranks
void LanesAllReduce(ScheduleBuilder& b);
void HierarchicalAllGather(ScheduleBuilder& b);
void HierarchicalReduceScatter(ScheduleBuilder& b);
// rooted.cc: trees and stars around a root
void BinomialBroadcast(ScheduleBuilder& b);
void ChainBroadcast(ScheduleBuilder& b);
void BinomialReduce(ScheduleBuilder& b);
// Its tree alone: `sum` becomes that of all ranks on the root. `other`: scratch of the same size.
void ReduceToRoot(ScheduleBuilder& b, Slice sum, Slice other);
void StarGather(ScheduleBuilder& b);
void StarScatter(ScheduleBuilder& b);
// exchange.cc: everybody with everybody
void DisseminationBarrier(ScheduleBuilder& b);
void RingAllGather(ScheduleBuilder& b);
void RingReduceScatter(ScheduleBuilder& b);
void PairwiseAllToAll(ScheduleBuilder& b);
void DoublingExscan(ScheduleBuilder& b);
// The input of a reduce-scatter, multiplied if the operation says so.
Slice PreparedBlocks(ScheduleBuilder& b, Slice input);
// shared.cc: in memory that all ranks share
uint64_t SharedStageBytes(const CostModel& cost);  // at most, of what goes through the rings
void SharedAllReduce(ScheduleBuilder& b);
void SharedAllGather(ScheduleBuilder& b);
void SharedBarrier(ScheduleBuilder& b);

}  // namespace hr::collective
