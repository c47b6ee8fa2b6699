#include "runtime/session/cpu_evaluator.h"

#include "runtime/transform/specialize.h"

namespace hr::session {
namespace {

std::vector<Tensor> ByOutput(const graph::Node& node, std::vector<Tensor> results) {
  std::vector<Tensor> out(node.outputs.size());
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (node.outputs[i] != graph::kNone) out[i] = std::move(results[next++]);
  }
  return out;
}

}  // namespace

Result<std::vector<Tensor>> CpuEvaluator::Evaluate(const graph::Module& module, graph::NodeId id) {
  const graph::Graph& graph = module.main();
  transform::Request request;
  for (graph::ValueId output : graph.nodes[id].outputs) {
    if (output != graph::kNone) request.fetches.push_back(output);
  }
  HR_ASSIGN_OR_RETURN(graph::Module region, transform::Specialize(env_.operators(), module, request,
                                                                  nullptr, env_.allocator()));
  HR_ASSIGN_OR_RETURN(
      auto&& executable,
      env_.cpu().Compile(region, {.allocator = &env_.allocator(), .operators = &env_.operators()}));
  HR_ASSIGN_OR_RETURN(auto&& invocation, executable->Instantiate());
  auto slot = static_cast<uint32_t>(region.signatures[0].inputs.size());
  for (const Tensor& constant : region.constants) invocation->Bind(slot++, constant.data());
  slot += static_cast<uint32_t>(region.variables.size());
  std::vector<Tensor> results;
  for (const graph::Port& port : region.signatures[0].outputs) {
    const graph::ValueType& type = region.main().values[port.value].type;
    HR_ASSIGN_OR_RETURN(auto&& tensor,
                        Tensor::Create(env_.allocator(), type.dtype, *type.FixedDims()));
    invocation->Bind(slot++, tensor.data());
    results.push_back(std::move(tensor));
  }
  HR_RETURN_IF_ERROR(invocation->Run({.threads = Lease()}));
  return ByOutput(graph.nodes[id], std::move(results));
}

}  // namespace hr::session
