#include "backends/cpu/kernels/indexing.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/kernels/quantize.h"
#include "backends/cpu/kernels/ranges.h"
#include "backends/cpu/kernels/scatter.h"

namespace hr::cpu {
namespace {

// Where in an axis of `size` elements a checked index points.
int64_t Position(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

Status CheckIndex(int64_t index, int64_t at, int64_t size) {
  if (index >= -size && index < size) return {};
  return OutOfRange("index ", index, " at position ", at, " lies outside [", -size, ", ", size,
                    "), for the axis has ", size, " elements");
}

Status CheckIndices(IntView indices, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = indices[i];
    if (index < -size || index >= size) return CheckIndex(index, i, size);
  }
  return {};
}

template <typename U>
void CopyBlock(const U* from, int64_t count, U* to) {
  if (count == 1) {
    *to = *from;
  } else {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(U));
  }
}

}  // namespace

int GatherRanges(const GatherShape& shape, int slices) {
  constexpr int64_t kOverhead = 4;  // of a block, in elements
  return RangeCount(shape.outer * shape.count, shape.inner + kOverhead, slices);
}

Status Gather(const Lease& threads, const GatherShape& shape, size_t element_bytes,
              const void* data, IntView indices, void* y, int ranges) {
  if (shape.outer * shape.count * shape.inner == 0) return {};
  HR_RETURN_IF_ERROR(CheckIndices(indices, shape.count, shape.size));
  ForElementSize(element_bytes, [&]<typename U>() {
    ForRanges(threads, shape.outer * shape.count, ranges, [&](int64_t begin, int64_t end, int) {
      int64_t outer = begin / shape.count;
      int64_t i = begin % shape.count;
      U* to = static_cast<U*>(y) + begin * shape.inner;
      for (int64_t block = begin; block < end; ++block, to += shape.inner) {
        const int64_t at = outer * shape.size + Position(indices[i], shape.size);
        CopyBlock(static_cast<const U*>(data) + at * shape.inner, shape.inner, to);
        if (++i < shape.count) continue;
        i = 0;
        ++outer;
      }
    });
  });
  return {};
}

void GatherOrZero(const Lease& threads, const GatherShape& shape, size_t element_bytes,
                  const void* rows, IntView indices, void* y, int ranges) {
  const size_t bytes = static_cast<size_t>(shape.inner) * element_bytes;
  if (bytes == 0) return;
  ForRanges(threads, shape.count, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = indices[i];
      char* const to = static_cast<char*>(y) + static_cast<size_t>(i) * bytes;
      if (index < 0 || index >= shape.size) {
        std::memset(to, 0, bytes);
      } else {
        std::memcpy(to, static_cast<const char*>(rows) + static_cast<size_t>(index) * bytes, bytes);
      }
    }
  });
}

Status GatherWidened(const Lease& threads, const GatherShape& shape, const NarrowTable& table,
                     IntView indices, float* y, int ranges) {
  if (shape.count * shape.inner == 0) return {};
  HR_RETURN_IF_ERROR(CheckIndices(indices, shape.count, shape.size));
  const bool bytes = DTypeSize(table.dtype) == 1, is_signed = table.dtype == DType::kInt8;
  const ConvertLoop widen = LoaderFor(table.dtype, ElementType::kFloat);
  const auto row_bytes = shape.inner * static_cast<int64_t>(DTypeSize(table.dtype));
  const auto zero_of = [&](int64_t at) {
    if (table.zeros == nullptr) return 0.0f;
    return is_signed ? static_cast<float>(static_cast<const int8_t*>(table.zeros)[at])
                     : static_cast<float>(static_cast<const uint8_t*>(table.zeros)[at]);
  };
  ForRanges(threads, shape.count, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = Position(indices[i], shape.size);
      const char* const from = static_cast<const char*>(table.numbers) + row * row_bytes;
      const int64_t at = table.scale_of_row ? row : 0;
      if (bytes) {
        DequantizeRun(from, is_signed, shape.inner, table.scales[at], zero_of(at),
                      y + i * shape.inner);
      } else {
        widen(from, y + i * shape.inner, shape.inner);
      }
    }
  });
  return {};
}

// Ranges take columns where there is one outer index, so that no two write one element.
int GatherGradRanges(const GatherShape& shape, int slices) {
  const int64_t units = shape.outer == 1 ? shape.inner : shape.outer;
  const int64_t total = shape.outer * shape.inner * (shape.count + shape.size);
  return RangeCount(units, total / std::max<int64_t>(1, units), slices);
}

template <typename T>
Status GatherGrad(const Lease& threads, const GatherShape& shape, const T* dy, IntView indices,
                  T* dx, int ranges) {
  if (shape.outer * shape.count * shape.inner != 0) {
    HR_RETURN_IF_ERROR(CheckIndices(indices, shape.count, shape.size));
  }
  const bool by_columns = shape.outer == 1;
  const auto add = [&](int64_t outer, int64_t first, int64_t last) {
    T* to = dx + outer * shape.size * shape.inner;
    const T* from = dy + outer * shape.count * shape.inner;
    for (int64_t i = 0; i < shape.size; ++i) {
      std::fill(to + i * shape.inner + first, to + i * shape.inner + last, T(0));
    }
    for (int64_t i = 0; i < shape.count; ++i, from += shape.inner) {
      T* row = to + Position(indices[i], shape.size) * shape.inner;
      for (int64_t j = first; j < last; ++j) row[j] += from[j];
    }
  };
  ForRanges(threads, by_columns ? shape.inner : shape.outer, ranges,
            [&](int64_t begin, int64_t end, int) {
              if (by_columns) return add(0, begin, end);
              for (int64_t outer = begin; outer < end; ++outer) add(outer, 0, shape.inner);
            });
  return {};
}

int ElementsRanges(const ElementsShape& shape, int slices) {
  constexpr int64_t kCost = 4;  // against streaming
  return RangeCount(shape.rows.elements(), kCost * shape.length, slices);
}

Status GatherElements(const Lease& threads, const ElementsShape& shape, size_t element_bytes,
                      const void* data, IntView indices, void* y, int ranges) {
  const int64_t rows = shape.rows.elements();
  HR_RETURN_IF_ERROR(CheckIndices(indices, rows * shape.length, shape.size));
  ForElementSize(element_bytes, [&]<typename U>() {
    ForRanges(threads, rows, ranges, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const U* from = static_cast<const U*>(data) + shape.rows.Offset(row);
        const int64_t first = row * shape.length;
        for (int64_t j = 0; j < shape.length; ++j, from += shape.step) {
          const int64_t at = Position(indices[first + j], shape.size);
          static_cast<U*>(y)[first + j] = from[at * shape.stride];
        }
      }
    });
  });
  return {};
}

template <typename T>
Status ScatterElements(const ElementsShape& shape, Scatter scatter, const T* updates,
                       IntView indices, T* y) {
  const int64_t rows = shape.rows.elements();
  HR_RETURN_IF_ERROR(CheckIndices(indices, rows * shape.length, shape.size));
  ForScatter<T>(scatter, [&](const auto& meet) {
    for (int64_t row = 0, i = 0; row < rows; ++row) {
      T* to = y + shape.rows.Offset(row);
      for (int64_t j = 0; j < shape.length; ++j, ++i, to += shape.step) {
        T& element = to[Position(indices[i], shape.size) * shape.stride];
        element = meet(element, updates[i]);
      }
    }
  });
  return {};
}

namespace {

Status CheckPlaces(const PlacesShape& shape, const int64_t* indices) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    for (int i = 0; i < shape.axes.count; ++i) {
      const int64_t at = row * shape.axes.count + i;
      HR_RETURN_IF_ERROR(CheckIndex(indices[at], at, shape.axes.dims[i]));
    }
  }
  return {};
}

// Where the block that row `row` of the indices names begins.
int64_t PlaceOf(const PlacesShape& shape, const int64_t* indices, int64_t row) {
  int64_t offset = row / shape.rows_per_batch * shape.batch_stride;
  for (int i = 0; i < shape.axes.count; ++i) {
    const int64_t index = indices[row * shape.axes.count + i];
    offset += Position(index, shape.axes.dims[i]) * shape.axes.strides[i];
  }
  return offset;
}

}  // namespace

int PlacesRanges(const PlacesShape& shape, int slices) {
  return RangeCount(shape.rows, shape.inner + 4 * shape.axes.count, slices);
}

Status GatherND(const Lease& threads, const PlacesShape& shape, size_t element_bytes,
                const void* data, const int64_t* indices, void* y, int ranges) {
  HR_RETURN_IF_ERROR(CheckPlaces(shape, indices));
  ForElementSize(element_bytes, [&]<typename U>() {
    ForRanges(threads, shape.rows, ranges, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        CopyBlock(static_cast<const U*>(data) + PlaceOf(shape, indices, row), shape.inner,
                  static_cast<U*>(y) + row * shape.inner);
      }
    });
  });
  return {};
}

template <typename T>
Status ScatterND(const PlacesShape& shape, Scatter scatter, const T* updates,
                 const int64_t* indices, T* y) {
  HR_RETURN_IF_ERROR(CheckPlaces(shape, indices));
  ForScatter<T>(scatter, [&](const auto& meet) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      T* to = y + PlaceOf(shape, indices, row);
      const T* from = updates + row * shape.inner;
      for (int64_t j = 0; j < shape.inner; ++j) to[j] = meet(to[j], from[j]);
    }
  });
  return {};
}

template Status GatherGrad(const Lease&, const GatherShape&, const float*, IntView, float*, int);
template Status GatherGrad(const Lease&, const GatherShape&, const double*, IntView, double*, int);

#define HR_INSTANTIATE(T)                                                                \
  template Status ScatterElements(const ElementsShape&, Scatter, const T*, IntView, T*); \
  template Status ScatterND(const PlacesShape&, Scatter, const T*, const int64_t*, T*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
HR_INSTANTIATE(int32_t);
HR_INSTANTIATE(int64_t);
HR_INSTANTIATE(uint8_t);
HR_INSTANTIATE(uint16_t);
HR_INSTANTIATE(uint32_t);
HR_INSTANTIATE(uint64_t);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
