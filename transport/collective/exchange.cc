// Everybody with everybody.
#include "transport/collective/builder.h"
#include "transport/collective/ring.h"

namespace hr::collective {
namespace {

Slice BlockOf(const ScheduleBuilder& b, Place place, int rank) {
  return b.Elements(place, b.operation.count * rank, b.operation.count * (rank + 1));
}

}  // namespace

// Hensgen, Finkel, Manber: "Two algorithms for barrier synchronization" (1988).
void DisseminationBarrier(ScheduleBuilder& b) {
  for (int distance = 1; distance < b.size; distance *= 2) {
    b.Signal((b.rank + distance) % b.size);
    b.Listen((b.rank + b.size - distance) % b.size);
    b.AwaitAll();
  }
}

void RingAllGather(ScheduleBuilder& b) {
  b.Copy(b.Whole(Place::kInput), BlockOf(b, Place::kOutput, b.rank));
  AddRing(b, {.gather = true, .input = {}, .result = [&b](int part) {
                return BlockOf(b, Place::kOutput, part);
              }});
}

Slice PreparedBlocks(ScheduleBuilder& b, Slice input) {
  if (b.operation.reduce_op != ReduceOp::kPreMultipliedSum) return input;
  const Slice multiplied = b.Scratch(input.bytes);
  b.Prepare(input, multiplied);
  return multiplied;
}

void RingReduceScatter(ScheduleBuilder& b) {
  const Slice from = PreparedBlocks(b, b.Elements(Place::kInput, 0, b.operation.count * b.size));
  const uint64_t bytes = b.operation.bytes();
  auto input = [from, bytes](int part) {
    return Slice{from.place, from.begin + bytes * part, bytes};
  };
  if (b.size == 1) return b.Copy(input(0), b.Whole(Place::kOutput));
  AddRing(
      b, {.reduce = true, .input = input, .result = [&b](int) { return b.Whole(Place::kOutput); }});
}

void PairwiseAllToAll(ScheduleBuilder& b) {
  for (int distance = 1; distance < b.size; ++distance) {
    const int from = (b.rank + b.size - distance) % b.size, to = (b.rank + distance) % b.size;
    b.Recv(from, BlockOf(b, Place::kOutput, from));
    b.Send(to, BlockOf(b, Place::kInput, to));
  }
  b.Copy(BlockOf(b, Place::kInput, b.rank), BlockOf(b, Place::kOutput, b.rank));
}

// `window` is the sum of this rank and of the `distance` - 1 before it. Hillis, Steele: "Data
// parallel algorithms" (1986).
void DoublingExscan(ScheduleBuilder& b) {
  const Slice window = b.Scratch(b.operation.bytes()), before = b.Scratch(b.operation.bytes());
  const Slice result = b.Whole(Place::kOutput);
  b.Copy(b.Whole(Place::kInput), window);
  for (int distance = 1; distance < b.size; distance *= 2) {
    const bool gets = b.rank >= distance;
    if (gets) b.Recv(b.rank - distance, before);
    if (b.rank + distance < b.size) b.Send(b.rank + distance, window);
    b.AwaitAll();
    if (!gets) continue;
    distance == 1 ? b.Copy(before, result) : b.Combine(before, result, result);
    b.Combine(before, window, window);
  }
}

}  // namespace hr::collective
