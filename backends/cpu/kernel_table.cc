#include "backends/cpu/kernel_table.h"

#include <algorithm>

#include "backends/cpu/ops/families.h"

namespace hr::cpu {
namespace {

const KernelEntry* FindIn(const KernelFamily& family, const graph::Operator& op) {
  for (const KernelEntry& entry : family.kernels) {
    if (entry.name == op.name && entry.domain == op.domain) return &entry;
  }
  return nullptr;
}

}  // namespace

const KernelEntry* FindKernel(const graph::Operator& op) {
  for (const KernelFamily& family : KernelFamilies()) {
    if (const KernelEntry* entry = FindIn(family, op)) return entry;
  }
  return FindElementwiseKernel(op);
}

DType ComputeType(const graph::Operator& op, DType dtype) {
  if (dtype == DType::kBool && (op.name == "ReduceMax" || op.name == "ReduceMin")) {
    return DType::kInt32;
  }
  const bool bytes = dtype == DType::kInt8 || dtype == DType::kUint8;
  // Sums and products of bytes may leave their type.
  if (bytes && !IsOneOf(op.name, {"MaxPool", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin"})) {
    return dtype;
  }
  if (!bytes && dtype != DType::kFloat16 && dtype != DType::kBfloat16) return dtype;
  const auto& families = KernelFamilies();
  const bool wide = std::any_of(families.begin(), families.end(), [&](const KernelFamily& family) {
    return family.wide_only && FindIn(family, op) != nullptr;
  });
  return wide ? DType::kFloat32 : dtype;
}

}  // namespace hr::cpu
