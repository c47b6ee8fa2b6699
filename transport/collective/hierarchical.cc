// Inside each host by its quick links, between hosts by one rank of each, its leader, so that what
// leaves a host leaves it once.
#include <algorithm>

#include "transport/collective/builder.h"
#include "transport/collective/effort.h"

namespace hr::comm {
namespace {

struct Hosts {
  // `first_leader` leads its own host.
  Hosts(const ScheduleBuilder& b, int first_leader) {
    const std::vector<int>& hosts = b.cost.hosts;
    for (int rank = 0; rank < b.size; ++rank) {
      if (hosts[rank] == hosts[b.rank]) here.push_back(rank);
      const bool led = std::any_of(leaders.begin(), leaders.end(),
                                   [&](int leader) { return hosts[leader] == hosts[rank]; });
      if (!led) leaders.push_back(hosts[rank] == hosts[first_leader] ? first_leader : rank);
    }
    leader = *std::find_if(leaders.begin(), leaders.end(),
                           [&](int one) { return hosts[one] == hosts[b.rank]; });
    std::swap(*here.begin(), *std::find(here.begin(), here.end(), leader));
  }
  std::vector<int> here;  // the ranks of this host, its leader first
  std::vector<int> leaders;
  int leader = 0;
};

// The algorithms that are the quickest among so many leaders, or in a host.
using Build = void (*)(ScheduleBuilder& b);
struct Choice {
  Build build;
  double seconds;
};
Choice Quicker(Choice a, Choice b) { return b.seconds < a.seconds ? b : a; }

Choice AllReduceBetween(double x, double n, const CostModel& cost) {
  return Quicker({RecursiveDoublingAllReduce, Seconds(RecursiveDoublingEffort(x, n, cost), cost)},
                 Quicker({RingAllReduce, Seconds(RingEffort(x, n, cost), cost)},
                         {RabenseifnerAllReduce, Seconds(RabenseifnerEffort(x, n, cost), cost)}));
}
Choice BroadcastAmong(double x, double n, const CostModel& cost) {
  return Quicker({BinomialBroadcast, Seconds(BinomialEffort(x, n, cost), cost)},
                 {ChainBroadcast, Seconds(ChainEffort(x, n, cost), cost)});
}

CostModel Inside(const CostModel& cost) {
  CostModel inside = cost;
  inside.latency = cost.near_latency;
  inside.per_byte = cost.near_per_byte;
  return inside;
}

struct Numbers {
  explicit Numbers(const std::vector<int>& hosts) {
    std::vector<int> sorted = hosts;
    std::sort(sorted.begin(), sorted.end());
    for (auto at = sorted.begin(); at != sorted.end(); ++here) {
      const auto end = std::upper_bound(at, sorted.end(), *at);
      most = std::max(most, static_cast<double>(end - at));
      at = end;
    }
  }
  double here = 0;  // hosts
  double most = 0;  // ranks of a host
};

void BroadcastInside(ScheduleBuilder& b, const Hosts& hosts) {
  Call call = b.call;
  call.kind = OpKind::kBroadcast;
  call.peer = 0;
  ScheduleBuilder inside(b, call, hosts.here, true);
  const auto bytes = static_cast<double>(call.bytes());
  BroadcastAmong(bytes, inside.size, Inside(b.cost)).build(inside);
}

}  // namespace

double HierarchicalAllReduceSeconds(double x, double, const CostModel& cost) {
  const Numbers numbers(cost.hosts);
  const CostModel inside = Inside(cost);
  const double levels = Levels(numbers.most);
  return Seconds({levels, levels * x, levels * x}, inside) +
         AllReduceBetween(x, numbers.here, cost).seconds +
         BroadcastAmong(x, numbers.most, inside).seconds;
}

double HierarchicalBroadcastSeconds(double x, double, const CostModel& cost) {
  const Numbers numbers(cost.hosts);
  return BroadcastAmong(x, numbers.here, cost).seconds +
         BroadcastAmong(x, numbers.most, Inside(cost)).seconds;
}

// All ranks get the bits that the leaders have, which all have the same.
void HierarchicalAllReduce(ScheduleBuilder& b) {
  const Hosts hosts(b, 0);
  Call inside = b.call, between = b.call;
  inside.kind = OpKind::kReduce;
  inside.peer = 0;
  if (inside.reduce_op == ReduceOp::kAverage) inside.reduce_op = ReduceOp::kSum;
  if (between.reduce_op == ReduceOp::kPreMultipliedSum) between.reduce_op = ReduceOp::kSum;
  {
    ScheduleBuilder reduce(b, inside, hosts.here, false);
    BinomialReduce(reduce);
  }
  b.AwaitAll();
  if (b.rank == hosts.leader) {
    ScheduleBuilder leaders(b, between, hosts.leaders, true);
    AllReduceBetween(static_cast<double>(b.call.bytes()), leaders.size, b.cost).build(leaders);
    b.AwaitAll();
  }
  BroadcastInside(b, hosts);
}

void HierarchicalBroadcast(ScheduleBuilder& b) {
  const Hosts hosts(b, b.call.peer);
  if (b.rank == b.call.peer) b.Copy(b.Whole(Place::kInput), b.Whole(Place::kOutput));
  if (b.rank == hosts.leader) {
    Call call = b.call;
    call.peer = static_cast<int>(
        std::find(hosts.leaders.begin(), hosts.leaders.end(), b.call.peer) - hosts.leaders.begin());
    ScheduleBuilder leaders(b, call, hosts.leaders, true);
    BroadcastAmong(static_cast<double>(call.bytes()), leaders.size, b.cost).build(leaders);
    b.AwaitAll();
  }
  BroadcastInside(b, hosts);
}

}  // namespace hr::comm
