// Inside each host by its quick links, between hosts by one rank of each, its leader, so that what
// leaves a host leaves it once. Few messages; for much data see lanes.cc.
#include "transport/collective/effort.h"
#include "transport/collective/hosts.h"

namespace hr::collective {
namespace {

// An algorithm among the leaders or inside a host, and what it costs; the cheapest one is chosen.
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

void BroadcastInside(ScheduleBuilder& b, const Leaders& leaders) {
  Operation operation = b.operation;
  operation.kind = OpKind::kBroadcast;
  operation.peer = 0;
  ScheduleBuilder inside(b, operation, leaders.here, true);
  const auto bytes = static_cast<double>(operation.bytes());
  BroadcastAmong(bytes, inside.size, Inside(b.cost)).build(inside);
}

double LeadersAllReduceSeconds(double x, const CostModel& cost) {
  const HostNumbers numbers(cost);
  const CostModel inside = Inside(cost);
  return Seconds(BinomialReduceEffort(x, numbers.most, inside), inside) +
         AllReduceBetween(x, numbers.hosts, cost).seconds +
         BroadcastAmong(x, numbers.most, inside).seconds;
}

// All leaders end with the same bits, and the other ranks get these.
void LeadersAllReduce(ScheduleBuilder& b) {
  const Leaders leaders(b, 0);
  Operation first = Partly(b.operation);
  first.kind = OpKind::kReduce;
  first.peer = 0;
  {
    ScheduleBuilder inside(b, first, leaders.here, false);
    BinomialReduce(inside);
  }
  b.AwaitAll();
  if (leaders.leads(b.rank)) {
    const Operation then = Further(b.operation);
    ScheduleBuilder between(b, then, leaders.all, true);
    AllReduceBetween(static_cast<double>(b.operation.bytes()), between.size, b.cost).build(between);
    b.AwaitAll();
  }
  BroadcastInside(b, leaders);
}

}  // namespace

double HierarchicalAllReduceSeconds(double x, double, const CostModel& cost) {
  return std::min(LeadersAllReduceSeconds(x, cost), LanesAllReduceSeconds(x, cost));
}

void HierarchicalAllReduce(ScheduleBuilder& b) {
  const auto bytes = static_cast<double>(b.operation.bytes());
  LanesAllReduceSeconds(bytes, b.cost) < LeadersAllReduceSeconds(bytes, b.cost)
      ? LanesAllReduce(b)
      : LeadersAllReduce(b);
}

double HierarchicalBroadcastSeconds(double x, double, const CostModel& cost) {
  const HostNumbers numbers(cost);
  return BroadcastAmong(x, numbers.hosts, cost).seconds +
         BroadcastAmong(x, numbers.most, Inside(cost)).seconds;
}

void HierarchicalBroadcast(ScheduleBuilder& b) {
  const Leaders leaders(b, b.operation.peer);
  if (b.rank == b.operation.peer) b.Copy(b.Whole(Place::kInput), b.Whole(Place::kOutput));
  if (leaders.leads(b.rank)) {
    Operation operation = b.operation;
    operation.peer = leaders.PlaceOf(b.operation.peer);
    ScheduleBuilder between(b, operation, leaders.all, true);
    BroadcastAmong(static_cast<double>(operation.bytes()), between.size, b.cost).build(between);
    b.AwaitAll();
  }
  BroadcastInside(b, leaders);
}

double HierarchicalReduceSeconds(double x, double, const CostModel& cost) {
  const HostNumbers numbers(cost);
  const CostModel inside = Inside(cost);
  return Seconds(BinomialReduceEffort(x, numbers.most, inside), inside) +
         Seconds(BinomialReduceEffort(x, numbers.hosts, cost), cost);
}

void HierarchicalReduce(ScheduleBuilder& b) {
  const int root = b.operation.peer;
  const Leaders leaders(b, root);
  Slice sum = b.Whole(Place::kOutput);
  if (b.rank != root) sum = b.Scratch(sum.bytes);
  const Slice other = b.Scratch(sum.bytes);
  b.Prepare(b.Whole(Place::kInput), sum);
  Operation operation = b.operation;
  operation.peer = 0;
  {
    ScheduleBuilder inside(b, operation, leaders.here, false);
    ReduceToRoot(inside, sum, other);
  }
  if (!leaders.leads(b.rank)) return;
  operation.peer = leaders.PlaceOf(root);
  ScheduleBuilder between(b, operation, leaders.all, false);
  ReduceToRoot(between, sum, other);
  if (b.rank == root) b.Complete(sum);
}

double HierarchicalBarrierSeconds(double, double, const CostModel& cost) {
  return Seconds({.waits = 2}, Inside(cost)) +
         Seconds({.waits = Levels(HostNumbers(cost).hosts)}, cost);
}

void HierarchicalBarrier(ScheduleBuilder& b) {
  const Leaders leaders(b, 0);
  const int leader = leaders.here.front();
  if (b.rank != leader) {
    b.Signal(leader);
    b.Listen(leader);
    return;
  }
  for (int rank : leaders.here) {
    if (rank != leader) b.Listen(rank);
  }
  b.AwaitAll();
  {
    ScheduleBuilder between(b, b.operation, leaders.all, false);
    DisseminationBarrier(between);
  }
  for (int rank : leaders.here) {
    if (rank != leader) b.Signal(rank);
  }
}

}  // namespace hr::collective
