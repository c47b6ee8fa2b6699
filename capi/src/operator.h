// A node of a custom operator as the host's functions see it.
#pragma once

#include "capi/src/handles.h"
#include "headrace/operator.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

// What stands behind it depends on the function that is called; the others are null.
struct hr_op {
  const hr::graph::Node* node = nullptr;
  const hr::ops::OpRegistry* operators = nullptr;
  hr::ops::InferContext* infer = nullptr;
  hr::ops::GradientContext* gradient = nullptr;
  const hr::Lease* threads = nullptr;
  std::span<const hr::ops::CustomTensor> inputs, outputs;
  std::vector<hr::Dims> dims;  // of inputs, for infer
};

namespace hr::capi {

// Says that `function` was called from another of the operator's functions than `where`.
inline hr_status* NotAllowed(const char* function, const char* where) {
  return Wrap(FailedPrecondition(function, " is for ", where));
}

}  // namespace hr::capi
