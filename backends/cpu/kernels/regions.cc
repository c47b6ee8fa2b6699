#include "backends/cpu/kernels/regions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {
namespace {

// More points than this in one bin are a mistake, or meant to never end.
constexpr double kMostPoints = 1 << 24;

Status CheckImage(std::string_view op, double image, int64_t images, int64_t region) {
  if (image >= 0 && image < static_cast<double>(images)) return {};
  return OutOfRange(op, " has ", images, " images; region ", region, " is of image ", image);
}

// One side of a region: where its bins begin, how large they are, how many points each has.
struct Side {
  double begin, bin;
  int64_t points;
};

struct Alignment {
  Side y, x;
};

Side SideOf(double from, double to, int64_t bins, const AlignOptions& options, bool* bounded) {
  const double offset = options.half_pixel ? 0.5 : 0;
  const double begin = from * options.scale - offset;
  double size = to * options.scale - offset - begin;
  if (!options.half_pixel) size = std::max(size, 1.0);
  const double bin = size / static_cast<double>(bins);
  const double points =
      options.sampling > 0 ? static_cast<double>(options.sampling) : std::ceil(bin);
  *bounded = *bounded && std::isfinite(begin) && points <= kMostPoints;
  return {begin, bin, *bounded ? static_cast<int64_t>(std::max(points, 0.0)) : 0};
}

template <typename T>
Result<Alignment> AlignmentOf(const RegionShape& shape, const AlignOptions& options,
                              const T* region, int64_t number) {
  bool bounded = true;
  const Alignment out = {SideOf(region[1], region[3], shape.rows, options, &bounded),
                         SideOf(region[0], region[2], shape.columns, options, &bounded)};
  const double points = static_cast<double>(out.x.points) * static_cast<double>(out.y.points);
  if (bounded && points <= kMostPoints) return out;
  return InvalidArgument("RoiAlign's region ", number, " from (", region[0], ", ", region[1],
                         ") to (", region[2], ", ", region[3],
                         ") is not finite or too large for points at each of its elements; give a "
                         "smaller region or a sampling_ratio");
}

// The two elements of an axis between which a point lies, and the weight of the second. Fails
// if the point is outside, where nothing is read.
struct Between {
  int64_t low, high;
  double part;
};
bool Place(double at, int64_t size, Between* out) {
  if (!(at >= -1 && at <= static_cast<double>(size)) || size == 0) return false;
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) {
    *out = {size - 1, size - 1, 0};
  } else {
    *out = {low, low + 1, at - static_cast<double>(low)};
  }
  return true;
}

// Calls read(element, weight) four times for each point of a bin that is in the image.
template <typename Read>
void ForPoints(const RegionShape& shape, const Alignment& a, int64_t row, int64_t column,
               Read&& read) {
  const auto at = [](const Side& side, int64_t bin, int64_t point) {
    return side.begin +
           side.bin * (static_cast<double>(bin) +
                       (static_cast<double>(point) + 0.5) / static_cast<double>(side.points));
  };
  Between y{}, x{};
  for (int64_t i = 0; i < a.y.points; ++i) {
    if (!Place(at(a.y, row, i), shape.height, &y)) continue;
    for (int64_t j = 0; j < a.x.points; ++j) {
      if (!Place(at(a.x, column, j), shape.width, &x)) continue;
      read(y.low * shape.width + x.low, (1 - y.part) * (1 - x.part));
      read(y.low * shape.width + x.high, (1 - y.part) * x.part);
      read(y.high * shape.width + x.low, y.part * (1 - x.part));
      read(y.high * shape.width + x.high, y.part * x.part);
    }
  }
}

double PointsOf(const Alignment& a) {
  return static_cast<double>(std::max<int64_t>(a.y.points * a.x.points, 1));
}

// The largest product of an element and its weight in a bin: which element, and its weight. Points
// outside of the image count as 0, of no element.
struct Largest {
  int64_t element = -1;
  double weight = 0, value = 0;
};
template <typename T>
Largest LargestOf(const RegionShape& shape, const Alignment& a, int64_t row, int64_t column,
                  const T* plane) {
  Largest best{.value = -std::numeric_limits<double>::infinity()};
  int64_t inside = 0;
  ForPoints(shape, a, row, column, [&](int64_t element, double weight) {
    const double value = weight * static_cast<double>(plane[element]);
    inside += 1;
    if (value > best.value) best = {element, weight, value};
  });
  const bool outside = inside < 4 * a.y.points * a.x.points || inside == 0;
  if (outside && best.value < 0) return {};
  return best;
}

template <typename T>
void AlignPlane(const RegionShape& shape, const Alignment& a, bool largest, const T* plane, T* y) {
  for (int64_t bin = 0; bin < shape.Bins(); ++bin) {
    const int64_t row = bin / shape.columns, column = bin % shape.columns;
    if (largest) {
      y[bin] = static_cast<T>(LargestOf(shape, a, row, column, plane).value);
      continue;
    }
    double sum = 0;
    ForPoints(shape, a, row, column, [&](int64_t element, double weight) {
      sum += weight * static_cast<double>(plane[element]);
    });
    y[bin] = static_cast<T>(sum / PointsOf(a));
  }
}

template <typename T>
void AlignPlaneGradient(const RegionShape& shape, const Alignment& a, bool largest, const T* dy,
                        const T* plane, T* dx) {
  for (int64_t bin = 0; bin < shape.Bins(); ++bin) {
    const int64_t row = bin / shape.columns, column = bin % shape.columns;
    if (largest) {
      const Largest best = LargestOf(shape, a, row, column, plane);
      if (best.element >= 0) dx[best.element] += static_cast<T>(best.weight) * dy[bin];
      continue;
    }
    const double share = static_cast<double>(dy[bin]) / PointsOf(a);
    ForPoints(shape, a, row, column, [&](int64_t element, double weight) {
      dx[element] += static_cast<T>(weight * share);
    });
  }
}

// A region of MaxRoiPool: elements from `begin` on, in bins.
struct PooledSide {
  int64_t begin;
  double bin;
  Range Bin(int64_t i, int64_t size) const {
    const auto at = [&](double offset) {
      return std::clamp<int64_t>(begin + static_cast<int64_t>(offset), 0, size);
    };
    return {at(std::floor(static_cast<double>(i) * bin)),
            at(std::ceil(static_cast<double>(i + 1) * bin))};
  }
};
PooledSide PooledSideOf(double from, double to, int64_t bins, double scale) {
  constexpr double kFar = 1 << 30;
  const auto round = [&](double v) {
    return static_cast<int64_t>(std::clamp(std::round(v * scale), -kFar, kFar));
  };
  const int64_t begin = round(from);
  const int64_t size = std::max<int64_t>(round(to) - begin + 1, 1);
  return {begin, static_cast<double>(size) / static_cast<double>(bins)};
}

struct PooledRegion {
  int64_t image;
  PooledSide y, x;
};
template <typename T>
Result<PooledRegion> PooledRegionOf(const RegionShape& shape, double scale, const T* regions,
                                    int64_t number) {
  const T* region = regions + 5 * number;
  HR_RETURN_IF_ERROR(CheckImage("MaxRoiPool", region[0], shape.images, number));
  if (std::any_of(region, region + 5, [](T v) { return std::isnan(v); })) {
    return InvalidArgument("MaxRoiPool's region ", number, " has a coordinate that is no number");
  }
  return PooledRegion{static_cast<int64_t>(region[0]),
                      PooledSideOf(region[2], region[4], shape.rows, scale),
                      PooledSideOf(region[1], region[3], shape.columns, scale)};
}

// The first largest element of a bin, or -1.
template <typename T>
int64_t LargestIn(const RegionShape& shape, const PooledRegion& region, int64_t bin,
                  const T* plane) {
  const Range rows = region.y.Bin(bin / shape.columns, shape.height);
  const Range columns = region.x.Bin(bin % shape.columns, shape.width);
  int64_t best = -1;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t column = columns.begin; column < columns.end; ++column) {
      const int64_t at = row * shape.width + column;
      if (best < 0 || plane[at] > plane[best]) best = at;
    }
  }
  return best;
}

// Calls body(region, channel) for all results; both are independent of all others.
template <typename Body>
void ForResults(const Lease& threads, const RegionShape& shape, int ranges, Body&& body) {
  ForRanges(threads, shape.regions * shape.channels, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) body(i / shape.channels, i % shape.channels);
  });
}

// The same after dx became 0. All regions of a channel are one thread's, since they may overlap.
template <typename T, typename Body>
void ForGradients(const Lease& threads, const RegionShape& shape, int ranges, T* dx, Body&& body) {
  ForRanges(threads, shape.channels, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t image = 0; image < shape.images; ++image) {
      std::fill_n(dx + (image * shape.channels + begin) * shape.Plane(),
                  (end - begin) * shape.Plane(), T{0});
    }
    for (int64_t channel = begin; channel < end; ++channel) {
      for (int64_t region = 0; region < shape.regions; ++region) body(region, channel);
    }
  });
}

// Where the plane of an image's channel begins, and the bins of a region's.
int64_t PlaneAt(const RegionShape& shape, int64_t image, int64_t channel) {
  return (image * shape.channels + channel) * shape.Plane();
}
int64_t BinsAt(const RegionShape& shape, int64_t region, int64_t channel) {
  return (region * shape.channels + channel) * shape.Bins();
}

template <typename T>
Status CheckAligned(const RegionShape& shape, const AlignOptions& options, const T* regions,
                    const int64_t* images) {
  for (int64_t i = 0; i < shape.regions; ++i) {
    HR_RETURN_IF_ERROR(CheckImage("RoiAlign", static_cast<double>(images[i]), shape.images, i));
    HR_RETURN_IF_ERROR(AlignmentOf(shape, options, regions + 4 * i, i).status());
  }
  return {};
}

template <typename T>
Status CheckPooled(const RegionShape& shape, double scale, const T* regions) {
  for (int64_t i = 0; i < shape.regions; ++i) {
    HR_RETURN_IF_ERROR(PooledRegionOf(shape, scale, regions, i).status());
  }
  return {};
}

}  // namespace

int RegionRanges(const RegionShape& shape, int slices) {
  constexpr int64_t kCost = 16;  // of a point, against streaming
  return RangeCount(shape.channels, kCost * shape.regions * shape.Bins(), slices);
}

template <typename T>
Status RoiAlign(const Lease& threads, const RegionShape& shape, const AlignOptions& options,
                const T* x, const T* regions, const int64_t* images, T* y, int ranges) {
  HR_RETURN_IF_ERROR(CheckAligned(shape, options, regions, images));
  ForResults(threads, shape, ranges, [&](int64_t region, int64_t channel) {
    const Alignment a = AlignmentOf(shape, options, regions + 4 * region, region).value();
    AlignPlane(shape, a, options.largest, x + PlaneAt(shape, images[region], channel),
               y + BinsAt(shape, region, channel));
  });
  return {};
}

template <typename T>
Status RoiAlignGradient(const Lease& threads, const RegionShape& shape, const AlignOptions& options,
                        const T* dy, const T* x, const T* regions, const int64_t* images, T* dx,
                        int ranges) {
  HR_RETURN_IF_ERROR(CheckAligned(shape, options, regions, images));
  ForGradients(threads, shape, ranges, dx, [&](int64_t region, int64_t channel) {
    const Alignment a = AlignmentOf(shape, options, regions + 4 * region, region).value();
    const int64_t plane = PlaneAt(shape, images[region], channel);
    AlignPlaneGradient(shape, a, options.largest, dy + BinsAt(shape, region, channel), x + plane,
                       dx + plane);
  });
  return {};
}

template <typename T>
Status MaxRoiPool(const Lease& threads, const RegionShape& shape, double scale, const T* x,
                  const T* regions, T* y, int ranges) {
  HR_RETURN_IF_ERROR(CheckPooled(shape, scale, regions));
  ForResults(threads, shape, ranges, [&](int64_t number, int64_t channel) {
    const PooledRegion region = PooledRegionOf(shape, scale, regions, number).value();
    const T* plane = x + PlaneAt(shape, region.image, channel);
    T* bins = y + BinsAt(shape, number, channel);
    for (int64_t bin = 0; bin < shape.Bins(); ++bin) {
      const int64_t best = LargestIn(shape, region, bin, plane);
      bins[bin] = best < 0 ? T{0} : plane[best];
    }
  });
  return {};
}

template <typename T>
Status MaxRoiPoolGradient(const Lease& threads, const RegionShape& shape, double scale, const T* dy,
                          const T* x, const T* regions, T* dx, int ranges) {
  HR_RETURN_IF_ERROR(CheckPooled(shape, scale, regions));
  ForGradients(threads, shape, ranges, dx, [&](int64_t number, int64_t channel) {
    const PooledRegion region = PooledRegionOf(shape, scale, regions, number).value();
    const int64_t plane = PlaneAt(shape, region.image, channel);
    const T* bins = dy + BinsAt(shape, number, channel);
    for (int64_t bin = 0; bin < shape.Bins(); ++bin) {
      const int64_t best = LargestIn(shape, region, bin, x + plane);
      if (best >= 0) dx[plane + best] += bins[bin];
    }
  });
  return {};
}

#define HR_INSTANTIATE(T)                                                                          \
  template Status RoiAlign(const Lease&, const RegionShape&, const AlignOptions&, const T*,        \
                           const T*, const int64_t*, T*, int);                                     \
  template Status RoiAlignGradient(const Lease&, const RegionShape&, const AlignOptions&,          \
                                   const T*, const T*, const T*, const int64_t*, T*, int);         \
  template Status MaxRoiPool(const Lease&, const RegionShape&, double, const T*, const T*, T*,     \
                             int);                                                                 \
  template Status MaxRoiPoolGradient(const Lease&, const RegionShape&, double, const T*, const T*, \
                                     const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
