// All-reduce algorithms for powers of two. If the number of ranks is not one, the first ranks work
// in pairs, so that a power of two remains.
#include <bit>

#include "transport/collective/builder.h"
#include "transport/collective/ring.h"

namespace hr::collective {
namespace {

// Of the first 2 * extra ranks the odd ones give their input to the one below, sit out, and get the
// result from it.
class Folding {
 public:
  explicit Folding(ScheduleBuilder& b)
      : b_(b), places(static_cast<int>(std::bit_floor(static_cast<unsigned>(b.size)))) {}

  int extra() const { return b_.size - places; }
  // The place of this rank among those that stay.
  int place() const { return paired() ? b_.rank / 2 : b_.rank - extra(); }
  int RankAt(int place) const { return place < extra() ? 2 * place : place + extra(); }

  // Returns false if this rank sits out, and has nothing more to do. Otherwise `sum` is the sum of
  // the pair.
  // `other`: scratch of the same size, for those that stay in a pair.
  bool Begin(Slice sum, Slice other) {
    if (!paired()) return true;
    if (b_.rank % 2 == 1) {
      b_.Send(b_.rank - 1, sum);
      b_.AwaitAll();
      b_.Recv(b_.rank - 1, sum);
      return false;
    }
    b_.Await(b_.Recv(b_.rank + 1, other));
    b_.Combine(sum, other, sum);
    return true;
  }
  void End(Slice result) {
    if (paired()) b_.Send(b_.rank + 1, result);
  }

 private:
  bool paired() const { return b_.rank < 2 * extra(); }
  ScheduleBuilder& b_;

 public:
  const int places;
};

// A reduce-scatter by recursive halving, and the all-gather that undoes the halving. There are as
// many parts as places. A rank holds the parts [first, first + width): half as many at each level,
// and then twice as many again.
class Halving {
 public:
  // `from`: the place of the input; `other`: scratch of half its size, rounded up, or more.
  Halving(ScheduleBuilder& b, const Folding& folding, Place from, Slice other)
      : b_(b),
        folding_(folding),
        other_(other),
        from_(b.Whole(from).place),
        width_(folding.places) {}

  void Reduce() {
    while (width_ > 1) {
      width_ /= 2;
      const bool upper = (folding_.place() & width_) != 0;
      const int given = upper ? first_ : first_ + width_;
      if (upper) first_ += width_;
      Exchange(Parts(from_, given, width_), Parts(Place::kOutput, first_, width_), upper);
      from_ = Place::kOutput;
    }
    b_.Complete(Parts(Place::kOutput, first_, 1));
    b_.AwaitAll();  // what was given away is received into now
  }

  void Gather() {
    for (; width_ < folding_.places; width_ *= 2) {
      const int peer = Peer();
      const int theirs = first_ ^ width_;
      b_.Send(peer, Parts(Place::kOutput, first_, width_));
      b_.Await(b_.Recv(peer, Parts(Place::kOutput, theirs, width_)));
      first_ = std::min(first_, theirs);
    }
  }

 private:
  int Peer() const { return folding_.RankAt(folding_.place() ^ width_); }
  Slice Parts(Place place, int first, int width) const {
    const auto of = static_cast<uint64_t>(folding_.places);
    return b_.Elements(place, PartOf(b_.operation.count, first, of).begin,
                       PartOf(b_.operation.count, first + width - 1, of).end);
  }
  // `kept` becomes the sum of what both have of it, slice by slice as it comes.
  void Exchange(Slice given, Slice kept, bool upper) {
    const int peer = Peer();
    std::vector<uint32_t> received;
    auto theirs_of = [&](const Slice& slice) {
      return Slice{other_.place, other_.begin + slice.begin - kept.begin, slice.bytes};
    };
    const std::vector<Slice> slices = b_.Sliced(kept);
    for (const Slice& slice : slices) received.push_back(b_.Recv(peer, theirs_of(slice)));
    for (const Slice& slice : b_.Sliced(given)) b_.Send(peer, slice);
    size_t at = 0;
    for (const Slice& out : slices) {
      const Slice theirs = theirs_of(out), ours = {from_, out.begin, out.bytes};
      b_.Await(received[at++]);
      upper ? b_.Combine(theirs, ours, out) : b_.Combine(ours, theirs, out);
    }
  }

  ScheduleBuilder& b_;
  const Folding& folding_;
  const Slice other_;
  Place from_;
  int first_ = 0, width_;
};

}  // namespace

// All ranks hold the same bits after each level, since partners combine the same two values in the
// same order: the lower place's first.
void RecursiveDoublingAllReduce(ScheduleBuilder& b) {
  const Slice sum = b.Whole(Place::kOutput);
  b.Prepare(b.Whole(Place::kInput), sum);
  Folding folding(b);
  const Slice other = b.Scratch(sum.bytes);
  if (!folding.Begin(sum, other)) return;
  const int place = folding.place();
  for (int distance = 1; distance < folding.places; distance *= 2) {
    const int peer = folding.RankAt(place ^ distance);
    b.Send(peer, sum);
    b.Recv(peer, other);
    b.AwaitAll();
    (place & distance) == 0 ? b.Combine(sum, other, sum) : b.Combine(other, sum, sum);
  }
  b.Complete(sum);
  folding.End(sum);
}

// Rabenseifner, "Optimization of collective reduction operations" (2004).
void RabenseifnerAllReduce(ScheduleBuilder& b) {
  Folding folding(b);
  const Slice result = b.Whole(Place::kOutput);
  const bool direct = folding.extra() == 0 && folding.places > 1 &&
                      b.operation.reduce_op != ReduceOp::kPreMultipliedSum;
  if (!direct) b.Prepare(b.Whole(Place::kInput), result);
  // The lower half of the parts, of which the first may have an element more each.
  const uint64_t lower = std::max(folding.places / 2, 1) - 1;
  const uint64_t half =
      b.Elements(Place::kOutput, 0, PartOf(b.operation.count, lower, folding.places).end).bytes;
  const Slice other = b.Scratch(folding.extra() > 0 ? result.bytes : half);
  if (!folding.Begin(result, other)) return;
  Halving halving(b, folding, direct ? Place::kInput : Place::kOutput, other);
  halving.Reduce();
  halving.Gather();
  folding.End(result);
}

void RingAllReduce(ScheduleBuilder& b) {
  Place from = Place::kInput;
  if (b.operation.reduce_op == ReduceOp::kPreMultipliedSum || b.size == 1) {
    b.Prepare(b.Whole(Place::kInput), b.Whole(Place::kOutput));
    from = Place::kOutput;
  }
  auto part_in = [&b](Place place) {
    return [&b, place](int part) {
      const Part cut = PartOf(b.operation.count, part, b.size);
      return b.Elements(place, cut.begin, cut.end);
    };
  };
  AddRing(
      b,
      {.reduce = true, .gather = true, .input = part_in(from), .result = part_in(Place::kOutput)});
}

}  // namespace hr::collective
