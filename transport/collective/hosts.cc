#include "transport/collective/hosts.h"

#include <map>

namespace hr::collective {

std::vector<std::vector<int>> RanksByHost(const std::vector<int>& hosts) {
  std::vector<std::vector<int>> ranks;
  std::map<int, size_t> known;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [host, is_new] = known.emplace(hosts[rank], ranks.size());
    if (is_new) ranks.emplace_back();
    ranks[host->second].push_back(static_cast<int>(rank));
  }
  return ranks;
}

Leaders::Leaders(const ScheduleBuilder& b, int first) {
  for (std::vector<int>& host : RanksByHost(b.cost.hosts)) {
    const auto found = std::find(host.begin(), host.end(), first);
    if (found != host.end()) std::swap(*host.begin(), *found);
    all.push_back(host.front());
    if (std::find(host.begin(), host.end(), b.rank) != host.end()) here = std::move(host);
  }
}

Lanes::Lanes(const ScheduleBuilder& b) : hosts(RanksByHost(b.cost.hosts)) {
  for (size_t host = 0; host < hosts.size(); ++host) {
    count = std::max(count, static_cast<int>(hosts[host].size()));
    const auto found = std::find(hosts[host].begin(), hosts[host].end(), b.rank);
    if (found == hosts[host].end()) continue;
    own = static_cast<int>(host);
    place = static_cast<int>(found - hosts[host].begin());
  }
}

std::vector<int> Lanes::RanksOf(int lane) const {
  std::vector<int> ranks;
  for (const std::vector<int>& host : hosts) {
    ranks.push_back(host[static_cast<size_t>(lane) % host.size()]);
  }
  return ranks;
}

CostModel Inside(const CostModel& cost) {
  CostModel inside = cost;
  inside.latency = cost.near_latency;
  inside.per_byte = cost.near_per_byte;
  return inside;
}

HostNumbers::HostNumbers(const CostModel& cost) {
  for (const std::vector<int>& host : RanksByHost(cost.hosts)) {
    ++hosts;
    most = std::max(most, static_cast<double>(host.size()));
  }
}

Operation Partly(Operation operation) {
  if (operation.reduce_op == ReduceOp::kAverage) operation.reduce_op = ReduceOp::kSum;
  return operation;
}

Operation Further(Operation operation) {
  if (operation.reduce_op == ReduceOp::kPreMultipliedSum) operation.reduce_op = ReduceOp::kSum;
  return operation;
}

}  // namespace hr::collective
