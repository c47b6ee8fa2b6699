#include "converters/onnx/opsets.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/transform/compose.h"

namespace hr::onnx {
namespace {

// The versions of a domain in which an operator means the same, and who says so.
struct Span {
  int64_t first = 1, last = INT32_MAX;
  const graph::Operator* begins = nullptr;
  const graph::Operator* ends = nullptr;
};

int64_t LastVersion(const ops::OpRegistry& registry, const graph::Operator& op) {
  int64_t last = INT32_MAX;
  for (const ops::OpDef* def : registry.all()) {
    if (def->domain == op.domain && def->name == op.name && def->since_version > op.version) {
      last = std::min<int64_t>(last, def->since_version - 1);
    }
  }
  return last;
}

void Narrow(const ops::OpRegistry& registry, const graph::Operator& op, Span* span) {
  const ops::OpDef* def = registry.Find(op.domain, op.name, op.version);
  const int64_t first = def == nullptr ? op.version : def->since_version;
  const int64_t last = LastVersion(registry, op);
  if (span->begins == nullptr || first > span->first) span->first = first, span->begins = &op;
  if (span->ends == nullptr || last < span->last) span->last = last, span->ends = &op;
}

// The first operator set of ONNX's domain that has all operators of the main graph.
int64_t OldestFor(const ops::OpRegistry& registry, const graph::Module& module) {
  int64_t oldest = 1;
  for (const graph::Node& node : module.main().nodes) {
    const graph::Operator& op = module.OperatorOf(node);
    const ops::OpDef* def = registry.Find(op.domain, op.name, op.version);
    if (def != nullptr && op.domain.empty()) oldest = std::max<int64_t>(oldest, def->since_version);
  }
  return oldest;
}

// " (node NAME)" of the first node of an operator.
std::string NodeOf(const graph::Module& module, const graph::Operator& op) {
  for (const graph::Graph& graph : module.graphs) {
    for (const graph::Node& node : graph.nodes) {
      if (&module.OperatorOf(node) == &op && !node.name.empty())
        return Cat(" (node ", node.name, ")");
    }
  }
  return {};
}

}  // namespace

Result<graph::Module> Upgraded(Allocator& allocator, const ops::OpRegistry& registry,
                               graph::Module module) {
  while (true) {
    const int64_t oldest = OldestFor(registry, module);
    HR_ASSIGN_OR_RETURN(auto&& next,
                        transform::ComposedOf(
                            allocator, registry, std::move(module), [&](const graph::Operator& op) {
                              return op.domain.empty() && LastVersion(registry, op) < oldest;
                            }));
    module = std::move(next.module);
    if (!next.any) return module;  // each turn leaves newer operators only
  }
}

std::map<std::string, int64_t> ChooseOpsets(const graph::Module& module, const graph::Marks& used,
                                            const ops::OpRegistry& registry, Problems& problems) {
  std::map<std::string, Span> spans = {{"", {}}};
  for (size_t i = 0; i < module.operators.size(); ++i) {
    const graph::Operator& op = module.operators[i];
    if (used[i]) Narrow(registry, op, &spans[op.domain]);
  }
  std::map<std::string, int64_t> out;
  for (const auto& [domain, span] : spans) {
    if (span.first > span.last) {
      problems.Add(Cat("operators of different operator sets cannot stand in one ONNX model: ",
                       span.begins->name, " of ", span.first, " or newer",
                       NodeOf(module, *span.begins), " beside ", span.ends->name, " of ", span.last,
                       " or older", NodeOf(module, *span.ends)));
    }
    const auto stated = module.opsets.find(domain);
    const int64_t wanted = stated == module.opsets.end() ? 1 : stated->second;
    out[domain] = std::min(std::max(wanted, span.first), span.last);
  }
  return out;
}

int64_t IrVersionOf(int64_t opset) {
  struct Row {
    int64_t opset, ir;
  };
  // The newest operator set of each version, from onnx.helper.VERSION_TABLE.
  constexpr Row kRows[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7}, {18, 8},
                           {20, 9}, {22, 10}, {23, 11}, {24, 12}, {26, 13}};
  // Before version 4, initializers had to be inputs, too; before 8 there were no functions.
  constexpr int64_t kOldest = 4, kNewest = 13;
  for (const Row& row : kRows) {
    if (opset <= row.opset) return std::max(row.ir, kOldest);
  }
  return kNewest;
}

}  // namespace hr::onnx
