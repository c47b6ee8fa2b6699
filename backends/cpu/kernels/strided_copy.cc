#include "backends/cpu/kernels/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/kernels/ranges.h"
#include "runtime/base/errors.h"

namespace hr::cpu {
namespace {

struct Axis {
  int64_t dim, to, from;
};

// Outermost first.
std::vector<Axis> JoinAxes(std::span<const int64_t> dims, std::span<const int64_t> to,
                           std::span<const int64_t> from) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const Axis next{dims[i], to[i], from[i]};
    const bool joins = !axes.empty() && axes.back().to == next.to * next.dim &&
                       axes.back().from == next.from * next.dim;
    if (joins) {
      axes.back() = {axes.back().dim * next.dim, next.to, next.from};
    } else {
      axes.push_back(next);
    }
  }
  return axes;
}

// Makes the axis that is contiguous in `from` the last but one, where the last one is not.
void PlaceTransposedAxis(std::vector<Axis>& axes) {
  if (axes.size() < 3 || axes.back().from == 1 || axes.back().from == 0) return;
  for (size_t i = 0; i + 2 < axes.size(); ++i) {
    if (axes[i].from != 1) continue;
    const Axis contiguous = axes[i];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    axes.insert(axes.end() - 1, contiguous);
    return;
  }
}

// The last two axes, one of which is short: lines then stay in the cache.
template <typename U>
void CopyNarrow(const Axes& to, const Axes& from, const U* x, U* y) {
  const int last = to.count - 1;
  const int64_t columns = to.dims[last];
  const int64_t to_column = to.strides[last], step = from.strides[last];
  for (int64_t r = 0; r < to.dims[last - 1]; ++r) {
    U* row = y + r * to.strides[last - 1];
    for (int64_t c = 0; c < columns; ++c) row[c * to_column] = x[r + c * step];
  }
}

// Element [r][c] of the last two axes comes from x[r + c * step]. Goes by tiles that are read in
// whole cache lines, so that lines which push each other out of the cache are read but once.
template <typename U>
void CopyTransposed(const Axes& to, const Axes& from, const U* x, U* y) {
  constexpr int64_t kTile = 64 / sizeof(U);
  const int last = to.count - 1;
  const int64_t rows = to.dims[last - 1], columns = to.dims[last];
  const int64_t to_row = to.strides[last - 1], to_column = to.strides[last];
  const int64_t step = from.strides[last];
  if (std::min(rows, columns) < kTile / 2) return CopyNarrow(to, from, x, y);
  for (int64_t r = 0; r < rows; r += kTile) {
    const int64_t tile_rows = std::min(kTile, rows - r);
    for (int64_t c = 0; c < columns; c += kTile) {
      const int64_t tile_columns = std::min(kTile, columns - c);
      U tile[kTile][kTile];
      for (int64_t j = 0; j < tile_columns; ++j) {
        std::copy_n(x + r + (c + j) * step, tile_rows, tile[j]);
      }
      for (int64_t i = 0; i < tile_rows; ++i) {
        U* row = y + (r + i) * to_row + c * to_column;
        for (int64_t j = 0; j < tile_columns; ++j) row[j * to_column] = tile[j][i];
      }
    }
  }
}

// Along the last axis.
template <typename U>
void CopyLine(const Axes& to, const Axes& from, const U* x, U* y) {
  const int last = to.count - 1;
  const int64_t count = to.dims[last], step = to.strides[last], from_step = from.strides[last];
  if (step == 1 && from_step == 1) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(U));
  } else if (step == 1 && from_step == 0) {
    std::fill_n(y, count, *x);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * step] = x[i * from_step];
  }
}

// Calls body(x, y) for each place of the first `outer` axes.
template <typename U, typename Body>
void ForOuter(const Axes& to, const Axes& from, int outer, const U* x, U* y, const Body& body) {
  int64_t index[kMaxAxes] = {};
  for (;;) {
    body(x, y);
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      x += from.strides[axis];
      y += to.strides[axis];
      if (++index[axis] < to.dims[axis]) break;
      x -= to.dims[axis] * from.strides[axis];
      y -= to.dims[axis] * to.strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

template <typename U>
void CopyBox(const Axes& to, const Axes& from, const U* x, U* y) {
  if (to.count == 0) {
    *y = *x;
    return;
  }
  const int last = to.count - 1;
  const bool transposed =
      to.count >= 2 && from.strides[last - 1] == 1 && from.strides[last] != 1 && to.dims[last] >= 2;
  if (transposed) {
    ForOuter(to, from, last - 1, x, y, [&](const U* a, U* b) { CopyTransposed(to, from, a, b); });
  } else {
    ForOuter(to, from, last, x, y, [&](const U* a, U* b) { CopyLine(to, from, a, b); });
  }
}

}  // namespace

Result<CopyPlan> PlanCopy(size_t element_bytes, std::span<const int64_t> dims,
                          std::span<const int64_t> to_strides,
                          std::span<const int64_t> from_strides, int slices) {
  std::vector<Axis> axes = JoinAxes(dims, to_strides, from_strides);
  PlaceTransposedAxis(axes);
  if (axes.size() > static_cast<size_t>(kMaxAxes)) {
    return Unimplemented("moving elements takes up to ", kMaxAxes, " axes, got shape ",
                         ShapeText(dims));
  }
  CopyPlan plan{.element_bytes = element_bytes};
  for (const Axis& axis : axes) {
    plan.to.Add(axis.dim, axis.to);
    plan.from.Add(axis.dim, axis.from);
  }
  for (int i = 1; i < plan.to.count; ++i) {
    if (plan.to.dims[plan.split] < slices && plan.to.dims[i] > plan.to.dims[plan.split]) {
      plan.split = i;
    }
  }
  const int64_t elements = plan.to.elements();
  if (plan.to.count == 0 || elements == 0) return plan;
  const int64_t along = plan.to.dims[plan.split];
  plan.ranges = RangeCount(along, elements / along, slices);
  return plan;
}

void StridedCopy(const Lease& threads, const CopyPlan& plan, const void* from, void* to) {
  if (plan.to.elements() == 0) return;
  ForElementSize(plan.element_bytes, [&]<typename U>() {
    const auto* x = static_cast<const U*>(from);
    auto* y = static_cast<U*>(to);
    if (plan.ranges == 1) return CopyBox(plan.to, plan.from, x, y);
    const int64_t along = plan.to.dims[plan.split];
    ForRanges(threads, along, plan.ranges, [&](int64_t begin, int64_t end, int) {
      Axes part = plan.to;
      part.dims[plan.split] = end - begin;
      CopyBox(part, plan.from, x + begin * plan.from.strides[plan.split],
              y + begin * plan.to.strides[plan.split]);
    });
  });
}

int FillRanges(int64_t count, size_t element_bytes, int slices) {
  constexpr int64_t kBytesPerElement = 4;  // of an element of streaming work
  return RangeCount(count * static_cast<int64_t>(element_bytes) / kBytesPerElement, 1, slices);
}

void FillElements(const Lease& threads, int64_t count, size_t element_bytes, const void* value,
                  void* to, int ranges) {
  ForElementSize(element_bytes, [&]<typename U>() {
    const U element = *static_cast<const U*>(value);
    ForRanges(threads, count, ranges, [&](int64_t begin, int64_t end, int) {
      std::fill(static_cast<U*>(to) + begin, static_cast<U*>(to) + end, element);
    });
  });
}

}  // namespace hr::cpu
