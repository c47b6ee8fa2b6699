#include "transport/collective/planner.h"

#include <bit>

#include "transport/collective/builder.h"

namespace hr::comm {
namespace {

// What one rank does, at the critical path: messages one after the other, bytes sent, bytes
// reduced.
struct Effort {
  double messages, bytes, reduced;
  double Seconds(const CostModel& cost) const {
    return messages * cost.latency + bytes * cost.per_byte + reduced * cost.per_reduced_byte;
  }
};

struct Algorithm {
  OpKind kind;
  std::string_view name;
  void (*build)(ScheduleBuilder& b);
  Effort (*effort)(double bytes, double ranks);  // bytes as Call::bytes() counts
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
};

double Seconds(const Algorithm& algorithm, const Call& call, int size, const CostModel& cost) {
  return algorithm.effort(static_cast<double>(call.bytes()), size).Seconds(cost);
}

// The algorithms for a call, the cheapest first.
std::vector<const Algorithm*> Ranked(const Call& call, int size, const CostModel& cost) {
  std::vector<const Algorithm*> ranked;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.kind == call.kind) ranked.push_back(&algorithm);
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
                             "'; it has: ", known);
    }
    ScheduleBuilder builder(call, rank, size, cost.slice_bytes);
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
