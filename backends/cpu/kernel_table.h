// From an operator to a kernel: one entry an operator, one file a family (backends/cpu/ops).
#pragma once

#include <string_view>

#include "runtime/base/errors.h"
#include "runtime/lowering/kernel_request.h"
#include "runtime/lowering/region.h"

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
};

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
