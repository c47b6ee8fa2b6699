#include "backends/cpu/lowering/conv_gradients.h"

#include "runtime/ops/op_def.h"

namespace hr::cpu {
namespace {

// `x`, `w`: which inputs of the node these are.
bool Matches(const lowering::Region& region, graph::NodeId id, graph::NodeId conv, size_t x,
             size_t w) {
  const graph::Node &gradient = region.node(id), &of = region.node(conv);
  return gradient.inputs[x] == of.inputs[0] && gradient.inputs[w] == of.inputs[1] &&
         gradient.attributes == of.attributes;
}

}  // namespace

bool IsWeightGradientOf(const lowering::Region& region, graph::NodeId id, graph::NodeId conv) {
  return region.Is(id, ops::kGrad, "ConvGradWeight") && Matches(region, id, conv, 1, 2);
}

bool IsImageGradientOf(const lowering::Region& region, graph::NodeId id, graph::NodeId conv) {
  return region.Is(id, ops::kGrad, "ConvGradInput") && Matches(region, id, conv, 2, 1);
}

}  // namespace hr::cpu
