#include "backends/cpu/kernels/unfold.h"

#include <algorithm>

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {
namespace {

template <typename Size>
int64_t ProductOf(const UnfoldShape& shape, Size UnfoldAxis::*size) {
  int64_t product = 1;
  for (const UnfoldAxis& axis : shape.axes) product *= axis.*size;
  return product;
}

// The positions of the last axis whose element is inside the image.
Range Inside(const UnfoldAxis& axis, int64_t element) {
  const int64_t first = element * axis.dilation - axis.pad;  // of position 0
  const int64_t begin = first >= 0 ? 0 : (-first + axis.stride - 1) / axis.stride;
  const int64_t room = axis.image - first;
  const int64_t end =
      room <= 0 ? 0 : std::min(axis.positions, (room + axis.stride - 1) / axis.stride);
  return {std::min(begin, end), end};
}

// Where the image has element `element` of the block at position `position`, both of all axes but
// the last; -1 if that is in the padding.
int64_t LineOf(const UnfoldShape& shape, int64_t element, int64_t position) {
  int64_t line = 0, scale = 1;
  for (size_t i = shape.axes.size() - 1; i-- > 0;) {
    const UnfoldAxis& axis = shape.axes[i];
    const int64_t at =
        position % axis.positions * axis.stride + element % axis.block * axis.dilation - axis.pad;
    if (at < 0 || at >= axis.image) return -1;
    line += at * scale;
    scale *= axis.image;
    position /= axis.positions;
    element /= axis.block;
  }
  return line;
}

// Calls body(in the columns, in the image, count) for runs along the last axis, which are
// consecutive in the columns and a stride apart in the image.
template <typename Body>
void ForRuns(const UnfoldShape& shape, Body&& body) {
  const UnfoldAxis& last = shape.axes.back();
  const int64_t block = shape.Block(), positions = shape.Positions();
  for (int64_t element = 0; element < block; ++element) {
    const int64_t column = element % last.block;
    const Range inside = Inside(last, column);
    if (inside.size() == 0) continue;
    for (int64_t line = 0; line < positions / last.positions; ++line) {
      const int64_t row = LineOf(shape, element / last.block, line);
      if (row < 0) continue;
      const int64_t at = inside.begin * last.stride + column * last.dilation - last.pad;
      body(element * positions + line * last.positions + inside.begin, row * last.image + at,
           inside.size());
    }
  }
}

}  // namespace

int64_t UnfoldShape::Image() const { return ProductOf(*this, &UnfoldAxis::image); }
int64_t UnfoldShape::Block() const { return ProductOf(*this, &UnfoldAxis::block); }
int64_t UnfoldShape::Positions() const { return ProductOf(*this, &UnfoldAxis::positions); }

int UnfoldRanges(const UnfoldShape& shape, int slices) {
  return RangeCount(shape.planes, shape.Block() * shape.Positions(), slices);
}

template <typename T>
void ColumnsToImage(const Lease& threads, const UnfoldShape& shape, const T* columns, T* image,
                    int ranges) {
  const int64_t size = shape.Image(), step = shape.axes.back().stride;
  const int64_t plane_columns = shape.Block() * shape.Positions();
  ForRanges(threads, shape.planes, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) {
      const T* from = columns + p * plane_columns;
      T* to = image + p * size;
      std::fill_n(to, size, T{0});
      ForRuns(shape, [&](int64_t column, int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          to[at + i * step] = static_cast<T>(to[at + i * step] + from[column + i]);
        }
      });
    }
  });
}

template <typename T>
void ImageToColumns(const Lease& threads, const UnfoldShape& shape, const T* image, T* columns,
                    int ranges) {
  const int64_t size = shape.Image(), step = shape.axes.back().stride;
  const int64_t plane_columns = shape.Block() * shape.Positions();
  ForRanges(threads, shape.planes, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) {
      const T* from = image + p * size;
      T* to = columns + p * plane_columns;
      std::fill_n(to, plane_columns, T{0});
      ForRuns(shape, [&](int64_t column, int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) to[column + i] = from[at + i * step];
      });
    }
  });
}

#define HR_INSTANTIATE(T) \
  template void ColumnsToImage(const Lease&, const UnfoldShape&, const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
HR_INSTANTIATE(uint8_t);
HR_INSTANTIATE(uint16_t);
HR_INSTANTIATE(uint32_t);
HR_INSTANTIATE(uint64_t);
#undef HR_INSTANTIATE
template void ImageToColumns(const Lease&, const UnfoldShape&, const float*, float*, int);
template void ImageToColumns(const Lease&, const UnfoldShape&, const double*, double*, int);

}  // namespace hr::cpu
