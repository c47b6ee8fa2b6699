#include "transport/collective/planner.h"

#include "transport/collective/builder.h"
#include "transport/collective/effort.h"

namespace hr::collective {
namespace {

// What a group must have to run an algorithm.
enum Demand { kNothing, kSharedMemory, kHosts };

struct Algorithm {
  OpKind kind;
  std::string_view name;
  void (*build)(ScheduleBuilder& b);
  // Returns the cost of an operation on so many bytes, as Operation::bytes() counts.
  double (*seconds)(double bytes, double ranks, const CostModel& cost);
  Demand demand = kNothing;
};

template <Effort (*kEffort)(double, double, const CostModel&)>
double ByMessages(double x, double n, const CostModel& cost) {
  return Seconds(kEffort(x, n, cost), cost);
}

double Star(double x, double n, const CostModel& cost) {
  return Seconds({.waits = 1, .bytes = x * (n - 1)}, cost);
}
double Direct(double x, double, const CostModel& cost) {
  return Seconds({.waits = 1, .bytes = x}, cost);
}

// An empty message is sent, too.
void BuildSend(ScheduleBuilder& b) { b.Signal(b.operation.peer, b.Whole(Place::kInput)); }
void BuildRecv(ScheduleBuilder& b) { b.Listen(b.operation.peer, b.Whole(Place::kOutput)); }

constexpr Algorithm kAlgorithms[] = {
    {OpKind::kSend, "direct", BuildSend, Direct},
    {OpKind::kRecv, "direct", BuildRecv, Direct},
    {OpKind::kBarrier, "dissemination", DisseminationBarrier,
     [](double, double n, const CostModel& cost) { return Seconds({.waits = Levels(n)}, cost); }},
    {OpKind::kBarrier, "hierarchical", HierarchicalBarrier, HierarchicalBarrierSeconds, kHosts},
    {OpKind::kBroadcast, "binomial", BinomialBroadcast, ByMessages<BinomialEffort>},
    {OpKind::kBroadcast, "chain", ChainBroadcast, ByMessages<ChainEffort>},
    {OpKind::kBroadcast, "hierarchical", HierarchicalBroadcast, HierarchicalBroadcastSeconds,
     kHosts},
    {OpKind::kReduce, "binomial", BinomialReduce, ByMessages<BinomialReduceEffort>},
    {OpKind::kReduce, "hierarchical", HierarchicalReduce, HierarchicalReduceSeconds, kHosts},
    {OpKind::kAllReduce, "recursive_doubling", RecursiveDoublingAllReduce,
     ByMessages<RecursiveDoublingEffort>},
    {OpKind::kAllReduce, "ring", RingAllReduce, ByMessages<RingEffort>},
    {OpKind::kAllReduce, "rabenseifner", RabenseifnerAllReduce, ByMessages<RabenseifnerEffort>},
    {OpKind::kAllReduce, "hierarchical", HierarchicalAllReduce, HierarchicalAllReduceSeconds,
     kHosts},
    {OpKind::kGather, "star", StarGather, Star},
    {OpKind::kScatter, "star", StarScatter, Star},
    {OpKind::kAllGather, "ring", RingAllGather,
     [](double x, double n, const CostModel& cost) {
       return Seconds({.waits = n - 1, .bytes = x * (n - 1)}, cost);
     }},
    {OpKind::kAllGather, "hierarchical", HierarchicalAllGather, HierarchicalAllGatherSeconds,
     kHosts},
    {OpKind::kReduceScatter, "ring", RingReduceScatter,
     [](double x, double n, const CostModel& cost) {
       return Seconds({n - 1, x * (n - 1), x * (n - 1)}, cost);
     }},
    {OpKind::kReduceScatter, "hierarchical", HierarchicalReduceScatter,
     HierarchicalReduceScatterSeconds, kHosts},
    {OpKind::kAllToAll, "pairwise", PairwiseAllToAll, Star},
    {OpKind::kExscan, "doubling", DoublingExscan, ByMessages<BinomialReduceEffort>},
    {OpKind::kBarrier, "shared", SharedBarrier,
     [](double, double, const CostModel& cost) { return SharedSeconds({.waits = 1}, cost); },
     kSharedMemory},
    {OpKind::kAllReduce, "shared", SharedAllReduce, SharedAllReduceSeconds, kSharedMemory},
    {OpKind::kAllGather, "shared", SharedAllGather,
     [](double x, double n, const CostModel& cost) {
       return SharedSeconds({.waits = 1, .bytes = x * (n + 1)}, cost);
     },
     kSharedMemory},
};

double SecondsOf(const Algorithm& algorithm, const Operation& operation, int size,
                 const CostModel& cost) {
  return algorithm.seconds(static_cast<double>(operation.bytes()), size, cost);
}

bool Applies(const Algorithm& algorithm, int size, const CostModel& cost) {
  switch (algorithm.demand) {
    case kNothing: return true;
    // A stage holds some bytes of each rank for every other.
    case kSharedMemory: return size > 1 && cost.shared_bytes / static_cast<uint64_t>(size) >= 256;
    case kHosts: return !cost.hosts.empty();
  }
  return false;
}

// Returns whether a plan would be too long. In shared memory each stage has steps for every rank,
// and the more ranks there are, the smaller the stages: a plan for a gigabyte among a hundred ranks
// would itself take gigabytes.
bool IsTooLong(const Algorithm& algorithm, const Operation& operation, int size,
               const CostModel& cost) {
  constexpr double kMostTurns = 1 << 15;
  if (algorithm.demand != kSharedMemory) return false;
  const auto stage = static_cast<double>(std::max(SharedStageBytes(cost), uint64_t{1}));
  return static_cast<double>(operation.bytes()) / stage * size > kMostTurns;
}

// Returns the algorithms for a call, the cheapest first. The pinned one is among them even if it
// would not be chosen.
std::vector<const Algorithm*> Ranked(const Operation& operation, int size, const CostModel& cost,
                                     std::string_view pinned) {
  std::vector<const Algorithm*> ranked;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.kind != operation.kind || !Applies(algorithm, size, cost)) continue;
    if (algorithm.name != pinned && IsTooLong(algorithm, operation, size, cost)) continue;
    ranked.push_back(&algorithm);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Algorithm* a, const Algorithm* b) {
    return SecondsOf(*a, operation, size, cost) < SecondsOf(*b, operation, size, cost);
  });
  return ranked;
}

class CollectivePlanner final : public comm::Planner {
 public:
  Result<Schedule> Plan(const Operation& operation, int rank, int size, const CostModel& cost,
                        std::string_view pinned) const override {
    const auto ranked = Ranked(operation, size, cost, pinned);
    const Algorithm* chosen = ranked.front();
    std::string known;
    for (const Algorithm* algorithm : ranked) {
      if (algorithm->name == pinned) chosen = algorithm;
      known += Cat(known.empty() ? "" : ", ", algorithm->name);
    }
    if (!pinned.empty() && chosen->name != pinned) {
      return InvalidArgument(OpKindName(operation.kind), " has no algorithm '", pinned,
                             "' in this group; it has: ", known);
    }
    ScheduleBuilder builder(operation, rank, size, cost);
    chosen->build(builder);
    return builder.Take(std::string(chosen->name));
  }

  std::vector<std::string_view> Algorithms(OpKind kind) const override {
    std::vector<std::string_view> names;
    for (const Algorithm& algorithm : kAlgorithms) {
      if (algorithm.kind == kind) names.push_back(algorithm.name);
    }
    return names;
  }

  std::string_view WhyNot(OpKind kind, std::string_view name) const override {
    for (const Algorithm& algorithm : kAlgorithms) {
      if (algorithm.kind != kind || algorithm.name != name) continue;
      if (algorithm.demand == kHosts) return "are not on several hosts, several on one of them";
    }
    return "share no memory";
  }

  std::vector<comm::Estimate> Estimates(const Operation& operation, int size,
                                        const CostModel& cost) const override {
    std::vector<comm::Estimate> estimates;
    for (const Algorithm* algorithm : Ranked(operation, size, cost, "")) {
      estimates.push_back({algorithm->name, SecondsOf(*algorithm, operation, size, cost)});
    }
    return estimates;
  }
};

}  // namespace

std::unique_ptr<comm::Planner> CreatePlanner() { return std::make_unique<CollectivePlanner>(); }

}  // namespace hr::collective
