// Algorithms over memory that all ranks share: each rank reads the others' data where it lies, so
// nothing is passed on. They end on no rank before every rank has raised in them, which SharedArea
// asks for.
#include <bit>
#include <utility>
#include <vector>

#include "transport/collective/builder.h"
#include "transport/collective/effort.h"

namespace hr::collective {
namespace {

// A rank writes at most this much before it tells the others: as much as stays in a core's own
// cache.
constexpr uint64_t kMaxStageBytes = 256 << 10;

// Larger operations pass stage by stage through the ranks' rings, at the same place in each. A rank
// is at most one stage ahead of what another one still reads in its ring, so a stage, or a row of
// stages that are written at once, may take half of it, even if those of two successive operations
// differ in size.
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

// What CombineInOrder gets.
struct Reduction {
  int raw = -1;     // the rank whose operand lies in the input, as it is; none if negative
  Slice sum, copy;  // get the result
  Slice between;    // for what is not yet all of it
};

// Reduces all ranks' operands in the order of ranks, so that all get the same bits. Only the first
// two may lie in `between`, and none where the sum does but the raw one.
template <typename Operand>
void CombineInOrder(ScheduleBuilder& b, const Reduction& to, Operand operand) {
  const bool multiplies = b.operation.reduce_op == ReduceOp::kPreMultipliedSum;
  Slice before = operand(0);
  for (int rank = 1; rank < b.size; ++rank) {
    const bool last = rank == b.size - 1;
    const bool multiply = multiplies && (rank == to.raw || (rank == 1 && to.raw == 0));
    Slice next = operand(rank);
    if (multiply && rank == to.raw) std::swap(before, next);  // a sum is the same both ways
    const Slice out = last ? to.sum : to.between;
    b.Combine(before, next, out,
              {.multiply = multiply,
               .divide = last && b.operation.reduce_op == ReduceOp::kAverage,
               .copy = last ? to.copy : Slice{}});
    before = out;
  }
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
  CombineInOrder(b, {.sum = sum, .between = sum}, part);
}

// One stage: every rank puts what the others need into its ring, one piece for each. They reduce
// their slices and write the results into the pieces, from which this rank takes them. So a line of
// the ring passes to and fro between two cores, each of which has it for itself when it writes: to
// write what another core still holds, because it has read it, takes ten times as long.
class SlicedRound {
 public:
  // Each round takes as many elements as have room: those of round r begin at r times as many.
  SlicedRound(ScheduleBuilder& b, const Stages& stages, uint64_t stage, uint64_t room,
              uint64_t round)
      : b_(b), stages_(stages), stage_(stage), room_(room) {
    const uint64_t each = room / DTypeSize(b.operation.dtype) * b.size;
    begin_ = round * each;
    count_ = std::min(b.operation.count - begin_, each);
  }

  void Give() {
    ForOthers([&](int rank) { b_.Prepare(SliceOf(Place::kInput, rank), Piece(b_.rank, rank)); });
    b_.Raise();
  }
  // `given`: how often the others have raised then.
  void Reduce(uint32_t given) {
    AwaitOthers(b_, given);
    const int first = b_.rank == 0 ? 1 : 0;
    const Slice own = SliceOf(Place::kInput, b_.rank), sum = SliceOf(Place::kOutput, b_.rank);
    const Slice piece = Piece(first, b_.rank);
    CombineInOrder(b_, {.raw = b_.rank, .sum = sum, .copy = piece, .between = piece},
                   [&](int rank) { return rank == b_.rank ? own : Piece(rank, b_.rank); });
    ForOthers([&](int rank) {
      if (rank != first) b_.Copy(sum, Piece(rank, b_.rank));
    });
    b_.Raise();
  }
  void Take(uint32_t reduced) {
    ForOthers([&](int rank) {
      b_.AwaitRaised(rank, reduced);
      b_.Copy(Piece(b_.rank, rank), SliceOf(Place::kOutput, rank));
    });
  }

 private:
  Slice SliceOf(Place place, int rank) const {
    const Part part = PartOf(count_, rank, b_.size);
    return b_.Elements(place, begin_ + part.begin, begin_ + part.end);
  }
  // Returns what lies in the ring of `owner` for another rank.
  Slice Piece(int owner, int rank) const {
    const auto number = static_cast<uint64_t>(rank < owner ? rank : rank - 1);
    return stages_.At(owner, stage_, number * room_, SliceOf(Place::kOutput, rank).bytes);
  }
  template <typename Visit>
  void ForOthers(Visit visit) {  // not all ranks the same one first
    for (int distance = 1; distance < b_.size; ++distance) {
      visit((b_.rank + distance) % b_.size);
    }
  }

  ScheduleBuilder& b_;
  const Stages& stages_;
  const uint64_t stage_, room_;
  uint64_t begin_, count_;
};

// Rounds [first, first + count). A rank does what needs no other rank in all of them before it
// waits for one: if it goes on only now and then, between steps of a graph, it waits seldom.
void WriteRounds(ScheduleBuilder& b, const Stages& stages, uint64_t room, uint64_t first,
                 uint64_t count) {
  std::vector<SlicedRound> rounds;
  for (uint64_t i = 0; i < count; ++i) rounds.emplace_back(b, stages, i, room, first + i);
  auto raised = static_cast<uint32_t>(2 * first);
  for (SlicedRound& round : rounds) round.Give();
  for (SlicedRound& round : rounds) round.Reduce(++raised);
  for (SlicedRound& round : rounds) round.Take(++raised);
}

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
  const Stages stages(b, (largest + kLine - 1) / kLine * kLine * (ranks - 1));
  const uint64_t room = stages.bytes / (ranks - 1) / kLine * kLine;
  const uint64_t each = room / width * ranks;
  const uint64_t rounds = (b.operation.count + each - 1) / each;
  const uint64_t most = std::min(std::bit_ceil(rounds), b.shared_bytes / 2 / stages.bytes);
  // Nobody else uses a rank's ring when it has taken its results, so the next rounds, and the next
  // operation, find the same stages in the core's cache.
  b.TakeRing(stages.bytes * most, 0);
  for (uint64_t first = 0; first < rounds; first += most) {
    WriteRounds(b, stages, room, first, std::min(most, rounds - first));
  }
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
