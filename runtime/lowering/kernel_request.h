// What a target makes kernels of, and what it gives back.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/kernel.h"
#include "runtime/graph/graph.h"
#include "runtime/lowering/layout.h"

namespace hr::lowering {

struct OperandInfo {
  bool present = false;
  DType dtype = DType::kUndefined;
  Dims dims;  // logical, whatever the layout
  Layout layout = Layout::kPlain;
  const Tensor* constant = nullptr;  // its value, if it is known
  // The same in run after run: a constant, or a variable that the region only reads.
  bool steady = false;
  // An output that nobody reads: its kernel may leave anything there.
  bool unused = false;

  int64_t elements() const { return ElementCount(dims); }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
};

// A node with everything known about it. The operands of its kernel (engine::Operands) stand in the
// same order as the lists here.
struct KernelRequest {
  const graph::Module& module;
  const graph::Operator& op;
  const graph::Node& node;
  std::vector<OperandInfo> inputs;
  std::vector<OperandInfo> outputs;
  // The variables that the node's definition says it writes, in that order; absent optional ones
  // are not present.
  std::vector<OperandInfo> variables;
  int threads = 1;          // slices into which kernels cut their work
  bool exact_sums = false;  // CompileOptions::exact_sums

  const OperandInfo& input(size_t i) const {
    static constexpr OperandInfo kAbsent{};
    return i < inputs.size() ? inputs[i] : kAbsent;
  }
  bool has_output(size_t i) const { return i < outputs.size() && outputs[i].present; }
};

// A steady input in another order, made before the first run and whenever the input has changed,
// and kept between runs: memory that the node's kernel gets in place of the input.
struct Preparation {
  size_t input = 0;
  size_t bytes = 0;
  std::string format;  // of the memory: equal if kernels for other shapes could use it as it is
  size_t scratch_bytes = 0;
  std::unique_ptr<engine::Kernel> kernel;  // (input) → (memory); null: nothing is prepared
};

struct LoweredKernel {
  std::unique_ptr<engine::Kernel> kernel;
  size_t scratch_bytes = 0;
  // Pairs (output, input) that may share memory (engine::StepSpec).
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
  std::vector<Preparation> preparations;  // of different inputs
};

}  // namespace hr::lowering
