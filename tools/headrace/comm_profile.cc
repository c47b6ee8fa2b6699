#include "tools/headrace/comm_profile.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <map>
#include <set>

#include "tools/headrace/output.h"
#include "tools/headrace/profile_report.h"

namespace headrace::tool {
namespace {

constexpr int kRoundTrips = 64;
constexpr size_t kWaitsLane = 1000;  // above those of threads

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool Is(const Json& step, const char* part) {
  return step["kernel"].get_ref<const std::string&>().find(part) != std::string::npos;
}

// An operation as one rank saw it.
struct Operation {
  std::string node;
  int64_t started = 0;
  int64_t wait_begin = 0, wait_end = 0;
};

int64_t BeginOf(const RankRuns& rank, size_t run) {
  return rank.runs[run]["begin"].get<int64_t>() + rank.shift;
}

// In the order in which they started.
std::vector<Operation> OperationsOf(const RankRuns& rank, size_t run) {
  const int64_t zero = BeginOf(rank, run);
  std::vector<Operation> out;
  for (const Json& step : rank.runs[run]["steps"]) {
    const int64_t begin = zero + step["begin"].get<int64_t>();
    if (Is(step, "+start")) out.push_back({.node = step["node"], .started = begin});
    if (!Is(step, "+wait")) continue;
    const std::string node = step["node"];
    for (Operation& one : out) {
      if (one.node != node || one.wait_end != 0) continue;
      one.wait_begin = begin;
      one.wait_end = zero + step["end"].get<int64_t>();
      break;
    }
  }
  return out;
}

// The operations of a run by rank, the same ones in the same order on all; those that not all ranks
// have, such as messages, are left out.
std::vector<std::vector<Operation>> CommonOperations(const std::vector<RankRuns>& ranks,
                                                     size_t run) {
  std::vector<std::vector<Operation>> out;
  std::vector<std::map<std::string, int>> counts;
  for (const RankRuns& rank : ranks) {
    out.push_back(OperationsOf(rank, run));
    counts.emplace_back();
    for (const Operation& one : out.back()) ++counts.back()[one.node];
  }
  for (auto& of_rank : out) {
    std::erase_if(of_rank, [&](const Operation& one) {
      return std::any_of(counts.begin(), counts.end(),
                         [&](auto& count) { return count[one.node] != counts[0][one.node]; });
    });
  }
  return out;
}

double Milliseconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-6; }

// What a rank does in a run, on average, in milliseconds.
struct Sums {
  double run = 0, computes = 0, starts = 0, for_ranks = 0, for_data = 0;
  std::vector<double> for_rank;         // that came last
  std::map<std::string, double> nodes;  // in which it waited for ranks

  double between() const { return run - computes - starts - for_ranks - for_data; }
};

void AddSteps(const Json& profile, double part, Sums* sums) {
  sums->run += part * profile["nanoseconds"].get<double>() * 1e-6;
  for (const Json& step : profile["steps"]) {
    const int64_t taken = step["end"].get<int64_t>() - step["begin"].get<int64_t>();
    if (Is(step, "+wait")) continue;
    (Is(step, "+start") ? sums->starts : sums->computes) += part * Milliseconds(taken);
  }
}

std::vector<Sums> SumsOf(const std::vector<RankRuns>& ranks) {
  std::vector<Sums> out(ranks.size());
  const size_t runs = ranks[0].runs.size();
  const double part = 1 / static_cast<double>(runs);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    out[rank].for_rank.resize(ranks.size());
    for (const Json& profile : ranks[rank].runs) AddSteps(profile, part, &out[rank]);
  }
  for (size_t run = 0; run < runs; ++run) {
    for (const RankWait& wait : WaitsOf(ranks, run)) {
      Sums& sums = out[wait.rank];
      const double for_rank = part * Milliseconds(wait.came - wait.begin);
      sums.for_ranks += for_rank;
      sums.for_rank[wait.last] += for_rank;
      sums.nodes[wait.node] += for_rank;
      sums.for_data += part * Milliseconds(wait.end - wait.came);
    }
  }
  return out;
}

std::string Format(double ms) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", ms);
  return text;
}

std::string MostIn(const std::map<std::string, double>& nodes) {
  return std::max_element(nodes.begin(), nodes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// The rank for which the others waited longest, and how long.
std::pair<size_t, double> LastOf(const std::vector<Sums>& sums) {
  std::vector<double> all(sums.size());
  for (const Sums& one : sums) {
    for (size_t rank = 0; rank < all.size(); ++rank) all[rank] += one.for_rank[rank];
  }
  const auto most = std::max_element(all.begin(), all.end());
  return {static_cast<size_t>(most - all.begin()), *most};
}

size_t MedianRun(const std::vector<RankRuns>& ranks) {
  std::vector<std::pair<int64_t, size_t>> slowest;
  for (size_t run = 0; run < ranks[0].runs.size(); ++run) {
    slowest.push_back({0, run});
    for (const RankRuns& rank : ranks) {
      slowest.back().first =
          std::max(slowest.back().first, rank.runs[run]["nanoseconds"].get<int64_t>());
    }
  }
  std::sort(slowest.begin(), slowest.end());
  return slowest[(slowest.size() - 1) / 2].second;
}

Json Event(const char* phase, const std::string& name, size_t rank, size_t lane) {
  return {{"ph", phase}, {"name", name}, {"pid", rank}, {"tid", lane}};
}

Json Named(const char* what, const std::string& name, size_t rank, size_t lane) {
  Json out = Event("M", what, rank, lane);
  out["args"] = {{"name", name}};
  return out;
}

void AddWait(const std::string& name, const std::string& node, size_t rank, int64_t begin,
             int64_t end, Json* events) {
  if (begin >= end) return;
  Json out = Event("X", name, rank, kWaitsLane);
  out["ts"] = static_cast<double>(begin) * 1e-3;
  out["dur"] = static_cast<double>(end - begin) * 1e-3;
  out["args"] = {{"node", node}};
  events->push_back(std::move(out));
}

// Those in flight at one time lie above each other, in a lane of their own.
void AddOperation(const Operation& one, size_t rank, size_t number, int64_t zero, Json* events) {
  for (const char* phase : {"b", "e"}) {
    Json out = Event(phase, one.node, rank, 0);
    out["cat"] = "operations";
    out["id"] = std::to_string(rank) + "/" + std::to_string(number);
    out["ts"] = static_cast<double>((*phase == 'b' ? one.started : one.wait_end) - zero) * 1e-3;
    events->push_back(std::move(out));
  }
}

}  // namespace

ProfiledRanks::ProfiledRanks(const hr::Env& env) : group_(env) { CompareClocks(); }

std::unique_ptr<ProfiledRanks> ProfiledRanks::Join(Measured& measured) {
  hr_launch* launch;
  hr::check(hr_launch_from_environment(&launch));
  const int32_t launched = hr_launch_size(launch);
  hr_launch_release(launch);
  if (launched < 2) return nullptr;
  std::unique_ptr<ProfiledRanks> out(new ProfiledRanks(measured.env()));
  const hr::Graph graph(measured.model());
  std::set<std::string> names;
  for (hr_node node = 0; node < graph.info().node_count; ++node) {
    const std::string op = graph.node(node).op;
    if (op.starts_with("headrace.comm.")) names.insert(graph.string_of(node, "group"));
  }
  for (const std::string& name : names) {
    measured.session().bind_group(name, out->group_);
    measured.session().broadcast(name);
  }
  return out;
}

// A rank's clock is read halfway between a question and its answer, of the quickest of some.
void ProfiledRanks::CompareClocks() {
  const int32_t own = group_.rank();
  if (own == 0) ranks_.resize(static_cast<size_t>(group_.size()));
  for (int32_t other = 1; other < group_.size(); ++other) {
    int64_t quickest = INT64_MAX, theirs = 0;
    for (int i = 0; i < kRoundTrips && (own == 0 || own == other); ++i) {
      int64_t asked = Now();
      if (own != 0) {
        group_.recv(&asked, 1, 0);
        theirs = Now();
        group_.send(&theirs, 1, 0);
        continue;
      }
      group_.send(&asked, 1, other);
      group_.recv(&theirs, 1, other);
      const int64_t taken = Now() - asked;
      if (taken >= quickest) continue;
      quickest = taken;
      RankRuns& rank = ranks_[static_cast<size_t>(other)];
      rank.shift = asked + taken / 2 - theirs;
      rank.uncertainty = taken / 2;
    }
  }
}

std::vector<RankRuns> ProfiledRanks::Gather(const std::vector<Json>& own) {
  if (!is_first()) {
    const std::string text = Json(own).dump();
    const auto bytes = static_cast<int64_t>(text.size());
    group_.send(&bytes, 1, 0);
    group_.send(reinterpret_cast<const uint8_t*>(text.data()), text.size(), 0);
    return {};
  }
  std::vector<RankRuns> out = ranks_;
  out[0].runs = own;
  for (int32_t other = 1; other < group_.size(); ++other) {
    int64_t bytes = 0;
    group_.recv(&bytes, 1, other);
    std::string text(static_cast<size_t>(bytes), '\0');
    group_.recv(reinterpret_cast<uint8_t*>(text.data()), text.size(), other);
    out[static_cast<size_t>(other)].runs = Json::parse(text).get<std::vector<Json>>();
  }
  return out;
}

std::vector<RankWait> WaitsOf(const std::vector<RankRuns>& ranks, size_t run) {
  const auto operations = CommonOperations(ranks, run);
  std::vector<RankWait> out;
  for (size_t i = 0; i < operations[0].size(); ++i) {
    size_t last = 0;
    for (size_t rank = 1; rank < ranks.size(); ++rank) {
      if (operations[rank][i].started > operations[last][i].started) last = rank;
    }
    const int64_t came = operations[last][i].started;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const Operation& one = operations[rank][i];
      out.push_back({.rank = rank,
                     .node = one.node,
                     .last = last,
                     .begin = one.wait_begin,
                     .came = std::clamp(came, one.wait_begin, one.wait_end),
                     .end = one.wait_end});
    }
  }
  return out;
}

void PrintRanks(const std::vector<RankRuns>& ranks) {
  const std::vector<Sums> sums = SumsOf(ranks);
  int64_t uncertainty = 0;
  for (const RankRuns& rank : ranks) uncertainty = std::max(uncertainty, rank.uncertainty);
  Print("\n%s on one clock, to within %.1f us; milliseconds of a run, means\n\n",
        CountText(ranks.size(), "rank").c_str(), static_cast<double>(uncertainty) * 1e-3);
  std::vector<std::vector<std::string>> rows = {{"rank", "run", "computes", "starts operations",
                                                 "between steps", "waits for ranks",
                                                 "waits for data", "longest for"}};
  for (size_t rank = 0; rank < sums.size(); ++rank) {
    const Sums& one = sums[rank];
    const auto longest = std::max_element(one.for_rank.begin(), one.for_rank.end());
    const bool waits = *longest > 0;
    rows.push_back({std::to_string(rank), Format(one.run), Format(one.computes), Format(one.starts),
                    Format(one.between()), Format(one.for_ranks), Format(one.for_data),
                    waits ? "rank " + std::to_string(longest - one.for_rank.begin()) + ", in " +
                                MostIn(one.nodes)
                          : "-"});
  }
  PrintTable(rows, 2);
  const auto [last, ms] = LastOf(sums);
  if (ms > 0) Print("\nThe others wait longest for rank %zu: %.3f ms of a run.\n", last, ms);
}

Json RanksJson(const std::vector<RankRuns>& ranks) {
  Json out = Json::array();
  const std::vector<Sums> sums = SumsOf(ranks);
  for (size_t rank = 0; rank < sums.size(); ++rank) {
    const Sums& one = sums[rank];
    out.push_back({{"rank", rank},
                   {"clock_shift_ns", ranks[rank].shift},
                   {"clock_uncertainty_ns", ranks[rank].uncertainty},
                   {"ms", one.run},
                   {"computes_ms", one.computes},
                   {"starts_ms", one.starts},
                   {"between_steps_ms", one.between()},
                   {"waits_for_ranks_ms", one.for_ranks},
                   {"waits_for_data_ms", one.for_data},
                   {"waits_for_rank_ms", one.for_rank}});
  }
  return out;
}

Json TraceOfRanks(const std::vector<RankRuns>& ranks) {
  const size_t run = MedianRun(ranks);
  int64_t zero = INT64_MAX;
  for (const RankRuns& rank : ranks) zero = std::min(zero, BeginOf(rank, run));
  Json events = Json::array();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(Named("process_name", "rank " + std::to_string(rank), rank, 0));
    events.push_back(Named("thread_name", "waits", rank, kWaitsLane));
    const double shift = static_cast<double>(BeginOf(ranks[rank], run) - zero) * 1e-3;
    AddTrace(ranks[rank].runs[run], rank, shift, &events);
    const std::vector<Operation> operations = OperationsOf(ranks[rank], run);
    for (size_t i = 0; i < operations.size(); ++i) {
      AddOperation(operations[i], rank, i, zero, &events);
    }
  }
  for (const RankWait& wait : WaitsOf(ranks, run)) {
    AddWait("rank " + std::to_string(wait.last), wait.node, wait.rank, wait.begin - zero,
            wait.came - zero, &events);
    AddWait("data", wait.node, wait.rank, wait.came - zero, wait.end - zero, &events);
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace headrace::tool
