// How the ranks of a group stand on hosts, for algorithms that keep inside a host what they can.
#pragma once

#include <algorithm>
#include <vector>

#include "transport/collective/builder.h"

namespace hr::collective {

// Each host, by its ranks in order; hosts are in the order of their first ranks.
std::vector<std::vector<int>> RanksByHost(const std::vector<int>& hosts);

// One rank of each host speaks for it.
struct Leaders {
  // `first` leads its own host.
  Leaders(const ScheduleBuilder& b, int first);
  bool leads(int rank) const { return rank == here.front(); }
  // What number `rank` has among all leaders.
  int PlaceOf(int rank) const {
    return static_cast<int>(std::find(all.begin(), all.end(), rank) - all.begin());
  }

  std::vector<int> here;  // the ranks of this host, its leader first
  std::vector<int> all;
};

// A lane joins a rank of every host: lane j the j-th ones. A host with fewer ranks than another has
// some of its ranks in several lanes: this one is in `place`, place + here(), and so on.
struct Lanes {
  explicit Lanes(const ScheduleBuilder& b);
  // The ranks of a lane, by host.
  std::vector<int> RanksOf(int lane) const;
  // The rank that gave a lane its number on a host, or -1 if that host has none.
  int RankAt(int host, int lane) const {
    return lane < static_cast<int>(hosts[host].size()) ? hosts[host][lane] : -1;
  }
  int here() const { return static_cast<int>(hosts[own].size()); }

  std::vector<std::vector<int>> hosts;
  int own = 0;    // this rank's host
  int place = 0;  // of this rank on it
  int count = 0;
};

// The costs inside a host.
CostModel Inside(const CostModel& cost);
// Hosts, and the most ranks of one.
struct HostNumbers {
  explicit HostNumbers(const CostModel& cost);
  double hosts = 0, most = 0;
};

// A call of which this is an earlier part: what is done to a sum at its end comes later.
Operation Partly(Operation operation);
// And what is done to the input was done before.
Operation Further(Operation operation);

}  // namespace hr::collective
