// Resize from its definition: each element of the output is a sum over all elements of the input,
// with the product of one weight for each axis.
#include <cmath>
#include <utility>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

struct Side {
  int64_t in, out;
  Number scale, begin, end;
};

// The operands of Resize from operand `first` on: region, scales, sizes.
std::vector<Side> SidesOf(const Call& call, const Dims& dims, size_t first) {
  std::vector<Side> sides;
  for (int64_t size : dims) sides.push_back({size, size, 1, 0, 1});
  std::vector<int64_t> axes = call.Ints("axes");
  if (axes.empty()) {
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  const bool by_size = call.Has(first + 2) && call.In(first + 2).size() != 0;
  Number common = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    Side& side = sides[static_cast<size_t>(axes[i] < 0 ? axes[i] + (int64_t)dims.size() : axes[i])];
    const Number in = static_cast<Number>(side.in);
    if (by_size) {
      side.out = static_cast<int64_t>(call.In(first + 2).data[i]);
      side.scale = static_cast<Number>(side.out) / in;
    } else {
      side.scale = call.In(first + 1).data[i];
      side.out = static_cast<int64_t>(std::floor(side.scale * in));
    }
    if (call.Has(first) && call.In(first).size() != 0) {
      side.begin = call.In(first).data[i];
      side.end = call.In(first).data[axes.size() + i];
    }
    const bool larger = call.String("keep_aspect_ratio_policy", "stretch") == "not_smaller";
    common = i == 0   ? side.scale
             : larger ? std::max(common, side.scale)
                      : std::min(common, side.scale);
  }
  if (call.String("keep_aspect_ratio_policy", "stretch") == "stretch") return sides;
  for (int64_t axis : axes) {
    Side& side = sides[static_cast<size_t>(axis < 0 ? axis + (int64_t)dims.size() : axis)];
    side.scale = common;
    side.out = static_cast<int64_t>(std::floor(common * static_cast<Number>(side.in) + 0.5L));
  }
  return sides;
}

Number SourceOf(const Call& call, const Side& side, int64_t o) {
  const std::string_view mode = call.String("coordinate_transformation_mode", "half_pixel");
  const Number y = static_cast<Number>(o), in = static_cast<Number>(side.in);
  const Number width = side.scale * in, middle = (y + 0.5L) / side.scale - 0.5L;
  if (mode == "asymmetric") return y / side.scale;
  if (mode == "align_corners") return width == 1 ? 0 : y * (in - 1) / (width - 1);
  if (mode == "pytorch_half_pixel") return width == 1 ? -0.5L : middle;
  if (mode == "half_pixel_symmetric") {
    return in / 2 * (1 - static_cast<Number>(side.out) / width) + middle;
  }
  if (mode == "tf_half_pixel_for_nn") return (y + 0.5L) / side.scale;
  if (mode != "tf_crop_and_resize") return middle;
  if (width == 1) return (side.begin + side.end) / 2 * (in - 1);
  return side.begin * (in - 1) + y * (side.end - side.begin) * (in - 1) / (width - 1);
}

Number Filter(const Call& call, Number x) {
  x = std::abs(x);
  if (call.String("mode", "nearest") == "linear") return x < 1 ? 1 - x : 0;
  const Number a = call.Float("cubic_coeff_a", -0.75);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

// How much of each input element an output element has.
std::vector<Number> WeightsOf(const Call& call, const Side& side, int64_t o) {
  std::vector<Number> weights(static_cast<size_t>(side.in), 0);
  const Number x = SourceOf(call, side, o);
  const auto clamped = [&](int64_t i) {
    return static_cast<size_t>(std::min(std::max<int64_t>(i, 0), side.in - 1));
  };
  if (call.String("mode", "nearest") == "nearest") {
    const std::string_view round = call.String("nearest_mode", "round_prefer_floor");
    const Number at = round == "floor"               ? std::floor(x)
                      : round == "ceil"              ? std::ceil(x)
                      : round == "round_prefer_ceil" ? std::floor(x + 0.5L)
                                                     : std::ceil(x - 0.5L);
    weights[clamped(static_cast<int64_t>(at))] = 1;
    return weights;
  }
  const bool outside = call.Int("exclude_outside", 0) != 0;
  const Number shrink = call.Int("antialias", 0) != 0 ? std::min<Number>(side.scale, 1) : 1;
  const auto reach = static_cast<int64_t>(std::ceil(2 / shrink)) + 1;
  Number sum = 0;
  const auto middle = static_cast<int64_t>(std::floor(x));
  for (int64_t i = middle - reach; i <= middle + reach; ++i) {
    if (outside && (i < 0 || i >= side.in)) continue;
    const Number weight = Filter(call, (static_cast<Number>(i) - x) * shrink);
    weights[clamped(i)] += weight;
    sum += weight;
  }
  for (Number& weight : weights) weight /= sum;
  return weights;
}

bool Outside(const Call& call, const Side& side, int64_t o) {
  if (call.String("coordinate_transformation_mode", "") != "tf_crop_and_resize") return false;
  const Number x = SourceOf(call, side, o);
  return x < 0 || x > static_cast<Number>(side.in - 1);
}

// What one place of an axis of the output is made of: (place of the input, weight not 0).
using Taps = std::vector<std::pair<int64_t, Number>>;

Taps TapsOf(const Call& call, const Side& side, int64_t o) {
  const bool same = side.in == side.out && side.scale == 1 && side.begin == 0 && side.end == 1;
  if (same) return {{o, 1}};
  Taps out;
  const std::vector<Number> weights = WeightsOf(call, side, o);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] != 0) out.emplace_back(static_cast<int64_t>(i), weights[i]);
  }
  return out;
}

// Calls visit(output place, input place, weight), or with an empty input place for what lies
// outside.
void ForEachWeight(const Call& call, const std::vector<Side>& sides,
                   const std::function<void(const Dims&, const Dims&, Number)>& visit) {
  Dims out;
  std::vector<std::vector<Taps>> taps(sides.size());
  for (size_t axis = 0; axis < sides.size(); ++axis) {
    out.push_back(sides[axis].out);
    for (int64_t o = 0; o < sides[axis].out; ++o) {
      taps[axis].push_back(TapsOf(call, sides[axis], o));
    }
  }
  ForEach(out, [&](const Dims& o) {
    Dims counts, i(sides.size());
    for (size_t axis = 0; axis < sides.size(); ++axis) {
      if (Outside(call, sides[axis], o[axis])) return visit(o, {}, 0);
      counts.push_back(static_cast<int64_t>(taps[axis][static_cast<size_t>(o[axis])].size()));
    }
    ForEach(counts, [&](const Dims& at) {
      Number weight = 1;
      for (size_t axis = 0; axis < sides.size(); ++axis) {
        const auto& [place, part] =
            taps[axis][static_cast<size_t>(o[axis])][static_cast<size_t>(at[axis])];
        i[axis] = place;
        weight *= part;
      }
      if (weight != 0) visit(o, i, weight);
    });
  });
}

void Resize(Call& call) {
  const Array& x = call.In(0);
  const std::vector<Side> sides = SidesOf(call, x.dims, 1);
  Dims dims;
  for (const Side& side : sides) dims.push_back(side.out);
  Array y(x.dtype, dims);
  ForEachWeight(call, sides, [&](const Dims& o, const Dims& i, Number weight) {
    y[o] = i.empty() ? call.Float("extrapolation_value", 0) : y[o] + weight * x[i];
  });
  call.Out(0, std::move(y));
}

void ResizeGrad(Call& call) {
  const Array& dy = call.In(0);
  Array dx(dy.dtype, call.In(1).dims);
  ForEachWeight(call, SidesOf(call, dx.dims, 2), [&](const Dims& o, const Dims& i, Number weight) {
    if (!i.empty()) dx[i] += weight * dy[o];
  });
  call.Out(0, std::move(dx));
}

const Entry kResizeEntries[] = {
    {"", "Resize", Resize},
    {"headrace.grad", "ResizeGrad", ResizeGrad},
};

}  // namespace

std::span<const Entry> ResizeFunctions() { return kResizeEntries; }

}  // namespace hr::reference
