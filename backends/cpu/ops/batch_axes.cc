#include "backends/cpu/ops/batch_axes.h"

#include <algorithm>

namespace hr::cpu {

Result<BatchAxes> BatchOf(const Dims& a, const Dims& b) {
  auto outer = [](const Dims& dims) {
    return Dims(dims.begin(),
                dims.end() - static_cast<ptrdiff_t>(std::min<size_t>(2, dims.size())));
  };
  Dims outer_a = outer(a);
  Dims outer_b = outer(b);
  BatchAxes out;
  HR_ASSIGN_OR_RETURN(out.dims, BroadcastDims(outer_a, outer_b));
  auto strides = [&](const Dims& dims, const Dims& whole) {
    Dims result(out.dims.size(), 0);
    int64_t stride =
        whole.size() >= 2 ? whole[whole.size() - 1] * whole[whole.size() - 2] : ElementCount(whole);
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t from = dims.size() - 1 - i;
      if (dims[from] != 1) result[result.size() - 1 - i] = stride;
      stride *= dims[from];
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
