// Every algorithm against the definition of its operation, on simulated ranks: transfers end in
// random order and read or write memory as late as they may, so a schedule that reuses a buffer too
// early or waits in a circle is found.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "runtime/comm/reduce.h"
#include "runtime/comm/schedule.h"
#include "transport/collective/planner.h"

namespace hr::comm {
namespace {

struct Rank {
  Schedule schedule;
  std::vector<std::byte> input, output, scratch;
  std::byte* in = nullptr;
  std::byte* out = nullptr;
  size_t next = 0;
  uint32_t started = 0;
  std::vector<bool> ended;

  uint32_t raised = 0;
  // Of all ranks.
  std::byte* slots = nullptr;
  std::byte* rings = nullptr;
  uint64_t ring_at = 0, ring_bytes = 0;

  std::byte* At(const Slice& s) {
    switch (s.place) {
      case Place::kInput: return in + s.begin;
      case Place::kOutput: return out + s.begin;
      case Place::kScratch:
        EXPECT_LE(s.begin + s.bytes, schedule.scratch_bytes);
        return scratch.data() + s.begin;
      case Place::kSlot: return slots + s.begin;
      case Place::kRing: break;
    }
    const uint64_t begin = s.begin % ring_bytes + ring_at;
    EXPECT_LE(begin % ring_bytes + s.bytes, ring_bytes) << "it wraps";
    EXPECT_LE(begin % schedule.ring_stage + s.bytes, schedule.ring_stage);
    return rings + s.begin / ring_bytes * ring_bytes + begin % ring_bytes;
  }
};

class Simulation {
 public:
  Simulation(const Operation& operation, int size, std::string_view algorithm, bool in_place,
             unsigned seed, const CostModel& cost = {})
      : operation_(operation),
        size_(size),
        random_(seed),
        ranks_(size),
        slots_(size * kSlotBytes),
        rings_(size * cost.shared_bytes) {
    auto planner = collective::CreatePlanner();
    for (int r = 0; r < size; ++r) {
      Rank& rank = ranks_[r];
      rank.schedule = std::move(planner->Plan(operation, r, size, cost, algorithm)).value();
      const size_t width = DTypeSize(operation.dtype);
      rank.input.resize(operation.InputCount(r, size) * width + 1);
      rank.output.resize(
          std::max(operation.InputCount(r, size), operation.OutputCount(r, size)) * width + 1);
      rank.scratch.resize(rank.schedule.scratch_bytes + 1);
      rank.ended.resize(rank.schedule.transfers);
      rank.in = in_place ? rank.output.data() : rank.input.data();
      rank.out = rank.output.data();
      if (in_place && operation.kind == OpKind::kAllGather)
        rank.in = rank.out + r * operation.bytes();
      if (in_place && operation.kind == OpKind::kReduceScatter)
        rank.out = rank.in + r * operation.bytes();
      rank.slots = slots_.data();
      rank.rings = rings_.data();
      rank.ring_bytes = cost.shared_bytes;
      rank.ring_at = seed * rank.schedule.ring_stage;
    }
  }

  float* input(int rank) { return reinterpret_cast<float*>(ranks_[rank].in); }
  float* output(int rank) { return reinterpret_cast<float*>(ranks_[rank].out); }
  size_t InputCount(int rank) const { return operation_.InputCount(rank, size_); }

  // False where the ranks wait for each other for ever.
  bool Run() {
    std::vector<int> able;
    for (;;) {
      able.clear();
      for (int r = 0; r < size_; ++r) {
        if (CanStep(ranks_[r])) able.push_back(r);
      }
      std::vector<Pair*> matched;
      for (auto& [ranks, pair] : pairs_) {
        if (!pair.sends.empty() && !pair.receives.empty()) matched.push_back(&pair);
      }
      const size_t choices = able.size() + matched.size();
      if (choices == 0) break;
      const size_t choice = random_() % choices;
      choice < able.size() ? StepOne(able[choice]) : Move(*matched[choice - able.size()]);
    }
    for (Rank& rank : ranks_) {
      if (rank.next < rank.schedule.steps.size()) return false;
      if (rank.raised != rank.schedule.raises || rank.raised != ranks_[0].raised) return false;
      EXPECT_EQ(rank.schedule.ring_bytes, ranks_[0].schedule.ring_bytes);
    }
    return !ended_before_all_raised_;
  }

 private:
  struct Side {
    int rank;
    uint32_t transfer;
    Slice slice;
  };
  struct Pair {
    std::deque<Side> sends, receives;
  };

  bool CanStep(const Rank& rank) const {
    if (rank.next == rank.schedule.steps.size()) return false;
    const Step& step = rank.schedule.steps[rank.next];
    if (step.kind == Step::kAwaitRaised) return ranks_[step.peer].raised >= step.transfer;
    if (step.kind == Step::kAwait) return rank.ended[step.transfer];
    if (step.kind != Step::kAwaitAll) return true;
    for (uint32_t i = 0; i < rank.started; ++i) {
      if (!rank.ended[i]) return false;
    }
    return true;
  }

  void StepOne(int r) {
    Rank& rank = ranks_[r];
    const Step& step = rank.schedule.steps[rank.next++];
    const size_t count = step.out.bytes / DTypeSize(operation_.dtype);
    switch (step.kind) {
      case Step::kSend: pairs_[{r, step.peer}].sends.push_back({r, rank.started++, step.a}); return;
      case Step::kRecv:
        pairs_[{step.peer, r}].receives.push_back({r, rank.started++, step.out});
        return;
      case Step::kCombine: Reduce(rank, step, count); return;
      case Step::kMultiply:
        Multiply(operation_.dtype, rank.At(step.a), operation_.factor, rank.At(step.out), count);
        return;
      case Step::kDivide:
        Divide(operation_.dtype, rank.At(step.a), size_, rank.At(step.out), count);
        return;
      case Step::kCopy: std::memmove(rank.At(step.out), rank.At(step.a), step.out.bytes); return;
      case Step::kRaise: ++rank.raised; break;
      default: break;
    }
    if (rank.schedule.raises == 0 || rank.next < rank.schedule.steps.size()) return;
    for (const Rank& other : ranks_) ended_before_all_raised_ |= other.raised == 0;
  }

  void Reduce(Rank& rank, const Step& step, size_t count) {
    const DType dtype = operation_.dtype;
    std::vector<float> a(count);
    std::memcpy(a.data(), rank.At(step.a), step.out.bytes);
    if (step.fused.multiply) Multiply(dtype, a.data(), operation_.factor, a.data(), count);
    Combine(dtype, operation_.reduce_op, a.data(), rank.At(step.b), rank.At(step.out), count);
    if (step.fused.divide) Divide(dtype, rank.At(step.out), size_, rank.At(step.out), count);
    const Slice& copy = step.fused.copy;
    if (copy.bytes > 0) std::memcpy(rank.At(copy), rank.At(step.out), copy.bytes);
  }

  void Move(Pair& pair) {
    const Side from = pair.sends.front(), to = pair.receives.front();
    pair.sends.pop_front();
    pair.receives.pop_front();
    ASSERT_EQ(from.slice.bytes, to.slice.bytes);
    if (from.slice.bytes > 0) {
      std::memcpy(ranks_[to.rank].At(to.slice), ranks_[from.rank].At(from.slice), from.slice.bytes);
    }
    ranks_[from.rank].ended[from.transfer] = true;
    ranks_[to.rank].ended[to.transfer] = true;
  }

  const Operation operation_;
  const int size_;
  std::mt19937 random_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, Pair> pairs_;
  std::vector<std::byte> slots_, rings_;
  bool ended_before_all_raised_ = false;  // see SharedArea
};

// Small whole numbers, so that sums are exact in any order.
float Value(int rank, uint64_t i) { return static_cast<float>((rank * 7 + i * 3) % 11 + 1); }

float Expected(const Operation& operation, int size, int rank, uint64_t i) {
  auto reduced = [&](uint64_t at) {
    float sum = 0, product = 1, min = 1e9, max = -1e9;
    for (int r = 0; r < size; ++r) {
      const float v = Value(r, at);
      sum += v, product *= v, min = std::min(min, v), max = std::max(max, v);
    }
    switch (operation.reduce_op) {
      case ReduceOp::kSum: return sum;
      case ReduceOp::kProduct: return product;
      case ReduceOp::kMin: return min;
      case ReduceOp::kMax: return max;
      case ReduceOp::kAverage: return sum / static_cast<float>(size);
      case ReduceOp::kPreMultipliedSum: return sum * 0.5f;
    }
    return 0.0f;
  };
  const int block = static_cast<int>(operation.count == 0 ? 0 : i / operation.count);
  const uint64_t within = operation.count == 0 ? 0 : i % operation.count;
  switch (operation.kind) {
    case OpKind::kBroadcast: return Value(operation.peer, i);
    case OpKind::kReduce:
    case OpKind::kAllReduce: return reduced(i);
    case OpKind::kReduceScatter: return reduced(rank * operation.count + i);
    case OpKind::kGather:
    case OpKind::kAllGather: return Value(block, within);
    case OpKind::kScatter: return Value(operation.peer, rank * operation.count + i);
    case OpKind::kAllToAll: return Value(block, rank * operation.count + within);
    case OpKind::kExscan: {
      float sum = 0;
      for (int r = 0; r < rank; ++r) sum += Value(r, i);
      return sum;
    }
    default: return 0;
  }
}

void CheckOperation(Operation operation, int size, std::string_view algorithm, bool in_place,
                    unsigned seed, const CostModel& cost = {}) {
  operation.factor = 0.5;
  Simulation simulation(operation, size, algorithm, in_place, seed, cost);
  for (int r = 0; r < size; ++r) {
    for (uint64_t i = 0; i < simulation.InputCount(r); ++i) simulation.input(r)[i] = Value(r, i);
  }
  const std::string what =
      Cat(operation.Text(), " ", algorithm, " size ", size, " in place ", in_place);
  ASSERT_TRUE(simulation.Run()) << what << ": the ranks wait for each other";
  for (int r = 0; r < size; ++r) {
    for (uint64_t i = 0; i < operation.OutputCount(r, size); ++i) {
      const float expected = Expected(operation, size, r, i);
      ASSERT_EQ(simulation.output(r)[i], expected) << what << " rank " << r << " element " << i;
    }
  }
}

// Rings so small that large operations take many rounds.
const CostModel kShared = {.slice_bytes = 64, .shared_bytes = 4096};

struct Case {
  OpKind kind;
  const char* algorithm;
  bool in_place;
};
constexpr Case kCases[] = {
    {OpKind::kBarrier, "dissemination", false},
    {OpKind::kBroadcast, "binomial", false},
    {OpKind::kBroadcast, "binomial", true},
    {OpKind::kBroadcast, "chain", true},
    {OpKind::kBroadcast, "chain", false},
    {OpKind::kReduce, "binomial", false},
    {OpKind::kReduce, "binomial", true},
    {OpKind::kAllReduce, "recursive_doubling", false},
    {OpKind::kAllReduce, "recursive_doubling", true},
    {OpKind::kAllReduce, "rabenseifner", false},
    {OpKind::kAllReduce, "rabenseifner", true},
    {OpKind::kAllReduce, "ring", false},
    {OpKind::kAllReduce, "ring", true},
    {OpKind::kGather, "star", false},
    {OpKind::kAllGather, "ring", false},
    {OpKind::kAllGather, "ring", true},
    {OpKind::kScatter, "star", false},
    {OpKind::kReduceScatter, "ring", false},
    {OpKind::kReduceScatter, "ring", true},
    {OpKind::kAllToAll, "pairwise", false},
    {OpKind::kExscan, "doubling", false},
    {OpKind::kExscan, "doubling", true},
    {OpKind::kBarrier, "shared", false},
    {OpKind::kAllReduce, "shared", false},
    {OpKind::kAllReduce, "shared", true},
    {OpKind::kAllGather, "shared", false},
    {OpKind::kAllGather, "shared", true},
};
bool IsShared(const Case& c) { return c.algorithm == std::string_view("shared"); }

// Ranks that stand on several hosts in different ways.
const std::vector<std::vector<int>> kHosts = {{0, 0, 2},          {0, 1, 0, 1},
                                              {0, 0, 2, 2},       {0, 1, 2, 0, 1},
                                              {0, 0, 0, 0, 4, 5}, {0, 0, 0, 3, 3, 3, 6, 6, 6}};

struct HostsCase {
  OpKind kind;
  bool in_place;
};
constexpr HostsCase kHostsCases[] = {
    {OpKind::kBarrier, false},  {OpKind::kBroadcast, false},    {OpKind::kBroadcast, true},
    {OpKind::kReduce, false},   {OpKind::kReduce, true},        {OpKind::kAllReduce, false},
    {OpKind::kAllReduce, true}, {OpKind::kAllGather, false},    {OpKind::kReduceScatter, false},
    {OpKind::kAllGather, true}, {OpKind::kReduceScatter, true},
};

// Where messages are dear, what is made of few is taken; where bytes are, what moves few.
CostModel HostsCost(const std::vector<int>& hosts, uint64_t slice, bool messages_are_dear) {
  const double message = messages_are_dear ? 1 : 1e-9, byte = messages_are_dear ? 1e-9 : 1;
  return {.latency = message,
          .per_byte = byte,
          .near_latency = message,
          .near_per_byte = byte,
          .hosts = hosts,
          .slice_bytes = slice};
}

void CheckOnHosts(const HostsCase& c, uint64_t count, const CostModel& cost, unsigned& seed) {
  const int size = static_cast<int>(cost.hosts.size());
  Operation operation = {.kind = c.kind, .dtype = DType::kFloat32, .count = count};
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kPreMultipliedSum}) {
    operation.reduce_op = op;
    for (operation.peer = 0; operation.peer < (operation.rooted() ? size : 1); ++operation.peer) {
      CheckOperation(operation, size, "hierarchical", c.in_place, ++seed, cost);
      if (testing::Test::HasFatalFailure()) return;
    }
    if (!operation.reduces()) return;
  }
}

TEST(Schedules, HierarchicalOnesDoWhatTheirOperationSays) {
  unsigned seed = 1;
  for (const std::vector<int>& hosts : kHosts) {
    for (uint64_t slice : {64, 1 << 20}) {
      for (bool messages_are_dear : {false, true}) {
        const CostModel cost = HostsCost(hosts, slice, messages_are_dear);
        for (const HostsCase& c : kHostsCases) {
          for (uint64_t count : {0, 1, 5, 64, 1001}) {
            CheckOnHosts(c, count, cost, seed);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Between as many hosts as these, with such costs, it halves and doubles.
TEST(Schedules, HierarchicalOnesHalveAndDoubleBetweenHosts) {
  CostModel cost = HostsCost({0, 0, 2, 2, 4, 4, 6, 6}, 1 << 20, false);
  cost.latency = 3e-5;
  cost.per_byte = 8e-9;
  cost.near_latency = 1e-6;
  cost.near_per_byte = 1e-10;
  unsigned seed = 1;
  for (bool in_place : {false, true}) {
    for (uint64_t count : {4000, 16384, 50001}) {
      CheckOnHosts({OpKind::kAllReduce, in_place}, count, cost, seed);
    }
  }
}

// The parts of some ranks are longer than others', the more so the more ranks there are.
TEST(Schedules, HalvingManyRanksStaysWithinItsScratch) {
  unsigned seed = 1;
  for (int size : {32, 64, 65}) {
    for (uint64_t count : {95, 96, 111, 1007, 1008}) {
      const Operation operation = {
          .kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = count};
      CheckOperation(operation, size, "rabenseifner", false, ++seed);
      if (HasFatalFailure()) return;
    }
  }
}

// What would take a plan of hundreds of megabytes goes another way.
TEST(Schedules, PlansForManyRanksStaySmall) {
  const CostModel cost = {.shared_bytes = 256 << 10};  // what each of 64 ranks has
  Operation operation = {.kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = 1 << 28};
  auto schedule = collective::CreatePlanner()->Plan(operation, 0, 64, cost, "");
  ASSERT_TRUE(schedule.ok());
  EXPECT_NE(schedule->algorithm, "shared");
  EXPECT_LT(schedule->steps.size(), 100'000u);
  operation.count = 1 << 20;
  EXPECT_EQ(collective::CreatePlanner()->Plan(operation, 0, 64, cost, "")->algorithm, "shared");
}

// The bytes that a rank's schedule sends to ranks of other hosts.
uint64_t BytesOut(const Operation& operation, int rank, const CostModel& cost,
                  std::string_view algorithm) {
  const auto size = static_cast<int>(cost.hosts.size());
  auto schedule = collective::CreatePlanner()->Plan(operation, rank, size, cost, algorithm);
  uint64_t bytes = 0;
  for (const Step& step : schedule->steps) {
    const bool leaves = step.kind == Step::kSend && cost.hosts[step.peer] != cost.hosts[rank];
    if (leaves) bytes += step.a.bytes;
  }
  return bytes;
}

// What leaves a host leaves it once, through all of its ranks alike.
TEST(Schedules, LanesMoveNoMoreThanTheyMust) {
  const CostModel cost = HostsCost({0, 0, 0, 0, 4, 4, 4, 4}, 1 << 20, false);
  constexpr uint64_t kBytes = 1 << 20;
  for (int rank = 0; rank < 8; ++rank) {
    Operation operation = {.kind = OpKind::kAllGather, .dtype = DType::kUint8, .count = kBytes};
    EXPECT_EQ(BytesOut(operation, rank, cost, "hierarchical"), kBytes);
    EXPECT_EQ(BytesOut(operation, rank, cost, "ring"), rank % 4 == 3 ? 7 * kBytes : 0);
    operation.kind = OpKind::kReduceScatter;
    EXPECT_EQ(BytesOut(operation, rank, cost, "hierarchical"), kBytes);
    operation.kind = OpKind::kAllReduce;
    EXPECT_EQ(BytesOut(operation, rank, cost, "hierarchical"), kBytes / 4);
  }
}

TEST(Schedules, EveryAlgorithmDoesWhatItsOperationSays) {
  unsigned seed = 1;
  for (const Case& c : kCases) {
    for (int size : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      if (size == 1 && IsShared(c)) continue;
      for (uint64_t count : {0, 1, 2, 5, 64, 1000}) {
        for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kPreMultipliedSum,
                            ReduceOp::kMin, ReduceOp::kMax}) {
          const Operation operation = {.kind = c.kind,
                                       .dtype = DType::kFloat32,
                                       .count = count,
                                       .reduce_op = op,
                                       .peer = size / 2};
          CheckOperation(operation, size, c.algorithm, c.in_place, ++seed,
                         IsShared(c) ? kShared : CostModel());
          if (HasFatalFailure()) return;
          if (!operation.reduces() || operation.kind == OpKind::kExscan) break;
        }
      }
    }
  }
}

TEST(Schedules, SlicedTransfersInManyOrders) {
  // Parts of more than one slice, so that windows and slots are used again.
  for (const Case& c : kCases) {
    for (int size : {2, 3, 4, 5}) {
      for (uint64_t count : {47, 400, 1001}) {
        for (unsigned seed = 0; seed < 20; ++seed) {
          CheckOperation(
              {.kind = c.kind, .dtype = DType::kFloat32, .count = count, .peer = size - 1}, size,
              c.algorithm, c.in_place, seed, kShared);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Schedules, AllRanksGetTheSameBits) {
  for (const char* algorithm :
       {"recursive_doubling", "ring", "rabenseifner", "shared", "hierarchical"}) {
    for (int size : {2, 3, 4, 6, 7, 8, 9}) {
      CostModel cost = kShared;
      for (int r = 0; r < size; ++r) cost.hosts.push_back(r % 2);
      if (size % 2 == 0) cost.latency = cost.near_latency = 1;  // of leaders, else of lanes
      Simulation simulation({.kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = 501},
                            size, algorithm, false, 3, cost);
      std::mt19937 random(5);
      for (int r = 0; r < size; ++r) {
        for (int i = 0; i < 501; ++i) {
          simulation.input(r)[i] =
              std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 60) - 40);
          if (i == 500) {  // NaNs whose payload says whose they are
            const uint32_t nan = 0x7fc00000u + static_cast<uint32_t>(r);
            std::memcpy(&simulation.input(r)[i], &nan, sizeof nan);
          }
        }
      }
      ASSERT_TRUE(simulation.Run());
      for (int r = 1; r < size; ++r) {
        ASSERT_EQ(std::memcmp(simulation.output(0), simulation.output(r), 501 * sizeof(float)), 0)
            << algorithm << " " << size;
      }
    }
  }
}

// The ranks that read or write each line of the rings in an all-reduce: by the line's number.
std::map<uint64_t, std::set<int>> UsersOfRings(uint64_t count, int size, const CostModel& cost) {
  constexpr uint64_t kLine = 64;
  const Operation operation = {
      .kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = count};
  std::map<uint64_t, std::set<int>> users;
  for (int rank = 0; rank < size; ++rank) {
    const auto schedule =
        collective::CreatePlanner()->Plan(operation, rank, size, cost, "shared").value();
    for (const Step& step : schedule.steps) {
      for (const Slice& slice : {step.a, step.b, step.out, step.fused.copy}) {
        if (slice.place != Place::kRing) continue;
        for (uint64_t at = slice.begin / kLine * kLine; at < slice.begin + slice.bytes; at += kLine)
          users[at / kLine].insert(rank);
      }
    }
  }
  return users;
}

// What a third one had read would be dear to write.
TEST(Schedules, LinesOfSharedRingsPassBetweenTwoRanks) {
  for (int size : {2, 3, 5, 8}) {
    const auto users = UsersOfRings(5001, size, kShared);
    EXPECT_FALSE(users.empty());
    for (const auto& [line, ranks] : users) ASSERT_EQ(ranks.size(), 2u) << size << " " << line;
  }
}

// A rank that goes on between the steps of a graph waits twice for the other one, not twice for
// each stage.
TEST(Schedules, RanksThatShareMemoryDoAllTheyCanBeforeTheyWait) {
  const CostModel cost = {.shared_bytes = 2 << 20};
  const Operation operation = {
      .kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = 500'000};
  const auto schedule = collective::CreatePlanner()->Plan(operation, 0, 2, cost, "shared").value();
  uint64_t given = 0;
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::kAwaitRaised) break;
    if (step.kind == Step::kCopy) given += step.out.bytes;
  }
  EXPECT_EQ(given, operation.bytes() / 2);
}

TEST(Schedules, SharedMemoryIsUsedWhereThereIsSome) {
  auto planner = collective::CreatePlanner();
  const Operation operation = {.kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = 4};
  EXPECT_FALSE(planner->Plan(operation, 0, 2, {}, "shared").ok());
  EXPECT_FALSE(planner->Plan(operation, 0, 1, kShared, "shared").ok());
  EXPECT_FALSE(planner->Plan(operation, 0, 100, kShared, "shared").ok()) << "rings are too small";
  EXPECT_EQ(planner->Plan(operation, 0, 2, kShared, "").value().algorithm, "shared");
}

TEST(Schedules, UnknownAlgorithmNamesTheKnownOnes) {
  auto schedule = collective::CreatePlanner()->Plan(
      {.kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = 4}, 0, 2, {}, "magic");
  ASSERT_FALSE(schedule.ok());
  EXPECT_NE(schedule.status().message().find("ring"), std::string_view::npos);
}

// The cheapest algorithm.
std::string_view Cheapest(uint64_t bytes, int ranks, const CostModel& cost = {},
                          OpKind kind = OpKind::kAllReduce) {
  const Operation operation = {.kind = kind, .dtype = DType::kUint8, .count = bytes};
  return collective::CreatePlanner()->Estimates(operation, ranks, cost).front().algorithm;
}

TEST(Schedules, TheCostModelPrefersFewMessagesForSmallAndFewBytesForLarge) {
  EXPECT_EQ(Cheapest(4, 8), "recursive_doubling");
  EXPECT_EQ(Cheapest(64 << 10, 8), "rabenseifner");
  EXPECT_EQ(Cheapest(64 << 20, 6), "ring");
  EXPECT_EQ(Cheapest(64 << 20, 2), "ring") << "Rabenseifner's is the same for two";
}

TEST(Schedules, TheCostModelKeepsInsideHostsWhatItCan) {
  CostModel cost = {.latency = 3e-5,  // gigabit Ethernet
                    .per_byte = 8e-9,
                    .near_latency = 5e-7,
                    .near_per_byte = 1e-10,
                    .hosts = {0, 0, 2, 2}};
  EXPECT_EQ(Cheapest(4, 4, cost), "hierarchical");
  EXPECT_EQ(Cheapest(64 << 20, 4, cost), "hierarchical");
  for (OpKind kind :
       {OpKind::kBarrier, OpKind::kReduce, OpKind::kAllGather, OpKind::kReduceScatter}) {
    EXPECT_EQ(Cheapest(4, 4, cost, kind), "hierarchical");
    EXPECT_EQ(Cheapest(64 << 20, 4, cost, kind), "hierarchical");
  }
  cost.near_latency = cost.latency, cost.near_per_byte = cost.per_byte;
  EXPECT_NE(Cheapest(4, 4, cost), "hierarchical");
  EXPECT_NE(Cheapest(64 << 20, 4, cost), "hierarchical");
}

}  // namespace
}  // namespace hr::comm
