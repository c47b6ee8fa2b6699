// Regions of images, columns of their windows, and determinants.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

// Images [N, C, H, W] of at least one element.
std::string Pictures(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(
      {.types = row.types, .low = -1e4, .high = 1e4, .least_rank = 4, .most_rank = 4});
  return x.empty() || ElementCount(draft[x].dims) == 0 ? "" : x;
}

// Two corners of a region, between elements where nothing jumps.
void AddCorners(Draft& draft, std::vector<double>& numbers) {
  const auto at = [&](int64_t low, int64_t high) {
    return static_cast<double>(draft.rng().Between(low, high)) + 0.3;
  };
  const double x = at(-2, 6), y = at(-2, 6);
  numbers.insert(numbers.end(), {x, y, x + at(0, 5), y + at(0, 5)});
}

std::string RoiAlign(Draft& draft, const Row& row) {
  const std::string x = Pictures(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t regions = draft.rng().Between(1, 3);
  std::vector<double> corners, images;
  for (int64_t i = 0; i < regions; ++i) {
    AddCorners(draft, corners);
    images.push_back(static_cast<double>(draft.rng().Index(static_cast<size_t>(known.dims[0]))));
  }
  const std::string where = draft.Constant(known.dtype, {regions, 4}, corners);
  return draft.One(
      row.op, row.version, {x, where, draft.Constant(DType::kInt64, {regions}, images)},
      {Int("output_height", draft.rng().Between(1, 3)),
       Int("output_width", draft.rng().Between(1, 3)),
       Int("sampling_ratio", draft.rng().Between(1, 2)), Float("spatial_scale", 0.75)});
}

std::string MaxRoiPool(Draft& draft, const Row& row) {
  const std::string x = Pictures(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t regions = draft.rng().Between(1, 3);
  std::vector<double> numbers;
  for (int64_t i = 0; i < regions; ++i) {
    numbers.push_back(static_cast<double>(draft.rng().Index(static_cast<size_t>(known.dims[0]))));
    AddCorners(draft, numbers);
  }
  return draft.One(row.op, row.version, {x, draft.Constant(known.dtype, {regions, 5}, numbers)},
                   {List("pooled_shape", {draft.rng().Between(1, 3), draft.rng().Between(1, 3)})});
}

std::string Col2Im(Draft& draft, const Row& row) {
  const int64_t height = draft.rng().Between(2, 5), width = draft.rng().Between(2, 5);
  const int64_t stride = draft.rng().Between(1, 2), pad = draft.rng().Between(0, 1);
  const int64_t positions = ((height + pad - 2) / stride + 1) * ((width + pad - 2) / stride + 1);
  const std::string x = draft.Leaf(draft.AnyType(row.types),
                                   {draft.batch(), 4 * draft.rng().Between(1, 3), positions});
  return draft.One(row.op, row.version, {x, draft.Ints({height, width}), draft.Ints({2, 2})},
                   {List("strides", {stride, stride}), List("pads", {pad, 0, 0, pad})});
}

// Every maximum at a place of its own.
std::string MaxUnpool(Draft& draft, const Row& row) {
  const std::string x = Pictures(draft, row);
  if (x.empty()) return "";
  const Dims dims = draft[x].dims;
  if (ElementCount(dims) > 500) return "";
  std::vector<double> places;
  for (int64_t i = 0; i < ElementCount(dims); ++i) {
    const int64_t column = i % dims[3], line = i / dims[3];
    places.push_back(static_cast<double>(2 * line * 2 * dims[3] + 2 * column + i % 2));
  }
  return draft.One(row.op, row.version, {x, draft.Constant(DType::kInt64, dims, places)},
                   {List("kernel_shape", {2, 2}), List("strides", {2, 2})});
}

std::string Det(Draft& draft, const Row& row) {
  const int64_t n = draft.rng().Between(1, 4);
  std::string x = draft.Find([&](const Known& k) {
    return (KindOf(k.dtype) & row.types) != 0 && k.rank() >= 2 && k.dims.back() < 6 &&
           k.dims.back() == k.dims[k.rank() - 2] && k.low > -5 && k.high < 5;
  });
  if (x.empty()) x = draft.Leaf(draft.AnyType(row.types), {draft.batch(), n, n});
  return draft.One(row.op, row.version, {x});
}

std::string DeformConv(Draft& draft, const Row& row) {
  const std::string x = Pictures(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t rows = known.dims[2] + 1, columns = known.dims[3] + 1;
  const int64_t groups = known.dims[1] % 2 == 0 ? draft.rng().Between(1, 2) : 1;
  const int64_t results = 2 * draft.rng().Between(1, 2);
  const auto leaf = [&](Dims dims) { return draft.Leaf(known.dtype, std::move(dims), -1, 1); };
  std::vector<std::string> operands = {x, leaf({results, known.dims[1] / groups, 2, 2}),
                                       leaf({known.dims[0], 8, rows, columns})};
  if (draft.rng().Chance(50)) {
    operands.push_back(draft.rng().Chance(50) ? leaf({results}) : "_");
    operands.push_back(leaf({known.dims[0], 4, rows, columns}));
  }
  return draft.One(row.op, row.version, operands,
                   {Int("group", groups), List("pads", {1, 1, 1, 1})});
}

const Row kRegionRows[] = {
    {"DeformConv", 19, DeformConv},
    {"RoiAlign", 10, RoiAlign},
    {"RoiAlign", 16, RoiAlign},
    {"MaxRoiPool", 1, MaxRoiPool},
    {"Col2Im", 18, Col2Im, kFloats | kWords},
    {"MaxUnpool", 11, MaxUnpool},
    {"Det", 11, Det},
};

}  // namespace

std::span<const Row> RegionRows() { return kRegionRows; }

}  // namespace hr::random_graphs
