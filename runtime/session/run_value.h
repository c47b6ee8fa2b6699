// What flows between the stages of a run: tensors, and what no compiled region holds.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/tensor.h"
#include "runtime/graph/type.h"

namespace hr::session {

// A tensor, a sequence of tensors, or an optional. An optional that holds something is that thing.
struct RunValue {
  Tensor tensor;
  std::shared_ptr<const std::vector<Tensor>> sequence;  // immutable: values are shared
  DType dtype = DType::kUndefined;  // of a sequence's elements, or of what an optional could hold

  static RunValue Of(Tensor tensor) {
    RunValue out;
    out.dtype = tensor.dtype();
    out.tensor = std::move(tensor);
    return out;
  }
  static RunValue Sequence(DType dtype, std::vector<Tensor> elements) {
    RunValue out;
    out.sequence = std::make_shared<const std::vector<Tensor>>(std::move(elements));
    out.dtype = dtype;
    return out;
  }
  static RunValue Nothing(DType dtype) {
    RunValue out;
    out.dtype = dtype;
    return out;
  }

  graph::ValueKind kind() const {
    if (sequence != nullptr) return graph::ValueKind::kSequence;
    return tensor.defined() ? graph::ValueKind::kTensor : graph::ValueKind::kOptional;
  }
  // As a stage sees it: of a sequence, only what its elements have in common.
  graph::ValueType type() const {
    if (tensor.defined()) return graph::ValueType::Tensor(dtype, tensor.dims());
    return {.dtype = dtype, .kind = kind()};
  }
};

}  // namespace hr::session
