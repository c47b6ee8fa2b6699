#include "runtime/base/shape.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr {

Result<int64_t> CheckedElementCount(std::span<const int64_t> dims, size_t element_bytes) {
  auto bytes = static_cast<int64_t>(element_bytes);
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return InvalidArgument("shape ", dims, " has a negative dimension");
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > kMaxTensorBytes) {
      return InvalidArgument("a tensor of shape ", dims,
                             " is too large: its dimensions, those of size 0 aside, times ",
                             element_bytes,
                             " bytes an element may be at most 2^56; give smaller sizes");
    }
  }
  return empty ? 0 : bytes / static_cast<int64_t>(element_bytes);
}

int64_t ElementCount(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

Dims ContiguousStrides(std::span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Result<Dims> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) {
      return InvalidArgument("shapes ", a, " and ", b, " do not broadcast: dimensions ", da,
                             " and ", db, " differ and neither is 1");
    }
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

Result<int64_t> NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return OutOfRange("axis ", axis, " lies outside [", -rank, ", ", rank, ") for rank ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace hr
