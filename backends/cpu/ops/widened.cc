#include "backends/cpu/ops/widened.h"

#include <memory>

#include "backends/cpu/kernels/convert.h"
#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

bool IsHalf(const OperandInfo& operand) {
  return operand.present && (operand.dtype == DType::kFloat16 || operand.dtype == DType::kBfloat16);
}

// An operand as the inner kernel gets it.
struct Copy {
  bool made = false;
  DType dtype = DType::kUndefined;
  int64_t count = 0;
  size_t at = 0;  // in scratch memory
};

// What lies where in scratch memory: the copies, the list of operands, the inner kernel's own.
struct Copies {
  std::vector<Copy> inputs, outputs;
  size_t places_at = 0, inner_at = 0, bytes = 0;
  bool any = false;

  size_t Take(size_t size) {
    const size_t at = bytes;
    bytes += (size + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    return at;
  }
  std::vector<Copy> Widen(std::vector<OperandInfo>* operands) {
    std::vector<Copy> out;
    for (OperandInfo& operand : *operands) {
      Copy copy;
      if (IsHalf(operand)) {
        copy = {true, operand.dtype, operand.elements(), 0};
        copy.at = Take(static_cast<size_t>(copy.count) * sizeof(float));
        operand.dtype = DType::kFloat32;
        operand.constant = nullptr;
        any = true;
      }
      out.push_back(copy);
    }
    return out;
  }
};

Status RunWidened(const engine::Kernel& inner, const Copies& copies, const engine::Operands& p,
                  const engine::LaunchContext& context) {
  std::byte* const scratch = p.scratch<std::byte>();
  void** const places = reinterpret_cast<void**>(scratch + copies.places_at);
  void** next = places;
  for (size_t i = 0; i < copies.inputs.size(); ++i) {
    const Copy& copy = copies.inputs[i];
    void* place = const_cast<void*>(p.input(i));
    if (copy.made) {
      LoaderFor(copy.dtype, ElementType::kFloat)(place, scratch + copy.at, copy.count);
      place = scratch + copy.at;
    }
    *next++ = place;
  }
  for (size_t i = 0; i < copies.outputs.size(); ++i) {
    const Copy& copy = copies.outputs[i];
    *next++ = copy.made ? scratch + copy.at : p.output(i);
  }
  *next = scratch + copies.inner_at;
  const engine::Operands::Counts counts = {static_cast<uint16_t>(copies.inputs.size()),
                                           static_cast<uint16_t>(copies.outputs.size()), 0};
  HR_RETURN_IF_ERROR(inner.Run(engine::Operands(places, counts), context));
  for (size_t i = 0; i < copies.outputs.size(); ++i) {
    const Copy& copy = copies.outputs[i];
    if (!copy.made) continue;
    StorerFor(ElementType::kFloat, copy.dtype)(scratch + copy.at, p.output(i), copy.count);
  }
  return {};
}

}  // namespace

Result<LoweredKernel> MakeWidened(const KernelRequest& request,
                                  Result<LoweredKernel> (*make)(const KernelRequest&)) {
  KernelRequest wide = request;
  Copies copies;
  copies.inputs = copies.Widen(&wide.inputs);
  copies.outputs = copies.Widen(&wide.outputs);
  if (!copies.any) return make(request);
  HR_ASSIGN_OR_RETURN(LoweredKernel inner, make(wide));
  copies.places_at =
      copies.Take((copies.inputs.size() + copies.outputs.size() + 1) * sizeof(void*));
  copies.inner_at = copies.Take(inner.scratch_bytes);
  LoweredKernel out;
  out.scratch_bytes = copies.bytes;
  const std::string name = Cat(inner.kernel->Describe(), "_widened");
  out.kernel =
      MakeKernel(name, [copies, kernel = std::shared_ptr<engine::Kernel>(std::move(inner.kernel))](
                           const engine::Operands& p, const engine::LaunchContext& context) {
        return RunWidened(*kernel, copies, p, context);
      });
  return out;
}

}  // namespace hr::cpu
