// From an operator to a kernel: one entry an operator, one file a family (backends/cpu/ops).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/engine/kernel.h"
#include "runtime/graph/graph.h"

namespace hr::cpu {

// How the elements of a tensor lie in memory. kBatchBlocked: kernels/batch_blocked.h.
enum class Layout : uint8_t { kPlain, kBatchBlocked };

struct OperandInfo {
  bool present = false;
  DType dtype = DType::kUndefined;
  Dims dims;  // logical, whatever the layout
  Layout layout = Layout::kPlain;
  const Tensor* constant = nullptr;  // its value, where it is known
  // The same in run after run: a constant, or a variable that the region only reads.
  bool steady = false;

  int64_t elements() const { return ElementCount(dims); }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
};

// A node with everything known about it.
struct KernelRequest {
  const graph::Module& module;
  const graph::Operator& op;
  const graph::Node& node;
  std::vector<OperandInfo> inputs;
  std::vector<OperandInfo> outputs;
  // The variables that the node's definition says it writes, in that order; absent optional ones
  // are not present. Their pointers follow the outputs'.
  std::vector<OperandInfo> variables;
  int threads = 1;          // slices into which kernels cut their work
  bool exact_sums = false;  // as in CompileOptions

  const OperandInfo& input(size_t i) const {
    static constexpr OperandInfo kAbsent{};
    return i < inputs.size() ? inputs[i] : kAbsent;
  }
  bool has_output(size_t i) const { return i < outputs.size() && outputs[i].present; }
  // Where the pointers of a kernel's operands stand: inputs, outputs, variables, scratch.
  size_t output_index(size_t i) const { return inputs.size() + i; }
  size_t variable_index(size_t i) const { return inputs.size() + outputs.size() + i; }
  size_t scratch_index() const { return inputs.size() + outputs.size() + variables.size(); }
};

// A steady input in another order, made before the first run and whenever the input has changed,
// and kept between runs: memory that the node's kernel gets in place of the input.
struct Preparation {
  size_t input = 0;
  size_t bytes = 0;
  std::string format;  // of the memory: equal where kernels for other shapes could use it as it is
  size_t scratch_bytes = 0;
  std::unique_ptr<engine::Kernel> kernel;  // (input, memory, scratch); null: nothing is prepared
};

struct LoweredKernel {
  std::unique_ptr<engine::Kernel> kernel;
  size_t scratch_bytes = 0;
  // (output, input) that may share memory.
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
  Preparation preparation;
};

struct KernelEntry {
  std::string_view domain;
  std::string_view name;
  // Null: the output is the input's memory seen under another shape (Reshape, Identity, …).
  Result<LoweredKernel> (*make)(const KernelRequest&);
  // Also takes batch-blocked operands; the layout pass decides when.
  bool batch_blocked = false;
};

// Null where the CPU has no kernel.
const KernelEntry* FindKernel(std::string_view domain, std::string_view name);

// A kernel from a callable Status(void* const* operands, const RunContext&).
template <typename Body>
class BodyKernel final : public engine::Kernel {
 public:
  BodyKernel(std::string description, Body body)
      : description_(std::move(description)), body_(std::move(body)) {}
  Status Run(void* const* operands, const RunContext& context) const override {
    return body_(operands, context);
  }
  std::string Describe() const override { return description_; }

 private:
  std::string description_;
  Body body_;
};

template <typename Body>
std::unique_ptr<engine::Kernel> MakeKernel(std::string description, Body body) {
  return std::make_unique<BodyKernel<Body>>(std::move(description), std::move(body));
}

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
