#include "runtime/ops/shape_rules.h"

#include <algorithm>

namespace hr::ops {

Result<int64_t> ResolveAxis(const InferContext& context, int64_t axis, int64_t rank) {
  auto resolved = NormalizeAxis(axis, rank);
  if (resolved.ok()) return *resolved;
  return std::move(resolved).status().WithContext(context.def().name);
}

Status ExpectAxis(const InferContext& context, int64_t otherwise) {
  const ValueType& x = context.input(0);
  if (!x.ranked) return {};
  HR_RETURN_IF_ERROR(
      ResolveAxis(context, context.node().Int("axis", otherwise), x.rank()).status());
  return {};
}

Status InferAlongAxis(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectAxis(context, -1));
  return InferFloatingUnary(context);
}

Result<std::vector<int64_t>> ResolveAxes(const InferContext& context, std::span<const int64_t> axes,
                                         int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    HR_ASSIGN_OR_RETURN(int64_t resolved, ResolveAxis(context, axis, rank));
    auto at = std::lower_bound(out.begin(), out.end(), resolved);
    if (at != out.end() && *at == resolved) {
      return InvalidArgument(context.def().name, " takes each axis once, got ", axes, " for rank ",
                             rank);
    }
    out.insert(at, resolved);
  }
  return out;
}

Result<Dim> Product(const InferContext& context, std::span<const Dim> dims) {
  int64_t size = 1;
  Dim open = FixedDim(1);
  bool empty = false;
  for (Dim dim : dims) {
    if (dim == FixedDim(0)) {
      empty = true;
    } else if (dim.fixed()) {
      if (__builtin_mul_overflow(size, dim.size, &size)) {
        return InvalidArgument(context.def().name, ": the product of the dimensions ",
                               graph::DimsText(dims, context.module().symbols),
                               " does not fit into 64 bits; give smaller sizes");
      }
    } else if (open.fixed()) {
      open = dim;
    } else {
      open = {};
    }
  }
  if (empty) return FixedDim(0);
  if (open.fixed()) return FixedDim(size);
  return size == 1 ? open : Dim{};
}

Result<Dim> EqualDims(const InferContext& context, std::string_view what, Dim a, Dim b) {
  if (a.fixed() && b.fixed() && a.size != b.size) {
    return InvalidArgument(context.def().name, ": ", what, " differ: ", a.size, " and ", b.size);
  }
  if (a.fixed()) return a;
  return b.fixed() || a.symbol == graph::kNone ? b : a;
}

Result<Dim> SumDims(const InferContext& context, Dim a, Dim b) {
  if (a == FixedDim(0)) return b;
  if (b == FixedDim(0)) return a;
  if (!a.fixed() || !b.fixed()) return Dim{};
  int64_t sum;
  if (__builtin_add_overflow(a.size, b.size, &sum)) {
    return InvalidArgument(context.def().name, ": the sum of the dimensions ", a.size, " and ",
                           b.size, " does not fit into 64 bits; give smaller sizes");
  }
  return FixedDim(sum);
}

std::optional<std::vector<Dim>> DimsFromShapeInput(const InferContext& context, size_t i) {
  if (auto values = context.ConstantInts(i)) {
    std::vector<Dim> dims;
    for (int64_t value : *values) dims.push_back(value < 0 ? Dim{} : FixedDim(value));
    return dims;
  }
  const ValueType& type = context.input(i);
  if (type.rank() != 1 || !type.dims[0].fixed() || type.dims[0].size > 64) return std::nullopt;
  return std::vector<Dim>(static_cast<size_t>(type.dims[0].size));
}

void SetDims(InferContext& context, size_t out, DType dtype, std::vector<Dim>&& dims) {
  context.SetOutput(out, {.dtype = dtype, .ranked = true, .dims = std::move(dims)});
}

Status CheckBroadcasts(const InferContext& context, const ValueType& small,
                       const ValueType& large) {
  if (!small.ranked || !large.ranked) return {};
  HR_ASSIGN_OR_RETURN(auto&& dims, BroadcastTypes(context, small, large));
  bool same = dims.size() == large.dims.size();
  for (size_t i = 0; same && i < dims.size(); ++i) {
    same = dims[i] == large.dims[i] || !dims[i].fixed() || !large.dims[i].fixed();
  }
  if (same) return {};
  return InvalidArgument(context.def().name, ": ", context.Text(small), " does not broadcast to ",
                         context.Text(large));
}

}  // namespace hr::ops
