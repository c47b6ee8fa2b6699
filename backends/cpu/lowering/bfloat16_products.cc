#include "backends/cpu/lowering/bfloat16_products.h"

#include "backends/cpu/kernels/bfloat16_gemm.h"

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::kLowered;
using lowering::Region;

bool IsProduct(const Region& region, NodeId id) {
  return region.Is(id, "", "MatMul") || region.Is(id, "", "Gemm") ||
         region.Is(id, kLowered, "Gemm");
}

// The value of bfloat16 that was widened to `value`; kNone if there is none.
ValueId Narrow(const Region& region, ValueId value) {
  const NodeId cast = region.Producer(value);
  if (!region.Is(cast, "", "Cast") || region.DTypeOf(value) != DType::kFloat32) return kNone;
  const ValueId from = region.node(cast).inputs[0];
  return region.DTypeOf(from) == DType::kBfloat16 ? from : kNone;
}

struct Operands {
  ValueId a, b, c;
};

Operands NarrowOperands(const Region& region, NodeId id) {
  const auto& inputs = region.node(id).inputs;
  if (IsProduct(region, id)) {
    return {Narrow(region, inputs[0]), Narrow(region, inputs[1]),
            inputs.size() > 2 ? inputs[2] : kNone};
  }
  // (a, weights, scale?, zero?, bias?): runtime/lowering/fuse_quantized.h
  const bool shortened =
      region.Is(id, kLowered, "DequantizedGemm") && region.DTypeOf(inputs[1]) == DType::kBfloat16;
  if (!shortened) return {kNone, kNone, kNone};
  return {Narrow(region, inputs[0]), inputs[1], inputs[4]};
}

void Rewrite(Region& region, NodeId id, const Operands& operands) {
  ValueId y = region.node(id).outputs[0];
  const NodeId next = region.OnlyConsumer(y);
  const bool rounded = region.Is(next, "", "Cast") &&
                       region.DTypeOf(region.node(next).outputs[0]) == DType::kBfloat16;
  if (rounded) y = region.node(next).outputs[0];
  const NodeId product = region.AddNode("Bfloat16Gemm", {operands.a, operands.b, operands.c}, {y},
                                        region.node(id).attributes, region.node(id).name);
  region.Replace(id, product);
  if (rounded) region.Replace(next, product);
}

}  // namespace

void UseBfloat16Products(Region& region) {
  if (KernelsForBfloat16() == nullptr) return;
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (region.IsDead(id)) continue;
    const Operands operands = NarrowOperands(region, id);
    if (operands.a != kNone && operands.b != kNone) Rewrite(region, id, operands);
  }
  region.Sweep();
}

}  // namespace hr::cpu
