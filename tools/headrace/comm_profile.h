// Profiles of runs that the ranks of a launcher's group make together: on one clock, as one trace,
// and who waits for whom.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/headrace/measure.h"

namespace headrace::tool {

// What one rank did.
struct RankRuns {
  int64_t shift = 0;        // nanoseconds that its clock is behind rank 0's
  int64_t uncertainty = 0;  // of the shift, at most
  std::vector<Json> runs;   // profiles; all ranks have as many
};

// The group in which this process was started, if it has several ranks.
class ProfiledRanks {
 public:
  // Null if this process is alone. Else the session gets the group under each name by which nodes
  // of its model call one, and rank 0's variables.
  static std::unique_ptr<ProfiledRanks> Join(Measured& measured);

  bool is_first() const { return group_.rank() == 0; }
  // Gives rank 0 the profiles of all, the others nothing.
  std::vector<RankRuns> Gather(const std::vector<Json>& own);

 private:
  explicit ProfiledRanks(const hr::Env& env);
  void CompareClocks();

  hr::Group group_;
  std::vector<RankRuns> ranks_;  // without runs; of rank 0
};

// Time that a rank waited in an operation, on rank 0's clock, in nanoseconds.
struct RankWait {
  size_t rank = 0;
  std::string node;
  size_t last = 0;    // the rank that came last
  int64_t begin = 0;  // of the wait
  int64_t came = 0;   // when that rank came: until then this one waited for it, then for data
  int64_t end = 0;
};

// The waits of run number `run` of all ranks.
std::vector<RankWait> WaitsOf(const std::vector<RankRuns>& ranks, size_t run);

void PrintRanks(const std::vector<RankRuns>& ranks);
Json RanksJson(const std::vector<RankRuns>& ranks);
// The trace of the run that is the median by its slowest rank: a process for each rank, with lanes
// for its threads, the operations in flight, and its waits.
Json TraceOfRanks(const std::vector<RankRuns>& ranks);

}  // namespace headrace::tool
