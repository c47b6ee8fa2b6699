#include "runtime/session/same_graph.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/graph/distribution.h"
#include "runtime/graph/fingerprint.h"
#include "runtime/graph/shards.h"
#include "runtime/ops/op_def.h"

namespace hr::session {
namespace {

// What a rank tells the others: plain bytes of the same size in all versions.
struct Facts {
  char version[40] = {};
  uint64_t seed = 0;
  uint64_t fingerprint = 0;
  uint32_t nodes = 0;
  uint32_t variables = 0;
  uint64_t types = 0;  // of the variables
};
static_assert(sizeof(Facts) == 72);

// Whether the ranks have graphs of their own, which send and receive.
bool HasMessages(const graph::Module& module) {
  const auto is_message = [&](const graph::Node& node) {
    const graph::Operator& op = module.OperatorOf(node);
    return op.domain == ops::kComm && (op.name == "Send" || op.name == "Recv");
  };
  return std::any_of(module.graphs.begin(), module.graphs.end(), [&](const graph::Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_message);
  });
}

Facts FactsOf(const graph::Module& module, uint64_t seed, std::string_view version) {
  Facts out{.seed = seed};
  if (!HasMessages(module)) {
    out.fingerprint = graph::Fingerprint(module);
    out.nodes = static_cast<uint32_t>(module.main().nodes.size());
    out.variables = static_cast<uint32_t>(module.variables.size());
    out.types = graph::VariableFingerprint(module);
  }
  std::memcpy(out.version, version.data(), std::min(version.size(), sizeof out.version - 1));
  return out;
}

// How signatures are distributed, as ranks tell each other if their graphs differ.
struct Strategies {
  char text[512] = {};
};

Result<Strategies> StrategiesOf(const graph::Module& module) {
  HR_ASSIGN_OR_RETURN(const auto shards, graph::ShardsOf(module));
  std::string text;
  for (const graph::Distribution& one : graph::DistributionsOf(module)) {
    text += Cat(text.empty() ? "'" : ", '", one.signature, "': ", one.strategy);
    const auto shard = std::find_if(shards.begin(), shards.end(), [&](const graph::Shard& shard) {
      return shard.group == one.group;
    });
    if (shard != shards.end()) text += Cat(" ranks=", shard->ranks);
  }
  if (text.empty()) text = "none";
  Strategies out;
  text.copy(out.text, sizeof out.text - 1);
  return out;
}

bool SameGraph(const Facts& a, const Facts& b) {
  return a.nodes == b.nodes && a.variables == b.variables && a.types == b.types &&
         a.fingerprint == b.fingerprint;
}

// Empty if they are equal.
std::string Difference(const Facts& first, const Facts& other) {
  if (std::strncmp(first.version, other.version, sizeof first.version) != 0) {
    return Cat("has version ", std::string_view(other.version), " of the library, rank 0 has ",
               std::string_view(first.version), "; install one version everywhere");
  }
  if (first.variables == other.variables && first.types != other.types) {
    return Cat(
        "has variables of other names, types or shapes than rank 0; give all ranks the same ",
        "file");
  }
  if (first.nodes != other.nodes || first.variables != other.variables) {
    return Cat("has a graph of ", other.nodes, " nodes and ", other.variables,
               " variables, rank 0 one of ", first.nodes, " and ", first.variables,
               "; give all ranks the same file");
  }
  if (first.fingerprint != other.fingerprint) {
    return Cat(
        "has another graph than rank 0, though both have ", other.nodes,
        " nodes: attributes, constants, inputs or names differ; give all ranks the same file");
  }
  if (first.seed != other.seed) {
    return Cat("has the seed ", other.seed, ", rank 0 has ", first.seed,
               "; create the sessions with one seed, and bind groups before a restore");
  }
  return "";
}

// Of ranks whose graphs differ: perhaps by the strategy alone, which says more.
Status CompareStrategies(comm::Collectives& group, const graph::Module& module, size_t rank,
                         const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const Strategies own, StrategiesOf(module));
  std::vector<Strategies> all(static_cast<size_t>(group.size()));
  HR_RETURN_IF_ERROR(
      group.Run({.kind = comm::OpKind::kAllGather, .dtype = DType::kUint8, .count = sizeof own},
                &own, all.data(), limits));
  const std::string_view first = all[0].text, other = all[rank].text;
  if (first == other) return {};
  return FailedPrecondition("rank ", rank, " has signatures distributed by another strategy (",
                            other, ") than rank 0 (", first,
                            "); give hr_graph_distribute the same on all ranks");
}

}  // namespace

Status CompareRanks(comm::Collectives& group, const graph::Module& module, uint64_t seed,
                    std::string_view version, const CallLimits& limits) {
  const Facts own = FactsOf(module, seed, version);
  std::vector<Facts> all(static_cast<size_t>(group.size()));
  HR_RETURN_IF_ERROR(
      group.Run({.kind = comm::OpKind::kAllGather, .dtype = DType::kUint8, .count = sizeof own},
                &own, all.data(), limits));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    all[rank].version[sizeof own.version - 1] = '\0';
    const std::string difference = Difference(all[0], all[rank]);
    if (difference.empty()) continue;
    const bool same_version = std::strcmp(all[0].version, all[rank].version) == 0;
    if (same_version && !SameGraph(all[0], all[rank])) {
      HR_RETURN_IF_ERROR(CompareStrategies(group, module, rank, limits));
    }
    return FailedPrecondition("rank ", rank, " ", difference);
  }
  return {};
}

}  // namespace hr::session
