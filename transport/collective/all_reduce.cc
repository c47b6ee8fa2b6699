#include <bit>

#include "transport/collective/builder.h"
#include "transport/collective/ring.h"

namespace hr::comm {

// All ranks hold the same bits after each level, since partners combine the same two values in the
// same order: the lower rank's first.
void RecursiveDoublingAllReduce(ScheduleBuilder& b) {
  const Slice sum = b.Whole(Place::kOutput);
  const Slice other = b.Scratch(sum.bytes);
  b.Prepare(b.Whole(Place::kInput), sum);
  // Where ranks are no power of two, the first 2 * extra ones work in pairs: the odd one sits out.
  const int doubling = static_cast<int>(std::bit_floor(static_cast<unsigned>(b.size)));
  const int extra = b.size - doubling;
  const bool paired = b.rank < 2 * extra;
  if (paired && b.rank % 2 == 1) {
    b.Send(b.rank - 1, sum);
    b.AwaitAll();
    b.Recv(b.rank - 1, sum);
    return;
  }
  if (paired) {
    b.Await(b.Recv(b.rank + 1, other));
    b.Combine(sum, other, sum);
  }
  const int place = paired ? b.rank / 2 : b.rank - extra;
  for (int distance = 1; distance < doubling; distance *= 2) {
    const int partner = place ^ distance;
    const int peer = partner < extra ? 2 * partner : partner + extra;
    b.Send(peer, sum);
    b.Recv(peer, other);
    b.AwaitAll();
    place < partner ? b.Combine(sum, other, sum) : b.Combine(other, sum, sum);
  }
  b.Complete(sum);
  if (paired) b.Send(b.rank + 1, sum);
}

void RingAllReduce(ScheduleBuilder& b) {
  Place from = Place::kInput;
  if (b.call.reduce_op == ReduceOp::kPreMultipliedSum || b.size == 1) {
    b.Prepare(b.Whole(Place::kInput), b.Whole(Place::kOutput));
    from = Place::kOutput;
  }
  auto part_in = [&b](Place place) {
    return [&b, place](int part) {
      const Part cut = PartOf(b.call.count, part, b.size);
      return b.Elements(place, cut.begin, cut.end);
    };
  };
  AddRing(
      b,
      {.reduce = true, .gather = true, .input = part_in(from), .result = part_in(Place::kOutput)});
}

}  // namespace hr::comm
