// Definitions of older operator sets, in which axes, sizes and bounds were attributes.
#include <algorithm>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

std::string Any(Draft& draft, const Row& row, size_t least_rank = 1) {
  return draft.Operand({.types = row.types, .least_rank = least_rank, .most_rank = 4});
}
int64_t AnyAxis(Draft& draft, const Known& known) {
  return static_cast<int64_t>(draft.rng().Index(known.rank()));
}

std::string OverRest(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -50, .high = 50, .least_rank = 1, .most_rank = 4});
  if (x.empty()) return "";
  const auto rank = static_cast<int64_t>(draft[x].rank());
  if (rank > 1 && draft.rng().Chance(30)) return draft.One(row.op, row.version, {x});
  return draft.One(row.op, row.version, {x},
                   {Int("axis", draft.rng().Between(row.version < 11 ? 0 : -rank, rank - 1))});
}

std::string Squeeze(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  std::vector<int64_t> axes;
  for (size_t i = 0; i < draft[x].rank(); ++i) {
    if (draft[x].dims[i] == 1) axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty() || draft.rng().Chance(30)) return draft.One(row.op, row.version, {x});
  axes.resize(draft.rng().Index(axes.size()) + 1);
  return draft.One(row.op, row.version, {x}, {List("axes", axes)});
}

std::string Unsqueeze(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row, 0);
  if (x.empty()) return "";
  const auto rank = static_cast<int64_t>(draft[x].rank());
  return draft.One(row.op, row.version, {x}, {List("axes", {draft.rng().Between(0, rank)})});
}

std::string Split(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const int64_t axis = AnyAxis(draft, draft[x]);
  const int64_t size = draft[x].dims[static_cast<size_t>(axis)];
  std::vector<NamedAttribute> attributes = {Int("axis", axis)};
  size_t count = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
  if (size >= 2 && draft.rng().Chance(60)) {
    const int64_t first = draft.rng().Between(1, size - 1);
    attributes.push_back(List("split", {first, size - first}));
    count = 2;
  }
  const auto parts = draft.Node(row.op, row.version, {x}, count, attributes);
  return parts.empty() ? "" : parts.back();
}

std::string Slice(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const int64_t axis = AnyAxis(draft, draft[x]);
  const int64_t size = draft[x].dims[static_cast<size_t>(axis)];
  const int64_t start = draft.rng().Between(0, size - 1);
  const int64_t end = draft.rng().Chance(30) ? INT32_MAX : draft.rng().Between(start + 1, size);
  std::vector<NamedAttribute> attributes = {
      List("starts", {draft.rng().Chance(30) ? start - size : start}), List("ends", {end})};
  if (axis != 0 || draft.rng().Chance(50)) attributes.push_back(List("axes", {axis}));
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string Clip(Draft& draft, const Row& row) {
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(70)) attributes.push_back(Float("min", -0.25));
  if (draft.rng().Chance(70)) attributes.push_back(Float("max", 1.125));
  return draft.One(row.op, row.version, {Any(draft, row, 0)}, attributes);
}

std::string Pad(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const std::string mode = draft.rng().Pick({"constant", "constant", "reflect", "edge"});
  const int64_t least = *std::min_element(known.dims.begin(), known.dims.end());
  const int64_t most = mode == "reflect" ? std::min<int64_t>(2, least - 1) : 2;
  std::vector<int64_t> pads(2 * known.rank());
  for (int64_t& pad : pads) pad = draft.rng().Between(0, most);
  std::vector<NamedAttribute> attributes = {List("pads", pads)};
  if (mode != "constant") attributes.push_back(String("mode", mode));
  if (mode == "constant" && draft.rng().Chance(60)) attributes.push_back(Float("value", 0.5));
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string TopK(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const int64_t axis = AnyAxis(draft, draft[x]);
  const int64_t k = draft.rng().Between(1, draft[x].dims[static_cast<size_t>(axis)]);
  const auto names = draft.Node(row.op, row.version, {x}, 2, {Int("axis", axis), Int("k", k)});
  return names.empty() ? "" : names[draft.rng().Chance(70) ? 0 : 1];
}

// For inference only, as ONNX says of this version.
std::string Dropout(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {Any(draft, row, 0)}, {Float("ratio", 0.375)});
}

// Each row of the updates has a place of its own.
std::string Scatter(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t axis = AnyAxis(draft, known);
  reference::Array places(DType::kInt64, known.dims);
  const int64_t size = known.dims[static_cast<size_t>(axis)], turn = draft.rng().Between(0, 5);
  reference::ForEach(known.dims, [&](const Dims& i) {
    places[i] = static_cast<double>((i[static_cast<size_t>(axis)] + turn) % size);
  });
  const std::string indices =
      draft.Constant(DType::kInt64, known.dims, {places.data.begin(), places.data.end()});
  return draft.One(row.op, row.version, {x, indices, draft.Leaf(known.dtype, known.dims)},
                   {Int("axis", axis)});
}

std::string ReduceSum(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 1});
  if (x.empty()) return "";
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(70)) attributes.push_back(List("axes", {AnyAxis(draft, draft[x])}));
  if (draft.rng().Chance(50)) attributes.push_back(Int("keepdims", 0));
  return draft.One(row.op, row.version, {x}, attributes);
}

const Row kOlderRows[] = {
    {"Softmax", 1, OverRest, kFloats, 0, 0, 2},
    {"Softmax", 11, OverRest},
    {"LogSoftmax", 11, OverRest},
    {"Squeeze", 11, Squeeze, kAny},
    {"Unsqueeze", 11, Unsqueeze, kAny},
    {"Split", 11, Split, kAny},
    {"Slice", 9, Slice, kAny},
    {"Clip", 6, Clip},
    {"Pad", 10, Pad},
    {"TopK", 9, TopK, kReal},
    {"Dropout", 10, Dropout},
    {"Scatter", 9, Scatter, kFloats | kWords},
    {"ReduceSum", 11, ReduceSum, kReal | kWords},
};

}  // namespace

std::span<const Row> OlderRows() { return kOlderRows; }

}  // namespace hr::random_graphs
