// An operator that a host adds to its env, with the rules and the kernel in one object.
#pragma once

#include "runtime/base/executor.h"
#include "runtime/ops/op_def.h"

namespace hr::ops {

// A contiguous tensor in a run; kUndefined and null where an optional one is omitted.
struct CustomTensor {
  DType dtype = DType::kUndefined;
  size_t rank = 0;
  const int64_t* dims = nullptr;
  void* data = nullptr;
};

// An OpDef whose `custom` is set. Immutable, and belongs to the env.
struct CustomOp : OpDef {
  CustomOp() : OpDef{.domain = "", .name = ""} {}
  virtual ~CustomOp() = default;
  // An entry per input and output of the node. Called by several runs at once.
  virtual Status Compute(const Node& node, const CustomTensor* inputs, const CustomTensor* outputs,
                         const Lease& threads) const = 0;
};

}  // namespace hr::ops
