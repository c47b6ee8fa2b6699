#include "runtime/graph/verify_names.h"

#include "runtime/base/errors.h"

namespace hr::graph {
namespace {

Status Check(Literal what, std::string_view text) {
  if (IsCleanText(text)) return {};
  return InvalidArgument("a ", what, " is not UTF-8 text, or holds a zero byte");
}

template <typename Items>
Status CheckEach(Literal what, const Items& items) {
  for (const auto& item : items) HR_RETURN_IF_ERROR(Check(what, item.name));
  return {};
}

Status CheckGraph(const Graph& graph) {
  HR_RETURN_IF_ERROR(CheckEach("value's name", graph.values));
  HR_RETURN_IF_ERROR(CheckEach("node's name", graph.nodes));
  for (const Node& node : graph.nodes) {
    HR_RETURN_IF_ERROR(Check("node's device", node.device));
    HR_RETURN_IF_ERROR(CheckEach("attribute's name", node.attributes));
  }
  return {};
}

}  // namespace

Status VerifyNames(const Module& module) {
  HR_RETURN_IF_ERROR(Check("producer", module.producer));
  for (const auto& opset : module.opsets) HR_RETURN_IF_ERROR(Check("domain", opset.first));
  for (const auto& [key, value] : module.metadata) {
    HR_RETURN_IF_ERROR(Check("metadata key", key));
    HR_RETURN_IF_ERROR(Check("metadata value", value));
  }
  for (const Operator& op : module.operators) {
    HR_RETURN_IF_ERROR(Check("operator's domain", op.domain));
    HR_RETURN_IF_ERROR(Check("operator's name", op.name));
  }
  HR_RETURN_IF_ERROR(CheckEach("symbol's name", module.symbols));
  HR_RETURN_IF_ERROR(CheckEach("variable's name", module.variables));
  for (const Signature& signature : module.signatures) {
    HR_RETURN_IF_ERROR(Check("signature's name", signature.name));
    HR_RETURN_IF_ERROR(CheckEach("input's name", signature.inputs));
    HR_RETURN_IF_ERROR(CheckEach("output's name", signature.outputs));
  }
  for (const Graph& graph : module.graphs) HR_RETURN_IF_ERROR(CheckGraph(graph));
  return {};
}

}  // namespace hr::graph
