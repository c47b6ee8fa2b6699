#include "backends/cpu/kernels/mapped_copy.h"

#include <algorithm>

#include "backends/cpu/kernels/element_size.h"

namespace hr::cpu {
namespace {

// Calls body(row, offset of the row in the small tensor).
template <typename Body>
void ForRows(const MappedShape& shape, const Body& body) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    int64_t rest = row;
    int64_t offset = 0;
    for (size_t axis = shape.offsets.size() - 1; axis-- > 0;) {
      const auto count = static_cast<int64_t>(shape.offsets[axis].size());
      offset += shape.offsets[axis][static_cast<size_t>(rest % count)];
      rest /= count;
    }
    body(row, offset);
  }
}

}  // namespace

void MappedCopy(const MappedShape& shape, size_t element_bytes, const void* small, void* large) {
  const std::vector<int64_t>& columns = shape.offsets.back();
  ForElementSize(element_bytes, [&]<typename U>() {
    auto* to = static_cast<U*>(large);
    ForRows(shape, [&](int64_t, int64_t offset) {
      const U* from = static_cast<const U*>(small) + offset;
      for (int64_t column : columns) *to++ = from[column];
    });
  });
}

template <typename T>
void MappedAdd(const MappedShape& shape, const T* large, int64_t small_elements, T* small) {
  const std::vector<int64_t>& columns = shape.offsets.back();
  std::fill_n(small, small_elements, T(0));
  ForRows(shape, [&](int64_t, int64_t offset) {
    for (int64_t column : columns) small[offset + column] += *large++;
  });
}

template void MappedAdd(const MappedShape&, const float*, int64_t, float*);
template void MappedAdd(const MappedShape&, const double*, int64_t, double*);

}  // namespace hr::cpu
