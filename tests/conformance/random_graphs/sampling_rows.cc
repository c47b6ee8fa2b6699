// Images of other sizes, and images read at points.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

const char* Word(Draft& draft, std::initializer_list<const char*> words) {
  return words.begin()[draft.rng().Index(words.size())];
}

std::vector<NamedAttribute> ResizeAttributes(Draft& draft) {
  const char* mode = Word(draft, {"nearest", "linear", "cubic"});
  std::vector<NamedAttribute> attributes = {
      String("mode", mode),
      String("coordinate_transformation_mode",
             Word(draft, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                          "align_corners", "asymmetric"})),
  };
  if (mode == std::string_view("nearest")) {
    attributes.push_back(String(
        "nearest_mode", Word(draft, {"round_prefer_floor", "floor", "ceil", "round_prefer_ceil"})));
    return attributes;
  }
  if (draft.rng().Chance(30)) attributes.push_back(Int("antialias", 1));
  if (draft.rng().Chance(30)) attributes.push_back(Int("exclude_outside", 1));
  return attributes;
}

// By sizes of the last axes: those before may be the batch.
std::string Resize(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 2, .most_rank = 4});
  if (x.empty()) return "";
  const Dims& dims = draft[x].dims;
  std::vector<int64_t> axes, sizes;
  for (size_t axis = 1; axis < dims.size(); ++axis) {
    if (dims[axis] == 0) return "";
    if (!axes.empty() && draft.rng().Chance(30)) continue;
    axes.push_back(static_cast<int64_t>(axis));
    sizes.push_back(draft.rng().Between(1, 2 * dims[axis] + 1));
  }
  std::vector<NamedAttribute> attributes = ResizeAttributes(draft);
  attributes.push_back(List("axes", axes));
  return draft.One(row.op, row.version, {x, "", "", draft.Ints(sizes)}, attributes);
}

// By scales, of all axes: a little more than integers, so that noise on them changes no size.
std::string OlderResize(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 2, .most_rank = 4});
  if (x.empty()) return "";
  const Dims dims = draft[x].dims;
  if (dims[0] == 0 || dims[0] > 30) return "";
  std::vector<double> scales = {1.03};
  for (size_t axis = 1; axis < dims.size(); ++axis) {
    if (dims[axis] == 0) return "";
    scales.push_back(static_cast<double>(draft.rng().Between(1, 3)) + 0.013);
  }
  const std::string given =
      draft.Constant(DType::kFloat32, {static_cast<int64_t>(dims.size())}, scales);
  return draft.One(row.op, row.version, {x, given},
                   {String("mode", Word(draft, {"nearest", "linear"}))});
}

std::string GridSample(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 4, .most_rank = 4});
  if (x.empty()) return "";
  const Dims dims = draft[x].dims;
  if (ElementCount(dims) == 0) return "";
  const std::string grid =
      draft.Leaf(draft[x].dtype, {dims[0], draft.rng().Between(1, 4), draft.rng().Between(1, 4), 2},
                 -1.3, 1.3);
  return draft.One(row.op, row.version, {x, grid},
                   {String("mode", Word(draft, {"linear", "cubic"})),
                    String("padding_mode", Word(draft, {"zeros", "border", "reflection"})),
                    Int("align_corners", draft.rng().Chance(50) ? 1 : 0)});
}

std::string AffineGrid(Draft& draft, const Row& row) {
  const int64_t n = draft.rng().Between(1, 3);
  const std::string theta = draft.Leaf(draft.AnyType(row.types), {n, 2, 3});
  const std::string sizes =
      draft.Ints({n, 1, draft.rng().Between(1, 4), draft.rng().Between(1, 5)});
  return draft.One(row.op, row.version, {theta, sizes},
                   {Int("align_corners", draft.rng().Chance(50) ? 1 : 0)});
}

const Row kSamplingRows[] = {
    {"Resize", 19, Resize, kFloats, 0, 0, 4},
    {"Resize", 10, OlderResize},
    {"Upsample", 9, OlderResize},
    {"GridSample", 20, GridSample, kFloats, 0, 0, 2},
    {"AffineGrid", 20, AffineGrid, kFloats, 0, 0, 2},
};

}  // namespace

std::span<const Row> SamplingRows() { return kSamplingRows; }

}  // namespace hr::random_graphs
