#include "backends/cpu/ops/batch_axes.h"

#include <algorithm>

namespace hr::cpu {

StridedDims StridedDims::Dense(const Dims& dims) { return {dims, ContiguousStrides(dims)}; }

StridedDims StridedDims::Seen(const Dims& memory, std::span<const int64_t> axes) {
  const StridedDims own = Dense(memory);
  if (axes.empty()) return own;
  StridedDims out;
  for (int64_t axis : axes) {
    out.dims.push_back(own.dims[static_cast<size_t>(axis)]);
    out.strides.push_back(own.strides[static_cast<size_t>(axis)]);
  }
  return out;
}

Result<BatchAxes> BatchOf(const Dims& a, const Dims& b) {
  return BatchOf(StridedDims::Dense(a), StridedDims::Dense(b));
}

Result<BatchAxes> BatchOf(const StridedDims& a, const StridedDims& b) {
  auto outer = [](const Dims& dims) {
    return Dims(dims.begin(),
                dims.end() - static_cast<ptrdiff_t>(std::min<size_t>(2, dims.size())));
  };
  const Dims outer_a = outer(a.dims), outer_b = outer(b.dims);
  BatchAxes out;
  HR_ASSIGN_OR_RETURN(out.dims, BroadcastDims(outer_a, outer_b));
  auto strides = [&](const Dims& dims, const StridedDims& whole) {
    Dims result(out.dims.size(), 0);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1) result[result.size() - dims.size() + i] = whole.strides[i];
    }
    return result;
  };
  out.a_strides = strides(outer_a, a);
  out.b_strides = strides(outer_b, b);
  return out;
}

int64_t OffsetOf(const BatchAxes& axes, const Dims& strides, int64_t index) {
  int64_t offset = 0;
  for (size_t i = axes.dims.size(); i-- > 0; index /= axes.dims[i]) {
    offset += index % axes.dims[i] * strides[i];
  }
  return offset;
}

}  // namespace hr::cpu
