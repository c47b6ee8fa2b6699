// Pad and its gradient.
#include <algorithm>

#include "backends/cpu/kernels/mapped_copy.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/moves.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// Returns how many positions each axis has before its first. `pads_input` and `axes_input` say
// which inputs they are.
Result<Dims> PadsBefore(const KernelRequest& request, size_t rank, size_t pads_input,
                        size_t axes_input) {
  HR_ASSIGN_OR_RETURN(const auto pads, KnownInts(request, pads_input));
  HR_ASSIGN_OR_RETURN(const auto axes, KnownInts(request, axes_input));
  Dims before(rank, 0);
  for (size_t i = 0; i < pads->size() / 2; ++i) {
    before[axes ? FrontAxis((*axes)[i], rank) : i] = (*pads)[i];
  }
  return before;
}

// The part of the small tensor that is in the large one: all of it, if no pad is negative.
struct Inside {
  Dims dims;
  int64_t small_offset = 0, large_offset = 0;
};

Inside InsideOf(const Dims& small, const Dims& large, const Dims& before) {
  const Dims small_strides = ContiguousStrides(small), large_strides = ContiguousStrides(large);
  Inside inside;
  for (size_t i = 0; i < small.size(); ++i) {
    const int64_t begin = std::max<int64_t>(0, before[i]);
    const int64_t end = std::min(large[i], before[i] + small[i]);
    inside.dims.push_back(std::max<int64_t>(0, end - begin));
    inside.large_offset += begin * large_strides[i];
    inside.small_offset += (begin - before[i]) * small_strides[i];
  }
  return inside;
}

// Where position `at` of a padded axis comes from.
int64_t SourceOf(std::string_view mode, int64_t at, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  const auto wrapped = [&](int64_t period) { return (at % period + period) % period; };
  if (mode == "wrap") return wrapped(size);
  if (size == 1) return 0;
  const int64_t place = wrapped(2 * (size - 1));  // reflect
  return place < size ? place : 2 * (size - 1) - place;
}

Result<MappedShape> MappingOf(const KernelRequest& request, const Dims& small, const Dims& large,
                              const Dims& before) {
  const std::string_view mode = request.node.String("mode", "constant");
  const Dims strides = ContiguousStrides(small);
  MappedShape shape;
  for (size_t i = 0; i < small.size(); ++i) {
    if (small[i] == 0 && large[i] != 0) {
      return InvalidArgument("Pad by '", mode, "' has nothing to repeat along axis ", i, " of ",
                             ShapeText(small));
    }
    std::vector<int64_t> offsets;
    for (int64_t at = 0; at < large[i]; ++at) {
      offsets.push_back(SourceOf(mode, at - before[i], small[i]) * strides[i]);
    }
    shape.offsets.push_back(std::move(offsets));
  }
  if (small.empty()) shape.offsets.push_back({0});
  shape.rows = large.empty() ? 1 : ElementCount(std::span(large).first(large.size() - 1));
  return shape;
}

bool IsConstantMode(const KernelRequest& request) {
  return request.node.String("mode", "constant") == "constant";
}

// (x, pads, value?, axes?)
Result<LoweredKernel> MakePad(const KernelRequest& request) {
  const Dims& small = request.input(0).dims;
  const Dims& large = request.outputs[0].dims;
  HR_ASSIGN_OR_RETURN(const Dims before, PadsBefore(request, small.size(), 1, 3));
  if (IsConstantMode(request)) {
    const Inside inside = InsideOf(small, large, before);
    HR_ASSIGN_OR_RETURN(
        Move move, MoveOf(request, inside.dims, ContiguousStrides(large), ContiguousStrides(small),
                          inside.large_offset, inside.small_offset));
    const size_t value = request.input(2).present ? 2 : Background::kZero;
    return KernelOf("pad", {std::move(move)}, BackgroundOf(request, value));
  }
  HR_ASSIGN_OR_RETURN(MappedShape shape, MappingOf(request, small, large, before));
  const size_t bytes = DTypeSize(request.input(0).dtype);
  LoweredKernel out;
  out.kernel = MakeKernel(
      "pad_mapped",
      [=, shape = std::move(shape)](const engine::Operands& p, const engine::LaunchContext&) {
        MappedCopy(shape, bytes, p.input(0), p.output(0));
        return Status();
      });
  return out;
}

// (dy, x, pads, axes?)
Result<LoweredKernel> MakePadGrad(const KernelRequest& request) {
  const Dims& small = request.outputs[0].dims;
  const Dims& large = request.input(0).dims;
  HR_ASSIGN_OR_RETURN(const Dims before, PadsBefore(request, small.size(), 2, 3));
  if (IsConstantMode(request)) {
    const Inside inside = InsideOf(small, large, before);
    HR_ASSIGN_OR_RETURN(
        Move move, MoveOf(request, inside.dims, ContiguousStrides(small), ContiguousStrides(large),
                          inside.small_offset, inside.large_offset));
    return KernelOf("pad_grad", {std::move(move)}, BackgroundOf(request));
  }
  HR_ASSIGN_OR_RETURN(MappedShape shape, MappingOf(request, small, large, before));
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    const int64_t elements = ElementCount(small);
    LoweredKernel out;
    out.kernel =
        MakeKernel("pad_mapped_grad", [=](const engine::Operands& p, const engine::LaunchContext&) {
          MappedAdd<T>(shape, p.input<T>(0), elements, p.output<T>(0));
          return Status();
        });
    return out;
  });
}

constexpr KernelEntry kPadKernels[] = {
    {"", "Pad", MakePad},
    {"headrace.grad", "PadGrad", MakePadGrad},
};

}  // namespace

KernelPart PadFamily() { return ChosenKernels<kPadKernels>(); }

}  // namespace hr::cpu
