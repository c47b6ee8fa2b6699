// Algorithms over memory that all ranks share: each rank reads the others' data where it lies, so
// nothing is passed on. They end on no rank before every rank has raised in them, which SharedArea
// asks for.
#include <bit>

#include "transport/collective/builder.h"
#include "transport/collective/effort.h"

namespace hr::collective {
namespace {

// A rank writes at most this much before it tells the others: as much as stays in a core's own
// cache.
constexpr uint64_t kMaxStageBytes = 256 << 10;

// Larger operations pass stage by stage through the ranks' rings, at the same place in each. A rank
// is at most one stage ahead of what another one still reads, so four stages are enough, even if
// those of two successive operations differ in size.
struct Stages {
  // For `wanted` bytes, all ranks alike.
  Stages(ScheduleBuilder& b, uint64_t wanted)
      : ring(b.shared_bytes), bytes(std::min(std::bit_ceil(wanted), SharedStageBytes(b.cost))) {}

  // Bytes [begin, begin + bytes) of the stage number `stage` of rank `owner`.
  Slice At(int owner, uint64_t stage, uint64_t begin, uint64_t length) const {
    return {Place::kRing, static_cast<uint64_t>(owner) * ring + stage * bytes % ring + begin,
            length};
  }
  const uint64_t ring, bytes;
};

void AwaitOthers(ScheduleBuilder& b, uint32_t times) {
  for (int rank = 0; rank < b.size; ++rank) {
    if (rank != b.rank) b.AwaitRaised(rank, times);
  }
}

// `sum` = the reduction of all ranks' operands, in the order of ranks, so that all get the same
// bits. No operand lies where the sum does.
template <typename Operand>
void CombineInOrder(ScheduleBuilder& b, Operand operand, Slice sum) {
  b.Combine(operand(0), operand(1), sum);
  for (int rank = 2; rank < b.size; ++rank) b.Combine(sum, operand(rank), sum);
  b.Complete(sum);
}

// Everybody reduces everything by itself, from the slots, whose lines the others hold.
double FlatSeconds(double bytes, double ranks, const CostModel& cost) {
  return SharedSeconds({1, 4 * bytes * (ranks - 1), bytes * (ranks - 1)}, cost);
}
double SlicedSeconds(double bytes, double ranks, const CostModel& cost) {
  const double others = bytes * (ranks - 1) / ranks;
  return SharedSeconds({2, 2 * others, others}, cost);
}
bool ReducesFlat(double bytes, double ranks, const CostModel& cost) {
  return bytes <= comm::kSlotBytes &&
         FlatSeconds(bytes, ranks, cost) <= SlicedSeconds(bytes, ranks, cost);
}

void FlatAllReduce(ScheduleBuilder& b) {
  const Slice sum = b.Whole(Place::kOutput);
  auto part = [&sum](int rank) {
    return Slice{Place::kSlot, static_cast<uint64_t>(rank) * comm::kSlotBytes, sum.bytes};
  };
  b.Prepare(b.Whole(Place::kInput), part(b.rank));
  b.Raise();
  AwaitOthers(b, 1);
  CombineInOrder(b, part, sum);
}

// One stage: every rank puts what the others need into its ring, reduces its own slice, and takes
// theirs.
class SlicedRound {
 public:
  // Each round takes as many elements as have room: those of round r begin at r times as many.
  SlicedRound(ScheduleBuilder& b, const Stages& stages, uint64_t room, uint64_t round)
      : b_(b), stages_(stages), room_(room), round_(round) {
    const uint64_t each = room / DTypeSize(b.operation.dtype) * b.size;
    begin_ = round * each;
    count_ = std::min(b.operation.count - begin_, each);
  }

  void Write() {
    const auto raised = static_cast<uint32_t>(2 * round_);
    for (int rank = 0; rank < b_.size; ++rank) {
      if (rank != b_.rank) b_.Prepare(SliceOf(Place::kInput, rank), Piece(b_.rank, rank));
    }
    b_.Raise();
    AwaitOthers(b_, raised + 1);
    ReduceOwn();
    b_.Raise();
    b_.Copy(Piece(b_.rank, b_.rank), SliceOf(Place::kOutput, b_.rank));
    for (int distance = 1; distance < b_.size; ++distance) {  // not all from the same one
      const int rank = (b_.rank + distance) % b_.size;
      b_.AwaitRaised(rank, raised + 2);
      b_.Copy(Piece(rank, rank), SliceOf(Place::kOutput, rank));
    }
  }

 private:
  Slice SliceOf(Place place, int rank) const {
    const Part part = PartOf(count_, rank, b_.size);
    return b_.Elements(place, begin_ + part.begin, begin_ + part.end);
  }
  // Returns what `owner` holds of the slice of `rank`; if they are the same, the result.
  Slice Piece(int owner, int rank) const {
    return stages_.At(owner, round_, static_cast<uint64_t>(rank) * room_,
                      SliceOf(Place::kOutput, rank).bytes);
  }
  void ReduceOwn() {
    Slice own = SliceOf(Place::kInput, b_.rank);
    if (b_.operation.reduce_op == ReduceOp::kPreMultipliedSum) {
      const Slice output = SliceOf(Place::kOutput, b_.rank);
      b_.Prepare(own, output);
      own = output;
    }
    CombineInOrder(
        b_, [&](int rank) { return rank == b_.rank ? own : Piece(rank, b_.rank); },
        Piece(b_.rank, b_.rank));
  }

  ScheduleBuilder& b_;
  const Stages& stages_;
  const uint64_t room_, round_;
  uint64_t begin_, count_;
};

}  // namespace

uint64_t SharedStageBytes(const CostModel& cost) {
  return std::min(kMaxStageBytes, cost.shared_bytes / 4);
}

void SharedBarrier(ScheduleBuilder& b) {
  b.Raise();
  AwaitOthers(b, 1);
}

double SharedAllReduceSeconds(double bytes, double ranks, const CostModel& cost) {
  return (ReducesFlat(bytes, ranks, cost) ? FlatSeconds : SlicedSeconds)(bytes, ranks, cost);
}

void SharedAllReduce(ScheduleBuilder& b) {
  constexpr uint64_t kLine = 64;  // pieces begin on cache lines
  const uint64_t width = DTypeSize(b.operation.dtype), ranks = static_cast<uint64_t>(b.size);
  if (ReducesFlat(static_cast<double>(b.operation.bytes()), b.size, b.cost))
    return FlatAllReduce(b);
  const uint64_t largest = PartOf(b.operation.count, 0, ranks).end * width;
  const Stages stages(b, (largest + kLine - 1) / kLine * kLine * ranks);
  const uint64_t room = stages.bytes / ranks / kLine * kLine;
  const uint64_t each = room / width * ranks;
  const uint64_t rounds = (b.operation.count + each - 1) / each;
  b.TakeRing(stages.bytes, rounds);
  for (uint64_t round = 0; round < rounds; ++round) SlicedRound(b, stages, room, round).Write();
}

void SharedAllGather(ScheduleBuilder& b) {
  const uint64_t block = b.operation.bytes();
  const Stages stages(b, block);
  const bool small = block <= comm::kSlotBytes;
  const uint64_t each = small ? comm::kSlotBytes : stages.bytes;
  const uint64_t rounds = std::max<uint64_t>(1, (block + each - 1) / each);
  if (!small) b.TakeRing(each, rounds);
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t at = round * each, bytes = std::min(each, block - at);
    auto piece = [&](int rank) {
      return small ? Slice{Place::kSlot, rank * comm::kSlotBytes, bytes}
                   : stages.At(rank, round, 0, bytes);
    };
    b.Copy({Place::kInput, at, bytes}, piece(b.rank));
    b.Raise();
    for (int distance = 0; distance < b.size; ++distance) {
      const int rank = (b.rank + distance) % b.size;
      if (distance > 0) b.AwaitRaised(rank, static_cast<uint32_t>(round + 1));
      b.Copy(piece(rank), {Place::kOutput, static_cast<uint64_t>(rank) * block + at, bytes});
    }
  }
}

}  // namespace hr::collective
