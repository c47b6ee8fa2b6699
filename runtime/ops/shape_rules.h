// Arithmetic with dimensions and axes that type rules share. Dimensions may be symbolic or unknown;
// what then cannot be computed comes out unknown. What passes 64 bits is an error.
#pragma once

#include "runtime/ops/infer.h"

namespace hr::ops {

using graph::Dim;

inline Dim FixedDim(int64_t size) { return {.size = size}; }

// `axis` in [0, rank), counted from the end where it is negative.
Result<int64_t> ResolveAxis(const InferContext& context, int64_t axis, int64_t rank);
// The same for several axes: ascending, and none twice.
Result<std::vector<int64_t>> ResolveAxes(const InferContext& context, std::span<const int64_t> axes,
                                         int64_t rank);
// A failure unless input 0 has the axis that the attribute `axis`, `otherwise` if absent, names.
Status ExpectAxis(const InferContext& context, int64_t otherwise);
// The type of input 0, of floating-point numbers, which has the axis `axis` (the last).
Status InferAlongAxis(InferContext& context);

// The number of elements that dimensions span: fixed, or one symbol times 1, or unknown. Fails if
// those that are fixed and not 0 multiply to more than 64 bits hold.
Result<Dim> Product(const InferContext& context, std::span<const Dim> dims);
// Two dimensions that must be equal, as the better known of them. `what` begins the failure.
Result<Dim> EqualDims(const InferContext& context, std::string_view what, Dim a, Dim b);
// a + b if both are fixed. Fails if 64 bits do not hold it.
Result<Dim> SumDims(const InferContext& context, Dim a, Dim b);

// The dimensions that a shape given as an input describes: its values where it is a constant,
// unknown dimensions where only its length is known, nothing otherwise.
std::optional<std::vector<Dim>> DimsFromShapeInput(const InferContext& context, size_t i);

// Sets output `out` to `dtype` with these dimensions.
void SetDims(InferContext& context, size_t out, DType dtype, std::vector<Dim>&& dims);

// Output 0 has the dimensions of input I and the element type of input 0: most gradients.
template <size_t I>
Status InferLikeInput(InferContext& context) {
  ValueType type = context.input(I);
  type.dtype = context.input(0).dtype;
  context.SetOutput(0, std::move(type));
  return {};
}

// Fails if `small` does not broadcast to `large`.
Status CheckBroadcasts(const InferContext& context, const ValueType& small, const ValueType& large);

}  // namespace hr::ops
