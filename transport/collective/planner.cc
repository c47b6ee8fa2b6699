#include "transport/collective/planner.h"

#include <bit>

#include "transport/collective/builder.h"

namespace hr::comm {
namespace {

// What one rank does, at the critical path: messages one after the other, bytes sent, bytes
// reduced. In shared memory: waits for other ranks, and bytes copied.
struct Effort {
  double messages, bytes, reduced;
};

struct Algorithm {
  OpKind kind;
  std::string_view name;
  void (*build)(ScheduleBuilder& b);
  Effort (*effort)(double bytes, double ranks);  // bytes as Call::bytes() counts
  bool shared = false;
};

double Levels(double ranks) { return std::bit_width(static_cast<unsigned>(ranks) - 1); }
Effort Star(double bytes, double ranks) { return {1, bytes * (ranks - 1), 0}; }

void BuildSend(ScheduleBuilder& b) { b.Send(b.call.peer, b.Whole(Place::kInput)); }
void BuildRecv(ScheduleBuilder& b) { b.Recv(b.call.peer, b.Whole(Place::kOutput)); }

constexpr Algorithm kAlgorithms[] = {
    {OpKind::kSend, "direct", BuildSend,
     [](double x, double) {
       return Effort{1, x, 0};
     }},
    {OpKind::kRecv, "direct", BuildRecv,
     [](double x, double) {
       return Effort{1, x, 0};
     }},
    {OpKind::kBarrier, "dissemination", DisseminationBarrier,
     [](double, double n) {
       return Effort{Levels(n), 0, 0};
     }},
    {OpKind::kBroadcast, "binomial", BinomialBroadcast,
     [](double x, double n) {
       return Effort{Levels(n), Levels(n) * x, 0};
     }},
    {OpKind::kBroadcast, "chain", ChainBroadcast,
     [](double x, double n) {
       return Effort{2 * n, x, 0};
     }},
    {OpKind::kReduce, "binomial", BinomialReduce,
     [](double x, double n) {
       return Effort{Levels(n), Levels(n) * x, Levels(n) * x};
     }},
    {OpKind::kAllReduce, "recursive_doubling", RecursiveDoublingAllReduce,
     [](double x, double n) {
       const double rounds = Levels(n) + (std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 1);
       return Effort{rounds, rounds * x, rounds * x};
     }},
    {OpKind::kAllReduce, "ring", RingAllReduce,
     [](double x, double n) {
       return Effort{2 * (n - 1), 2 * x * (n - 1) / n, x * (n - 1) / n};
     }},
    {OpKind::kGather, "star", StarGather, Star},
    {OpKind::kScatter, "star", StarScatter, Star},
    {OpKind::kAllGather, "ring", RingAllGather,
     [](double x, double n) {
       return Effort{n - 1, x * (n - 1), 0};
     }},
    {OpKind::kReduceScatter, "ring", RingReduceScatter,
     [](double x, double n) {
       return Effort{n - 1, x * (n - 1), x * (n - 1)};
     }},
    {OpKind::kAllToAll, "pairwise", PairwiseAllToAll, Star},
    {OpKind::kBarrier, "shared", SharedBarrier,
     [](double, double) {
       return Effort{1, 0, 0};
     },
     true},
    {OpKind::kAllReduce, "shared", SharedAllReduce,
     [](double x, double n) {
       return Effort{x * n > (16 << 10) ? 2.0 : 1.0, 2 * x * (n - 1) / n, x * (n - 1) / n};
     },
     true},
    {OpKind::kAllGather, "shared", SharedAllGather,
     [](double x, double n) {
       return Effort{1, x * (n + 1), 0};
     },
     true},
};

double Seconds(const Algorithm& algorithm, const Call& call, int size, const CostModel& cost) {
  const Effort effort = algorithm.effort(static_cast<double>(call.bytes()), size);
  const double latency = algorithm.shared ? cost.shared_latency : cost.latency;
  const double per_byte = algorithm.shared ? cost.shared_per_byte : cost.per_byte;
  return effort.messages * latency + effort.bytes * per_byte +
         effort.reduced * cost.per_reduced_byte;
}

// Whether there is shared memory for it, of which each rank needs some for every other.
bool Applies(const Algorithm& algorithm, int size, const CostModel& cost) {
  return !algorithm.shared || (size > 1 && cost.shared_bytes / static_cast<uint64_t>(size) >= 64);
}

// The algorithms for a call, the cheapest first.
std::vector<const Algorithm*> Ranked(const Call& call, int size, const CostModel& cost) {
  std::vector<const Algorithm*> ranked;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.kind == call.kind && Applies(algorithm, size, cost)) ranked.push_back(&algorithm);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Algorithm* a, const Algorithm* b) {
    return Seconds(*a, call, size, cost) < Seconds(*b, call, size, cost);
  });
  return ranked;
}

class CollectivePlanner final : public Planner {
 public:
  Result<Schedule> Plan(const Call& call, int rank, int size, const CostModel& cost,
                        std::string_view pinned) const override {
    const auto ranked = Ranked(call, size, cost);
    const Algorithm* chosen = ranked.front();
    std::string known;
    for (const Algorithm* algorithm : ranked) {
      if (algorithm->name == pinned) chosen = algorithm;
      known += Cat(known.empty() ? "" : ", ", algorithm->name);
    }
    if (!pinned.empty() && chosen->name != pinned) {
      return InvalidArgument(OpKindName(call.kind), " has no algorithm '", pinned,
                             "' in this group; it has: ", known);
    }
    ScheduleBuilder builder(call, rank, size, cost);
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

  std::vector<Estimate> Estimates(const Call& call, int size,
                                  const CostModel& cost) const override {
    std::vector<Estimate> estimates;
    for (const Algorithm* algorithm : Ranked(call, size, cost)) {
      estimates.push_back({algorithm->name, Seconds(*algorithm, call, size, cost)});
    }
    return estimates;
  }
};

}  // namespace

std::unique_ptr<Planner> CreatePlanner() { return std::make_unique<CollectivePlanner>(); }

}  // namespace hr::comm
