// What a process was started as: its rank, how many there are, and where they meet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hr::cluster {

struct Launch {
  int rank = 0;
  int size = 1;
  int local_rank = -1;  // among the processes of this host; -1: unknown
  int local_size = 0;   // 0: unknown
  uint64_t epoch = 0;   // restarts of the job so far
  std::string store;    // url of the place where the ranks meet; empty: unknown
  int min_ranks = 0;    // with which an elastic job goes on; 0: it is not elastic
  int max_ranks = 0;    // up to which it takes new ranks in
  bool joins = false;   // the process replaces one that is lost
  std::string losses;   // the file in which the launcher notes whom it has lost; empty: none

  // Which variable said what.
  struct Source {
    std::string field, variable, value;
  };
  std::vector<Source> sources;

  std::string Json() const;
};

// The value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// The cluster secret, from HEADRACE_SECRET or the first line of the file HEADRACE_SECRET_FILE;
// empty if neither is set. Not a part of Launch, which is printed.
Result<std::string> SecretFromEnvironment(const Environment& environment);

// From the variables of Headrace (also HEADRACE_ELASTIC, "MIN:MAX", HEADRACE_JOIN, 1 for a process
// that joins a group, and HEADRACE_LOSSES, of 'headrace launch'), torchrun, Open MPI, MPICH and
// Slurm. FAILED_PRECONDITION if two contradict each other or they are incomplete; INVALID_ARGUMENT
// if a value makes no sense. With none of them, the process is alone.
Result<Launch> LaunchFromEnvironment(const Environment& environment);

}  // namespace hr::cluster
