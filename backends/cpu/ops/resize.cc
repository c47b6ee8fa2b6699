// Resize, one axis after the other.
#include "runtime/ops/resize.h"

#include <cstring>

#include "backends/cpu/kernels/resample.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// The passes from one shape to the other, those that shrink most first.
template <typename T>
Result<std::vector<Resample<T>>> PassesOf(const KernelRequest& request, Dims dims, size_t first) {
  ops::ResizeInputs inputs;
  const auto constant = [&](size_t i) -> Result<const Tensor*> {
    const OperandInfo& input = request.input(i);
    if (!input.present || input.elements() == 0) return nullptr;
    if (input.constant != nullptr) return input.constant;
    return Unimplemented("input ", i, " of ", request.op.name,
                         " depends on data; give it as a constant");
  };
  HR_ASSIGN_OR_RETURN(inputs.region, constant(first));
  HR_ASSIGN_OR_RETURN(inputs.scales, constant(first + 1));
  HR_ASSIGN_OR_RETURN(inputs.sizes, constant(first + 2));
  HR_ASSIGN_OR_RETURN(auto&& axes, ops::ResizedAxes(request.node, dims, inputs));
  std::stable_sort(axes.begin(), axes.end(),
                   [](const auto& a, const auto& b) { return a.out * b.in < b.out * a.in; });
  std::vector<Resample<T>> passes;
  for (const ops::ResizedAxis& axis : axes) {
    const AroundAxis around = SplitAround(dims, axis.axis);
    HR_ASSIGN_OR_RETURN(auto&& table, ops::MakeResampleTable(request.node, axis));
    passes.push_back({.outer = around.outer,
                      .in = axis.in,
                      .out = axis.out,
                      .inner = around.inner,
                      .taps = table.taps,
                      .index = std::move(table.index),
                      .weight = {table.weight.begin(), table.weight.end()},
                      .filled = {table.outside.begin(), table.outside.end()},
                      .fill = static_cast<T>(request.node.Float("extrapolation_value", 0))});
    dims[axis.axis] = axis.out;
  }
  return passes;
}

// Two places for what lies between passes.
template <typename T>
struct Between {
  size_t bytes = 0;  // of one place

  Between(const std::vector<Resample<T>>& passes, size_t element_bytes) {
    for (size_t i = 0; i + 1 < passes.size(); ++i) {
      const auto elements = static_cast<size_t>(passes[i].outer * passes[i].out * passes[i].inner);
      bytes = std::max(
          bytes, static_cast<size_t>(RoundUp(static_cast<int64_t>(elements * element_bytes), 64)));
    }
  }
  std::byte* Place(void* scratch, size_t i) const {
    return static_cast<std::byte*>(scratch) + i % 2 * bytes;
  }
};

// Calls run(pass, from, to) for each pass, in turn, from `x` to `y`; copies if there is none.
template <typename Pass, typename Run>
void RunPasses(const std::vector<Pass>& passes, const Between<decltype(Pass::fill)>& between,
               const void* x, void* y, size_t bytes, void* scratch, Run&& run) {
  if (passes.empty() && bytes != 0) std::memcpy(y, x, bytes);
  const void* from = x;
  for (size_t i = 0; i < passes.size(); ++i) {
    void* const to = i + 1 == passes.size() ? y : between.Place(scratch, i);
    run(passes[i], from, to);
    from = to;
  }
}

Result<LoweredKernel> MakeNearest(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(auto&& passes, PassesOf<double>(request, request.input(0).dims, 1));
  const size_t element = DTypeSize(request.input(0).dtype);
  const Between<double> between(passes, element);
  const auto total = static_cast<size_t>(request.input(0).elements()) * element;
  const double value = request.node.Float("extrapolation_value", 0);
  std::array<std::byte, 8> fill = {};
  const auto narrow = static_cast<float>(value);
  if (request.input(0).dtype == DType::kFloat32) std::memcpy(fill.data(), &narrow, sizeof narrow);
  if (request.input(0).dtype == DType::kFloat64) std::memcpy(fill.data(), &value, sizeof value);
  LoweredKernel out;
  out.scratch_bytes = 2 * between.bytes;
  out.kernel = MakeKernel(
      "resize_nearest", [=, passes = std::move(passes), slices = request.threads](
                            const engine::Operands& p, const engine::LaunchContext& context) {
        RunPasses(passes, between, p.input(0), p.output(0), total, p.scratch(),
                  [&](const Resample<double>& pass, const void* from, void* to) {
                    CopyLines(context.threads, pass, element, from, fill.data(), to, slices);
                  });
        return Status();
      });
  return out;
}

Result<LoweredKernel> MakeResize(const KernelRequest& request) {
  if (request.node.String("mode", "nearest") == "nearest") return MakeNearest(request);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    HR_ASSIGN_OR_RETURN(auto&& passes, PassesOf<T>(request, request.input(0).dims, 1));
    const Between<T> between(passes, sizeof(T));
    const auto total = static_cast<size_t>(request.input(0).elements()) * sizeof(T);
    LoweredKernel out;
    out.scratch_bytes = 2 * between.bytes;
    out.kernel =
        MakeKernel("resize", [=, passes = std::move(passes), slices = request.threads](
                                 const engine::Operands& p, const engine::LaunchContext& context) {
          RunPasses(passes, between, p.input(0), p.output(0), total, p.scratch(),
                    [&](const Resample<T>& pass, const void* from, void* to) {
                      ResampleLines(context.threads, pass, static_cast<const T*>(from),
                                    static_cast<T*>(to), slices);
                    });
          return Status();
        });
    return out;
  });
}

// (dy, x, region?, scales?, sizes?): the passes backwards.
Result<LoweredKernel> MakeResizeGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    HR_ASSIGN_OR_RETURN(auto&& passes, PassesOf<T>(request, request.input(1).dims, 2));
    const Between<T> between(passes, sizeof(T));
    std::reverse(passes.begin(), passes.end());
    const auto total = static_cast<size_t>(request.input(0).elements()) * sizeof(T);
    LoweredKernel out;
    out.scratch_bytes = 2 * between.bytes;
    out.kernel = MakeKernel(
        "resize_grad", [=, passes = std::move(passes), slices = request.threads](
                           const engine::Operands& p, const engine::LaunchContext& context) {
          RunPasses(passes, between, p.input(0), p.output(0), total, p.scratch(),
                    [&](const Resample<T>& pass, const void* from, void* to) {
                      ResampleLinesBackward(context.threads, pass, static_cast<const T*>(from),
                                            static_cast<T*>(to), slices);
                    });
          return Status();
        });
    return out;
  });
}

constexpr KernelEntry kResizeKernels[] = {
    {"", "Resize", MakeResize},
    {"headrace.grad", "ResizeGrad", MakeResizeGrad},
};

}  // namespace

KernelPart ResizeFamily() { return ChosenKernels<kResizeKernels>(); }

}  // namespace hr::cpu
