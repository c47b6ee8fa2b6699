// Algorithms over memory that all ranks share: each rank reads the others' data where it lies, so
// nothing is passed on. They end on no rank before every rank has raised in them, which SharedArea
// asks for.
#include "transport/collective/builder.h"

namespace hr::comm {
namespace {

// Up to so many bytes of all ranks together everybody reduces everything by itself.
constexpr uint64_t kFlatBytes = 16 << 10;

// A place in the slot of rank `owner`.
Slice Shared(const ScheduleBuilder& b, int owner, uint64_t begin, uint64_t bytes) {
  return {Place::kShared, static_cast<uint64_t>(owner) * b.shared_bytes + begin, bytes};
}

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

void FlatAllReduce(ScheduleBuilder& b) {
  const Slice sum = b.Whole(Place::kOutput);
  auto part = [&b, &sum](int rank) { return Shared(b, rank, 0, sum.bytes); };
  b.Prepare(b.Whole(Place::kInput), part(b.rank));
  b.Raise();
  AwaitOthers(b, 1);
  CombineInOrder(b, part, sum);
}

// Elements [begin, end) in one round: every rank puts what the others need into its slot, reduces
// its own slice, and takes theirs.
class SlicedRound {
 public:
  SlicedRound(ScheduleBuilder& b, uint64_t begin, uint64_t end, uint64_t room)
      : b_(b), begin_(begin), count_(end - begin), room_(room) {}

  void Write(uint32_t raised) {
    for (int rank = 0; rank < b_.size; ++rank) {
      if (rank != b_.rank) b_.Prepare(SliceOf(Place::kInput, rank), Piece(b_.rank, rank));
    }
    b_.Raise();
    AwaitOthers(b_, raised + 1);
    ReduceOwn();
    b_.Raise();
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
  // What `owner` holds of the slice of `rank`; of its own slice: the result.
  Slice Piece(int owner, int rank) const {
    return Shared(b_, owner, static_cast<uint64_t>(rank) * room_,
                  SliceOf(Place::kOutput, rank).bytes);
  }
  void ReduceOwn() {
    const Slice result = Piece(b_.rank, b_.rank), output = SliceOf(Place::kOutput, b_.rank);
    Slice own = SliceOf(Place::kInput, b_.rank);
    if (b_.call.reduce_op == ReduceOp::kPreMultipliedSum) {
      b_.Prepare(own, output);
      own = output;
    }
    CombineInOrder(
        b_, [&](int rank) { return rank == b_.rank ? own : Piece(rank, b_.rank); }, result);
    b_.Copy(result, output);
  }

  ScheduleBuilder& b_;
  const uint64_t begin_, count_, room_;
};

}  // namespace

void SharedBarrier(ScheduleBuilder& b) {
  b.Raise();
  AwaitOthers(b, 1);
}

void SharedAllReduce(ScheduleBuilder& b) {
  const uint64_t bytes = b.call.bytes(), width = DTypeSize(b.call.dtype);
  const auto ranks = static_cast<uint64_t>(b.size);
  if (bytes * ranks <= kFlatBytes && bytes <= b.shared_bytes) return FlatAllReduce(b);
  // Pieces begin on cache lines.
  const uint64_t room = b.shared_bytes / ranks / 64 * 64;
  const uint64_t each = room / width * ranks;
  uint32_t raised = 0;
  for (uint64_t begin = 0; begin < b.call.count; begin += each, raised += 2) {
    SlicedRound(b, begin, std::min(b.call.count, begin + each), room).Write(raised);
  }
}

// Two halves of a slot by turns: what is overwritten was read before the round between raised.
void SharedAllGather(ScheduleBuilder& b) {
  const uint64_t block = b.call.bytes(), half = b.shared_bytes / 2;
  uint32_t raised = 0;
  for (uint64_t at = 0; raised == 0 || at < block; at += half) {
    const uint64_t bytes = std::min(half, block - at), begin = raised % 2 * half;
    b.Copy({Place::kInput, at, bytes}, Shared(b, b.rank, begin, bytes));
    b.Raise();
    ++raised;
    for (int distance = 0; distance < b.size; ++distance) {
      const int rank = (b.rank + distance) % b.size;
      if (distance > 0) b.AwaitRaised(rank, raised);
      b.Copy(Shared(b, rank, begin, bytes),
             {Place::kOutput, static_cast<uint64_t>(rank) * block + at, bytes});
    }
  }
}

}  // namespace hr::comm
