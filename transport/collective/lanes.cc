// Inside each host by its quick links, between hosts by all its ranks at once, each in a lane of
// its own: every byte leaves a host once, and no rank handles more than its share. In what they
// cost, all bytes that leave a host share its line.
#include "transport/collective/effort.h"
#include "transport/collective/hosts.h"
#include "transport/collective/ring.h"

namespace hr::collective {
namespace {

// Calls function(first) for each turn of this host. In a turn its n-th rank serves lane first + n,
// so a host with fewer ranks than there are lanes needs several turns.
template <typename Function>
void ForEachTurn(const Lanes& lanes, Function&& function) {
  for (int first = 0; first < lanes.count; first += lanes.here()) function(first);
}

struct Blocks {
  Slice Of(int rank) const {
    return rank < 0 ? Slice{} : Slice{all.place, all.begin + bytes * rank, bytes};
  }
  Slice all;
  uint64_t bytes;
};

}  // namespace

double HierarchicalAllGatherSeconds(double x, double n, const CostModel& cost) {
  const HostNumbers numbers(cost);
  const double steps = numbers.hosts * (numbers.most - 1);
  return Seconds({.waits = numbers.hosts - 1, .bytes = x * (n - numbers.most)}, cost) +
         Seconds({.waits = steps, .bytes = x * steps}, Inside(cost));
}

void HierarchicalAllGather(ScheduleBuilder& b) {
  const Lanes lanes(b);
  const uint64_t ranks = b.size;
  const Blocks blocks = {b.Elements(Place::kOutput, 0, b.operation.count * ranks),
                         b.operation.bytes()};
  b.Copy(b.Whole(Place::kInput), blocks.Of(b.rank));
  for (int lane = lanes.place; lane < lanes.count; lane += lanes.here()) {
    ScheduleBuilder between(b, b.operation, lanes.RanksOf(lane), true);
    AddRing(between, {.gather = true, .input = {}, .result = [&](int host) {
                        return blocks.Of(lanes.RankAt(host, lane));
                      }});
  }
  for (int host = 0; host < static_cast<int>(lanes.hosts.size()); ++host) {
    ForEachTurn(lanes, [&](int first) {
      ScheduleBuilder inside(b, b.operation, lanes.hosts[lanes.own], true);
      AddRing(inside, {.gather = true, .input = {}, .result = [&](int place) {
                         return blocks.Of(lanes.RankAt(host, first + place));
                       }});
    });
  }
}

double HierarchicalReduceScatterSeconds(double x, double n, const CostModel& cost) {
  const HostNumbers numbers(cost);
  const double steps = numbers.hosts * (numbers.most - 1);
  return Seconds({numbers.hosts - 1, x * (n - numbers.most), x * (numbers.hosts - 1)}, cost) +
         Seconds({.waits = steps, .bytes = x * steps, .reduced = x * steps}, Inside(cost));
}

void HierarchicalReduceScatter(ScheduleBuilder& b) {
  const Lanes lanes(b);
  const uint64_t ranks = b.size;
  const Blocks blocks = {PreparedBlocks(b, b.Elements(Place::kInput, 0, b.operation.count * ranks)),
                         b.operation.bytes()};
  // sums[r]: where this host's sum of rank r's block is, if r is in one of this rank's lanes.
  std::vector<Slice> sums(ranks);
  const Operation first_operation = Partly(b.operation), then_operation = Further(b.operation);
  for (int host = 0; host < static_cast<int>(lanes.hosts.size()); ++host) {
    ForEachTurn(lanes, [&](int first) {
      const int own = lanes.RankAt(host, first + lanes.place);
      if (own >= 0) sums[own] = lanes.here() == 1 ? blocks.Of(own) : b.Scratch(blocks.bytes);
      ScheduleBuilder inside(b, first_operation, lanes.hosts[lanes.own], false);
      AddRing(inside,
              {.reduce = true,
               .input = [&](int place) { return blocks.Of(lanes.RankAt(host, first + place)); },
               .result = [&](int) { return own < 0 ? Slice{} : sums[own]; }});
    });
  }
  for (int lane = lanes.place; lane < lanes.count; lane += lanes.here()) {
    ScheduleBuilder between(b, then_operation, lanes.RanksOf(lane), false);
    const bool ours = lanes.RankAt(lanes.own, lane) == b.rank;
    AddRing(between, {.reduce = true,
                      .input =
                          [&](int host) {
                            const int rank = lanes.RankAt(host, lane);
                            return rank < 0 ? Slice{} : sums[rank];
                          },
                      .result = [&](int) { return ours ? b.Whole(Place::kOutput) : Slice{}; }});
  }
}

double LanesAllReduceSeconds(double x, const CostModel& cost) {
  const HostNumbers numbers(cost);
  const double part = x / numbers.most, inside = x - part;
  const double between = x * (numbers.hosts - 1) / numbers.hosts;
  return Seconds({2 * (numbers.hosts - 1), 2 * between, between / numbers.most}, cost) +
         Seconds({2 * (numbers.most - 1), 2 * inside, inside}, Inside(cost));
}

// Each lane has a part of the whole, and each host reduces a part of the lane's. All ranks get the
// bits of the rank that reduced them.
void LanesAllReduce(ScheduleBuilder& b) {
  const Lanes lanes(b);
  const auto hosts = static_cast<uint64_t>(lanes.hosts.size());
  auto part_in = [&](Place place, int lane) {
    if (lane >= lanes.count) return Slice{};
    const Part cut = PartOf(b.operation.count, lane, lanes.count);
    return b.Elements(place, cut.begin, cut.end);
  };
  Place from = Place::kInput;
  if (b.operation.reduce_op == ReduceOp::kPreMultipliedSum || lanes.here() == 1) {
    b.Prepare(b.Whole(Place::kInput), b.Whole(Place::kOutput));
    from = Place::kOutput;
  }
  const Operation first_operation = Partly(b.operation), then_operation = Further(b.operation);
  ForEachTurn(lanes, [&](int first) {
    ScheduleBuilder inside(b, first_operation, lanes.hosts[lanes.own], false);
    AddRing(inside, {.reduce = true,
                     .input = [&](int place) { return part_in(from, first + place); },
                     .result = [&](int place) { return part_in(Place::kOutput, first + place); }});
  });
  for (int lane = lanes.place; lane < lanes.count; lane += lanes.here()) {
    ScheduleBuilder between(b, then_operation, lanes.RanksOf(lane), true);
    auto part_of = [&](int host) {
      const Part whole = PartOf(b.operation.count, lane, lanes.count);
      const Part cut = PartOf(whole.end - whole.begin, host, hosts);
      return b.Elements(Place::kOutput, whole.begin + cut.begin, whole.begin + cut.end);
    };
    AddRing(between, {.reduce = true, .gather = true, .input = part_of, .result = part_of});
  }
  b.AwaitAll();  // memory that is being sent may not be received into yet
  ForEachTurn(lanes, [&](int first) {
    ScheduleBuilder inside(b, b.operation, lanes.hosts[lanes.own], true);
    AddRing(inside, {.gather = true, .input = {}, .result = [&](int place) {
                       return part_in(Place::kOutput, first + place);
                     }});
  });
}

}  // namespace hr::collective
