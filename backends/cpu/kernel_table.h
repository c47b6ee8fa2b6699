// From an operator to a kernel: one entry an operator, one file a family (backends/cpu/ops).
#pragma once

#include <algorithm>
#include <string_view>

#include "runtime/base/errors.h"
#include "runtime/lowering/kernel_request.h"
#include "runtime/lowering/region.h"
#include "runtime/ops/chosen.h"

namespace hr::cpu {

using engine::MakeKernel;
using lowering::KernelRequest;
using lowering::Layout;
using lowering::LoweredKernel;
using lowering::OperandInfo;
using lowering::Preparation;

// Images in blocks: kernels/batch_blocked.h.
inline constexpr Layout kBatchBlockedLayout{1};
// Pixels one behind the other, each with all of its channels: kernels/channels_last.h.
inline constexpr Layout kChannelsLastLayout{2};

struct KernelEntry {
  std::string_view domain;
  std::string_view name;
  // Null: the output is the input's memory seen under another shape (Reshape, Identity, …).
  Result<LoweredKernel> (*make)(const KernelRequest&);
  // Also takes images in other layouts (lowering/layouts.cc decides when).
  bool any_layout = false;
  // Of an entry of the domain kLowered: operators from which such nodes are made, beside those of
  // its table ("Gemm MatMul").
  std::string_view made_from = {};
};

constexpr bool IsLowered(const KernelEntry& kernel) { return kernel.domain == lowering::kLowered; }

// Whether a build that has chosen its operators has this one of a family's kernels. Those of
// lowered nodes come with what these are made from.
constexpr bool IsChosen(const KernelEntry& kernel, std::span<const KernelEntry> family) {
  if (!IsLowered(kernel)) return ops::IsChosen(kernel.domain, kernel.name);
  for (const KernelEntry& other : family) {
    if (!IsLowered(other) && IsChosen(other, family)) return true;
  }
  for (std::string_view names = kernel.made_from; !names.empty();) {
    const std::string_view name = names.substr(0, names.find(' '));
    if (ops::IsChosenName(name)) return true;
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return false;
}

// Whether the table says for each of its lowered nodes what they are made from.
constexpr bool SaysOrigins(std::span<const KernelEntry> family) {
  bool any = false;
  for (const KernelEntry& kernel : family) any = any || !IsLowered(kernel);
  for (const KernelEntry& kernel : family) {
    if (!any && kernel.made_from.empty()) return false;
  }
  return true;
}

using KernelPart = ops::Part<KernelEntry>;

// Those of a family's kernels that the build has.
template <const auto& kKernels>
constexpr KernelPart ChosenKernels() {
  static_assert(SaysOrigins(kKernels), "what are the lowered nodes of this table made from?");
  return ops::PartOf<kKernels, [](const KernelEntry& kernel, auto family) {
    return IsChosen(kernel, family);
  }>();
}

// Returns null if the CPU has no kernel.
const KernelEntry* FindKernel(const graph::Operator& op);
// The type in which an operator's operands of `dtype` are computed (lowering::Target).
DType ComputeType(const graph::Operator& op, DType dtype);

// Calls body.template operator()<T>() for float or double; a failure that names the operator for
// others.
template <typename Body>
Result<LoweredKernel> ForFloating(const KernelRequest& request, DType dtype, Body&& body) {
  if (dtype == DType::kFloat32) return body.template operator()<float>();
  if (dtype == DType::kFloat64) return body.template operator()<double>();
  return Unimplemented(request.op.name, " has no CPU kernel for ", DTypeName(dtype),
                       "; insert a Cast to float32");
}

}  // namespace hr::cpu
