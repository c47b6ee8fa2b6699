#include "runtime/graph/distribution.h"

#include "runtime/base/errors.h"

namespace hr::graph {
namespace {

constexpr std::string_view kDistributed = "headrace.distributed.";

}  // namespace

std::pair<std::string, std::string> DistributionMetadata(const Distribution& distribution) {
  return {Cat(kDistributed, distribution.signature),
          Cat(distribution.group, "\n", distribution.strategy)};
}

std::vector<Distribution> DistributionsOf(const Module& module) {
  std::vector<Distribution> out;
  for (const auto& [key, value] : module.metadata) {
    const size_t line = value.find('\n');
    if (!key.starts_with(kDistributed) || line == value.npos) continue;
    out.push_back({key.substr(kDistributed.size()), value.substr(0, line), value.substr(line + 1)});
  }
  return out;
}

}  // namespace hr::graph
