// Pooling over regions of images.
#include <algorithm>
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// One read of a point: an element of the image and its weight.
struct Read {
  int64_t row, column;
  Number weight;
};

// The reads of one point between elements; none outside of the image.
void AddReads(Number y, Number x, int64_t height, int64_t width, std::vector<Read>& reads) {
  if (y < -1 || x < -1 || y > static_cast<Number>(height) || x > static_cast<Number>(width)) return;
  const auto along = [](Number at, int64_t size, int64_t* low) {
    at = std::clamp<Number>(at, 0, static_cast<Number>(size - 1));
    *low = std::min<int64_t>(static_cast<int64_t>(at), std::max<int64_t>(size - 2, 0));
    return at - static_cast<Number>(*low);
  };
  int64_t row = 0, column = 0;
  const Number down = along(y, height, &row), right = along(x, width, &column);
  const int64_t below = std::min(row + 1, height - 1), beside = std::min(column + 1, width - 1);
  // An element on the border is read alone: what would be beside it has no weight.
  reads.push_back({row, column, (1 - down) * (1 - right)});
  reads.push_back({row, beside, (1 - down) * right});
  reads.push_back({below, column, down * (1 - right)});
  reads.push_back({below, beside, down * right});
}

// What RoiAlign reads for one bin, and how many points it has.
struct Bin {
  std::vector<Read> reads;
  Number points = 0;
};

Bin BinOf(const Call& call, const Dims& x, const Array& regions, const Dims& out, bool half_pixel,
          const Dims& bins) {
  const Number scale = call.Float("spatial_scale", 1), offset = half_pixel ? 0.5 : 0;
  const auto sampling = call.Int("sampling_ratio", 0);
  // Axis 0 is y, and the second number of a corner.
  Number begin[2], bin[2];
  int64_t points[2];
  for (int64_t axis : {0, 1}) {
    const auto at = static_cast<size_t>(axis);
    const Number from = regions[{out[0], 1 - axis}] * scale - offset;
    const Number to = regions[{out[0], 3 - axis}] * scale - offset;
    const Number size = half_pixel ? to - from : std::max<Number>(to - from, 1);
    bin[at] = size / static_cast<Number>(bins[at]);
    begin[at] = from + bin[at] * static_cast<Number>(out[2 + at]);
    points[at] = sampling > 0 ? sampling : static_cast<int64_t>(std::ceil(bin[at]));
    points[at] = std::max<int64_t>(points[at], 0);
  }
  Bin result;
  result.points = static_cast<Number>(points[0] * points[1]);
  const auto place = [&](size_t axis, int64_t i) {
    return begin[axis] +
           bin[axis] * (static_cast<Number>(i) + 0.5L) / static_cast<Number>(points[axis]);
  };
  for (int64_t i = 0; i < points[0]; ++i) {
    for (int64_t j = 0; j < points[1]; ++j) {
      AddReads(place(0, i), place(1, j), x[2], x[3], result.reads);
    }
  }
  return result;
}

bool HalfPixel(const Call& call) {
  const bool first = call.name == "RoiAlign" && call.version < 16;
  return !first && call.String("coordinate_transformation_mode", "half_pixel") == "half_pixel";
}

Dims ElementOf(const Array& images, const Dims& out, const Read& read) {
  return {static_cast<int64_t>(images[{out[0]}]), out[1], read.row, read.column};
}

// The read whose weighted element is largest; null where it is 0 of a point outside.
const Read* LargestRead(const Bin& bin, const Array& x, const Array& images, const Dims& out) {
  const Read* best = nullptr;
  Number most = static_cast<Number>(bin.reads.size()) < 4 * bin.points ? 0 : -INFINITY;
  for (const Read& read : bin.reads) {
    const Number value = read.weight * x[ElementOf(images, out, read)];
    if (value > most || (best == nullptr && value >= most)) best = &read, most = value;
  }
  return best;
}

void RoiAlign(Call& call) {
  const Array &x = call.In(0), &regions = call.In(1), &images = call.In(2);
  const Dims bins = {call.Int("output_height", 1), call.Int("output_width", 1)};
  Array y(x.dtype, {regions.dims[0], x.dims[1], bins[0], bins[1]});
  ForEach(y.dims, [&](const Dims& out) {
    const Bin bin = BinOf(call, x.dims, regions, out, HalfPixel(call), bins);
    if (call.String("mode", "avg") == "max") {
      const Read* best = LargestRead(bin, x, images, out);
      if (best != nullptr) y[out] = best->weight * x[ElementOf(images, out, *best)];
      return;
    }
    for (const Read& read : bin.reads) y[out] += read.weight * x[ElementOf(images, out, read)];
    if (bin.points > 0) y[out] /= bin.points;
  });
  call.Out(0, std::move(y));
}

void RoiAlignGrad(Call& call) {
  const Array &dy = call.In(0), &x = call.In(1), &regions = call.In(2), &images = call.In(3);
  const Dims bins = {dy.dims[2], dy.dims[3]};
  Array dx(dy.dtype, x.dims);
  ForEach(dy.dims, [&](const Dims& out) {
    const Bin bin = BinOf(call, x.dims, regions, out, HalfPixel(call), bins);
    if (call.String("mode", "avg") == "max") {
      const Read* best = LargestRead(bin, x, images, out);
      if (best != nullptr) dx[ElementOf(images, out, *best)] += best->weight * dy[out];
      return;
    }
    for (const Read& read : bin.reads) {
      dx[ElementOf(images, out, read)] += read.weight * dy[out] / bin.points;
    }
  });
  call.Out(0, std::move(dx));
}

// The first largest element of a bin of MaxRoiPool; empty where it has none.
Dims LargestOfBin(const Call& call, const Array& x, const Array& regions, const Dims& out,
                  const Dims& bins) {
  const Number scale = call.Float("spatial_scale", 1);
  Dims from(2), to(2);
  for (size_t axis : {size_t{0}, size_t{1}}) {
    const auto corner = static_cast<int64_t>(2 - axis);  // y, then x
    const Number begin = std::round(regions[{out[0], corner}] * scale);
    const Number end = std::round(regions[{out[0], corner + 2}] * scale);
    const Number bin = std::max<Number>(end - begin + 1, 1) / static_cast<Number>(bins[axis]);
    const auto inside = [&](Number at) {
      return static_cast<int64_t>(
          std::clamp<Number>(begin + at, 0, static_cast<Number>(x.dims[2 + axis])));
    };
    from[axis] = inside(std::floor(bin * static_cast<Number>(out[2 + axis])));
    to[axis] = inside(std::ceil(bin * static_cast<Number>(out[2 + axis] + 1)));
  }
  Dims best;
  for (int64_t row = from[0]; row < to[0]; ++row) {
    for (int64_t column = from[1]; column < to[1]; ++column) {
      const Dims at = {static_cast<int64_t>(regions[{out[0], 0}]), out[1], row, column};
      if (best.empty() || x[at] > x[best]) best = at;
    }
  }
  return best;
}

void MaxRoiPool(Call& call) {
  const Array &x = call.In(0), &regions = call.In(1);
  const Dims bins = call.Ints("pooled_shape");
  Array y(x.dtype, {regions.dims[0], x.dims[1], bins[0], bins[1]});
  ForEach(y.dims, [&](const Dims& out) {
    const Dims best = LargestOfBin(call, x, regions, out, bins);
    if (!best.empty()) y[out] = x[best];
  });
  call.Out(0, std::move(y));
}

void MaxRoiPoolGrad(Call& call) {
  const Array &dy = call.In(0), &x = call.In(1), &regions = call.In(2);
  Array dx(dy.dtype, x.dims);
  ForEach(dy.dims, [&](const Dims& out) {
    const Dims best = LargestOfBin(call, x, regions, out, call.Ints("pooled_shape"));
    if (!best.empty()) dx[best] += dy[out];
  });
  call.Out(0, std::move(dx));
}

const Entry kRegionsEntries[] = {{"", "RoiAlign", RoiAlign},
                                 {"headrace.grad", "RoiAlignGrad", RoiAlignGrad},
                                 {"", "MaxRoiPool", MaxRoiPool},
                                 {"headrace.grad", "MaxRoiPoolGrad", MaxRoiPoolGrad}};

}  // namespace

std::span<const Entry> RegionFunctions() { return kRegionsEntries; }

}  // namespace hr::reference
