// Transpose, Concat, Split, Slice, Expand, Tile and their like: lists of strided copies.
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/moves.h"
#include "backends/cpu/ops/request.h"
#include "runtime/lowering/transpose_axes.h"
#include "runtime/ops/slice_range.h"

namespace hr::cpu {
namespace {

Result<LoweredKernel> MakeTranspose(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const Dims strides = ContiguousStrides(dims);
  Dims from;
  for (int64_t axis : lowering::PermutationOf(request.node, dims.size()))
    from.push_back(strides[static_cast<size_t>(axis)]);
  const Dims& out = request.outputs[0].dims;
  HR_ASSIGN_OR_RETURN(Move move, MoveOf(request, out, ContiguousStrides(out), from));
  return KernelOf("transpose", {std::move(move)});
}

Result<LoweredKernel> MakeConcat(const KernelRequest& request) {
  const Dims& whole = request.outputs[0].dims;
  const size_t axis = AxisOf(request.node, 0, whole.size());
  const Dims to = ContiguousStrides(whole);
  std::vector<Move> moves;
  int64_t at = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Dims& part = request.input(i).dims;
    HR_ASSIGN_OR_RETURN(Move move,
                        MoveOf(request, part, to, ContiguousStrides(part), at * to[axis]));
    move.from = i;
    moves.push_back(std::move(move));
    at += part[axis];
  }
  return KernelOf("concat", std::move(moves));
}

Result<LoweredKernel> MakeSplit(const KernelRequest& request) {
  const Dims& whole = request.input(0).dims;
  const size_t axis = AxisOf(request.node, 0, whole.size());
  const Dims from = ContiguousStrides(whole);
  // Outputs that nobody asked for are skipped, but the next one still begins behind them.
  HR_ASSIGN_OR_RETURN(const auto sizes, KnownInts(request, 1));
  const auto count = static_cast<int64_t>(request.outputs.size());
  const int64_t even = (whole[axis] + count - 1) / count;
  std::vector<Move> moves;
  int64_t at = 0;
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (request.has_output(i)) {
      const Dims& part = request.outputs[i].dims;
      HR_ASSIGN_OR_RETURN(Move move,
                          MoveOf(request, part, ContiguousStrides(part), from, 0, at * from[axis]));
      move.to = i;
      moves.push_back(std::move(move));
    }
    at += sizes ? (*sizes)[i] : even;
  }
  return KernelOf("split", std::move(moves));
}

// The box that a Slice takes of a tensor.
struct SliceBox {
  Dims dims, strides;
  int64_t offset = 0;
};

// The inputs starts, ends, axes? and steps? stand at `first`.
Result<SliceBox> SliceOf(const KernelRequest& request, const Dims& dims, size_t first) {
  HR_ASSIGN_OR_RETURN(auto&& starts, KnownInts(request, first));
  HR_ASSIGN_OR_RETURN(auto&& ends, KnownInts(request, first + 1));
  HR_ASSIGN_OR_RETURN(auto&& axes, KnownInts(request, first + 2));
  HR_ASSIGN_OR_RETURN(auto&& steps, KnownInts(request, first + 3));
  SliceBox box{dims, ContiguousStrides(dims)};
  for (size_t i = 0; i < starts->size(); ++i) {
    const size_t at = axes ? FrontAxis((*axes)[i], dims.size()) : i;
    const ops::SliceRange range =
        ops::ResolveSlice(dims[at], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
    box.offset += range.start * box.strides[at];
    // The step of one element or none goes nowhere, and may be too large to multiply.
    box.strides[at] = range.count > 1 ? box.strides[at] * range.step : 0;
    box.dims[at] = range.count;
  }
  return box;
}

Result<LoweredKernel> MakeSlice(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const SliceBox box, SliceOf(request, request.input(0).dims, 1));
  HR_ASSIGN_OR_RETURN(Move move, MoveOf(request, box.dims, ContiguousStrides(box.dims), box.strides,
                                        0, box.offset));
  return KernelOf("slice", {std::move(move)});
}

// (dy, x, starts, ends, axes?, steps?)
Result<LoweredKernel> MakeSliceGrad(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const SliceBox box, SliceOf(request, request.outputs[0].dims, 2));
  HR_ASSIGN_OR_RETURN(
      Move move, MoveOf(request, box.dims, box.strides, ContiguousStrides(box.dims), box.offset));
  return KernelOf("slice_grad", {std::move(move)}, BackgroundOf(request));
}

// Expand and ExpandLike: axes of size 1 are read again and again.
Result<LoweredKernel> MakeExpand(const KernelRequest& request) {
  const Dims& x = request.input(0).dims;
  const Dims& out = request.outputs[0].dims;
  const Dims strides = ContiguousStrides(x);
  Dims from(out.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 1) from[out.size() - x.size() + i] = strides[i];
  }
  HR_ASSIGN_OR_RETURN(Move move, MoveOf(request, out, ContiguousStrides(out), from));
  return KernelOf("expand", {std::move(move)});
}

// The output [r0 * d0, …] is seen as [r0, d0, …].
Result<LoweredKernel> MakeTile(const KernelRequest& request) {
  const Dims& x = request.input(0).dims;
  const Dims& whole = request.outputs[0].dims;
  const Dims strides = ContiguousStrides(x);
  Dims dims;
  Dims from;
  for (size_t i = 0; i < x.size(); ++i) {
    dims.push_back(x[i] == 0 ? 0 : whole[i] / x[i]);
    from.push_back(0);
    dims.push_back(x[i]);
    from.push_back(strides[i]);
  }
  HR_ASSIGN_OR_RETURN(Move move, MoveOf(request, dims, ContiguousStrides(dims), from));
  return KernelOf("tile", {std::move(move)});
}

constexpr KernelEntry kMovementKernels[] = {
    {"", "Transpose", MakeTranspose},
    {"", "Concat", MakeConcat},
    {"", "Split", MakeSplit},
    {"", "Slice", MakeSlice},
    {"", "Expand", MakeExpand},
    {"", "Tile", MakeTile},
    {"headrace.grad", "SliceGrad", MakeSliceGrad},
    {"headrace.grad", "ExpandLike", MakeExpand},
};

}  // namespace

KernelPart MovementFamily() { return ChosenKernels<kMovementKernels>(); }

}  // namespace hr::cpu
