// Operators that keep the elements and change the shape, and Identity.
#include <algorithm>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kAllowZero[] = {{"allowzero", AttributeKind::kFlag}};
constexpr AttributeDef kFlattenAttributes[] = {{"axis", AttributeKind::kInt}};

// Returns what is left of `dims` when those of `taken` are divided out; unknown if it cannot be
// told. Equal symbols cancel.
Result<Dim> Remainder(const InferContext& context, std::vector<Dim> dims, std::vector<Dim> taken) {
  std::vector<Dim> divisors;
  for (Dim dim : taken) {
    auto same = std::find(dims.begin(), dims.end(), dim);
    if (dim.fixed()) {
      divisors.push_back(dim);
    } else if (dim.symbol != kNone && same != dims.end()) {
      dims.erase(same);
    } else {
      return Dim{};
    }
  }
  auto open = std::partition(dims.begin(), dims.end(), [](Dim dim) { return dim.fixed(); });
  HR_ASSIGN_OR_RETURN(const Dim size, Product(context, {dims.begin(), open}));
  HR_ASSIGN_OR_RETURN(const Dim divisor, Product(context, divisors));
  if (divisor.size == 0 || size.size % divisor.size != 0) return Dim{};
  dims.erase(dims.begin(), open);
  dims.push_back(FixedDim(size.size / divisor.size));
  return Product(context, dims);
}

// Returns the requested dimensions with 0 replaced by the input's; -1 stays unknown.
Result<std::vector<Dim>> RequestedDims(const InferContext& context,
                                       const std::vector<int64_t>& shape) {
  const ValueType& x = context.input(0);
  bool zero_copies = context.node().Int("allowzero", 0) == 0;
  std::vector<Dim> out;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < -1)
      return InvalidArgument("Reshape to ", shape, ": ", shape[i], " is not a size");
    if (shape[i] > 0 || (shape[i] == 0 && !zero_copies)) {
      out.push_back(FixedDim(shape[i]));
    } else if (shape[i] == -1 || !x.ranked) {
      out.push_back({});
    } else if (i < x.dims.size()) {
      out.push_back(x.dims[i]);
    } else {
      return InvalidArgument("Reshape to ", shape, ": dimension ", i,
                             " is 0, which copies the input's, but the input is ", context.Text(x));
    }
  }
  return out;
}

Status CheckElements(const InferContext& context, const std::vector<Dim>& out,
                     const std::vector<int64_t>& shape) {
  const ValueType& x = context.input(0);
  HR_ASSIGN_OR_RETURN(const Dim have, Product(context, x.dims));
  HR_ASSIGN_OR_RETURN(const Dim want, Product(context, out));
  if (!x.ranked || !have.fixed() || !want.fixed() || have == want) return {};
  return InvalidArgument("Reshape cannot turn ", context.Text(x), " with ", have.size,
                         " elements into ", shape, " with ", want.size);
}

// Fills in the dimension that was given as -1.
Status InferRest(const InferContext& context, size_t rest, const std::vector<int64_t>& shape,
                 std::vector<Dim>& out) {
  const ValueType& x = context.input(0);
  if (!x.ranked) return {};
  std::vector<Dim> others = out;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(rest));
  HR_ASSIGN_OR_RETURN(const Dim have, Product(context, x.dims));
  HR_ASSIGN_OR_RETURN(const Dim taken, Product(context, others));
  bool fits = !have.fixed() || !taken.fixed() || (taken.size != 0 && have.size % taken.size == 0);
  if (!fits) {
    return InvalidArgument("Reshape cannot turn ", context.Text(x), " with ", have.size,
                           " elements into ", shape, ": ", taken.size, " does not divide them");
  }
  HR_ASSIGN_OR_RETURN(out[rest], Remainder(context, x.dims, others));
  return {};
}

Status InferReshape(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectInts(1));
  const ValueType& x = context.input(0);
  auto shape = context.ConstantInts(1);
  if (!shape) {
    auto dims = DimsFromShapeInput(context, 1);
    if (dims)
      SetDims(context, 0, x.dtype, std::move(*dims));
    else
      context.SetUnranked(0, x.dtype);
    return {};
  }
  HR_ASSIGN_OR_RETURN(auto&& out, RequestedDims(context, *shape));
  auto rest = std::find(shape->begin(), shape->end(), -1);
  if (rest == shape->end()) {
    HR_RETURN_IF_ERROR(CheckElements(context, out, *shape));
  } else if (std::find(rest + 1, shape->end(), -1) != shape->end()) {
    return InvalidArgument("Reshape takes -1 once, got ", *shape);
  } else {
    HR_RETURN_IF_ERROR(InferRest(context, static_cast<size_t>(rest - shape->begin()), *shape, out));
  }
  SetDims(context, 0, x.dtype, std::move(out));
  return {};
}

Status InferFlatten(InferContext& context) {
  const ValueType& x = context.input(0);
  int64_t axis = context.node().Int("axis", 1);
  std::vector<Dim> out(2);
  if (x.ranked) {
    if (axis != x.rank()) {  // the rank itself is allowed: everything is outer
      HR_ASSIGN_OR_RETURN(axis, ResolveAxis(context, axis, x.rank()));
    }
    auto outer = std::span(x.dims).first(static_cast<size_t>(axis));
    HR_ASSIGN_OR_RETURN(out[0], Product(context, outer));
    HR_ASSIGN_OR_RETURN(out[1], Product(context, std::span(x.dims).subspan(outer.size())));
  }
  SetDims(context, 0, x.dtype, std::move(out));
  return {};
}

// Returns the axes that input 1 gives; nothing if their value is not known. A scalar is one axis,
// as it is elsewhere, though ONNX asks for a list.
Result<std::optional<std::vector<int64_t>>> AxesInput(const InferContext& context, int64_t rank) {
  const bool scalar = context.input(1).rank() == 0;
  HR_RETURN_IF_ERROR(scalar ? context.ExpectIndices(1) : context.ExpectInts(1));
  auto axes = context.ConstantInts(1);
  if (!axes) return std::optional<std::vector<int64_t>>();
  HR_ASSIGN_OR_RETURN(auto&& resolved, ResolveAxes(context, *axes, rank));
  return std::optional(std::move(resolved));
}

Status InferSqueeze(InferContext& context) {
  const ValueType& x = context.input(0);
  context.SetUnranked(0, x.dtype);
  if (!x.ranked) return {};
  std::vector<Dim> out;
  if (!context.has_input(1)) {
    for (Dim dim : x.dims) {
      if (!dim.fixed()) return {};  // it may be 1
      if (dim.size != 1) out.push_back(dim);
    }
    SetDims(context, 0, x.dtype, std::move(out));
    return {};
  }
  HR_ASSIGN_OR_RETURN(auto&& axes, AxesInput(context, x.rank()));
  if (!axes) return {};
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (!std::binary_search(axes->begin(), axes->end(), static_cast<int64_t>(i))) {
      out.push_back(x.dims[i]);
    } else if (x.dims[i].fixed() && x.dims[i].size != 1) {
      return InvalidArgument("Squeeze removes dimensions of size 1, dimension ", i, " of ",
                             context.Text(x), " is not");
    }
  }
  SetDims(context, 0, x.dtype, std::move(out));
  return {};
}

Status InferUnsqueeze(InferContext& context) {
  const ValueType& x = context.input(0);
  context.SetUnranked(0, x.dtype);
  auto count = DimsFromShapeInput(context, 1);
  if (!x.ranked || !count) return {};
  int64_t rank = x.rank() + static_cast<int64_t>(count->size());
  std::vector<Dim> out(static_cast<size_t>(rank));
  HR_ASSIGN_OR_RETURN(auto&& axes, AxesInput(context, rank));
  if (axes) {
    auto next = x.dims.begin();
    for (int64_t i = 0; i < rank; ++i) {
      bool added = std::binary_search(axes->begin(), axes->end(), i);
      out[static_cast<size_t>(i)] = added ? FixedDim(1) : *next++;
    }
  }
  SetDims(context, 0, x.dtype, std::move(out));
  return {};
}

Status InferReshapeLike(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const Dim have, Product(context, context.input(0).dims));
  HR_ASSIGN_OR_RETURN(const Dim want, Product(context, context.input(1).dims));
  bool known = context.input(0).ranked && context.input(1).ranked && have.fixed() && want.fixed();
  if (known && have != want) {
    return InvalidArgument("ReshapeLike cannot turn ", context.Text(context.input(0)), " into ",
                           context.Text(context.input(1)));
  }
  return InferLikeInput<1>(context);
}

void IdentityGradient(GradientContext& g) { g.SetGrad(0, g.grad(0)); }

void BackToInputShape(GradientContext& g) { g.SetGrad(0, g.ReshapeLike(g.grad(0), g.input(0))); }

constexpr OpDef kReshapeOps[] = {
    {.domain = kOnnx,
     .name = "Identity",
     .containers = true,
     .infer = InferSameAsInput,
     .gradient = IdentityGradient},
    // (x, shape) → x in that shape; 0 copies a dimension, -1 takes what is left
    {.domain = kOnnx,
     .name = "Reshape",
     .since_version = 5,
     .inputs = {2, 2},
     .infer = InferReshape,
     .gradient = BackToInputShape},
    {.domain = kOnnx,
     .name = "Reshape",
     .since_version = 14,
     .inputs = {2, 2},
     .attributes = kAllowZero,
     .infer = InferReshape,
     .gradient = BackToInputShape},
    {.domain = kOnnx,
     .name = "Flatten",
     .since_version = 1,
     .attributes = kFlattenAttributes,
     .infer = InferFlatten,
     .gradient = BackToInputShape},
    // (x, axes?)
    {.domain = kOnnx,
     .name = "Squeeze",
     .since_version = 13,
     .inputs = {1, 2},
     .infer = InferSqueeze,
     .gradient = BackToInputShape},
    {.domain = kOnnx,
     .name = "Unsqueeze",
     .since_version = 13,
     .inputs = {2, 2},
     .infer = InferUnsqueeze,
     .gradient = BackToInputShape},
    // (x, like) → x in the shape of like, of which only the type is used
    {.domain = kGrad,
     .name = "ReshapeLike",
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .infer = InferReshapeLike,
     .gradient = BackToInputShape},
};

}  // namespace

OpFamily ReshapeOps() { return Chosen<kReshapeOps>(); }

}  // namespace hr::ops
