// Operators that move elements and change shapes.
#include <algorithm>
#include <numeric>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

int64_t AnyAxis(Draft& draft, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  return draft.rng().Between(draft.rng().Chance(30) ? -size : 0, size - 1);
}
size_t FromFront(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

std::string Any(Draft& draft, const Row& row, size_t least_rank = 1) {
  return draft.Operand({.types = row.types, .least_rank = least_rank});
}

std::string Reshape(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const Dims& dims = draft[x].dims;
  std::vector<int64_t> shape;
  switch (draft.rng().Between(0, 3)) {
    case 0: shape = {-1}; break;
    case 1: shape = {0, -1}; break;
    case 2: shape = {-1, dims.back()}; break;
    default:
      shape = dims;
      std::reverse(shape.begin() + 1, shape.end());
      shape.insert(shape.begin() + 1, 1);
  }
  return draft.One(row.op, row.version, {x, draft.Ints(shape)});
}

std::string Flatten(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const auto axis = draft.rng().Between(0, static_cast<int64_t>(draft[x].rank()));
  return draft.One(row.op, row.version, {x}, {Int("axis", axis)});
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
  return draft.One(row.op, row.version, {x, draft.Ints(axes)});
}

std::string Unsqueeze(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty() || draft[x].rank() > 4) return "";
  return draft.One(row.op, row.version, {x, draft.Ints({AnyAxis(draft, draft[x].rank() + 1)})});
}

std::string Transpose(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  std::vector<int64_t> perm(draft[x].rank());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[draft.rng().Index(i)]);
  if (draft.rng().Chance(25)) return draft.One(row.op, row.version, {x});
  return draft.One(row.op, row.version, {x}, {List("perm", perm)});
}

std::string Concat(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const int64_t axis = AnyAxis(draft, known.rank());
  std::vector<std::string> parts = {x};
  for (int64_t i = draft.rng().Between(0, 2); i > 0; --i) {
    std::string other = draft.Find([&](const Known& k) {
      Dims dims = k.dims;
      if (k.dtype != known.dtype || dims.size() != known.rank()) return false;
      dims[FromFront(axis, known.rank())] = known.dims[FromFront(axis, known.rank())];
      return dims == known.dims;
    });
    parts.push_back(other.empty() ? x : other);
  }
  return draft.One(row.op, row.version, parts, {Int("axis", axis)});
}

std::string Split(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const int64_t axis = AnyAxis(draft, draft[x].rank());
  const int64_t size = draft[x].dims[FromFront(axis, draft[x].rank())];
  std::vector<NamedAttribute> attributes = {Int("axis", axis)};
  std::vector<std::string> parts;
  if (size >= 2 && draft.rng().Chance(60)) {
    const int64_t first = draft.rng().Between(1, size - 1);
    parts = draft.Node(row.op, row.version, {x, draft.Ints({first, size - first})}, 2, attributes);
  } else {
    const int64_t count = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
    if (row.version >= 18) attributes.push_back(Int("num_outputs", count));
    parts = draft.Node(row.op, row.version, {x}, static_cast<size_t>(count), attributes);
  }
  return parts.empty() ? "" : parts.back();
}

std::string Slice(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const int64_t axis = AnyAxis(draft, draft[x].rank());
  const int64_t size = draft[x].dims[FromFront(axis, draft[x].rank())];
  int64_t start = draft.rng().Between(0, size - 1);
  int64_t end = draft.rng().Chance(30) ? INT32_MAX : draft.rng().Between(start + 1, size);
  int64_t step = draft.rng().Between(1, 2);
  if (draft.rng().Chance(25)) {
    step = -step;
    start = draft.rng().Chance(50) ? -1 : size - 1;
    end = -size - 1;
  }
  return draft.One(
      row.op, row.version,
      {x, draft.Ints({start}), draft.Ints({end}), draft.Ints({axis}), draft.Ints({step})});
}

std::string Pad(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  std::vector<std::string> modes = {"constant", "constant", "reflect", "edge"};
  if (row.version >= 19) modes.insert(modes.end(), {"wrap", "wrap"});
  const std::string mode = draft.rng().Pick(modes);
  const int64_t least = *std::min_element(known.dims.begin(), known.dims.end());
  const int64_t most = mode == "constant" || mode == "edge" ? 2
                       : mode == "wrap"                     ? std::min<int64_t>(2, least)
                                                            : std::min<int64_t>(2, least - 1);
  std::vector<int64_t> pads(2 * known.rank());
  for (int64_t& pad : pads) pad = draft.rng().Between(0, most);
  std::vector<std::string> operands = {x, draft.Ints(pads)};
  if (mode == "constant" && draft.rng().Chance(60))
    operands.push_back(draft.Leaf(known.dtype, {}, 0, 1));
  std::vector<NamedAttribute> attributes;
  if (mode != "constant") attributes.push_back(String("mode", mode));
  if (row.version >= 18 && draft.rng().Chance(40)) {
    const auto axis = draft.rng().Index(known.rank());
    operands[1] = draft.Ints({pads[0], pads[1]});
    if (operands.size() < 3) operands.push_back("_");
    operands.push_back(draft.Ints({static_cast<int64_t>(axis)}));
  }
  return draft.One(row.op, row.version, operands, attributes);
}

std::string Tile(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  std::vector<int64_t> repeats(draft[x].rank());
  for (int64_t& repeat : repeats) repeat = draft.rng().Pick<int64_t>({1, 1, 2, 3});
  return draft.One(row.op, row.version, {x, draft.Ints(repeats)});
}

std::string Expand(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row, 0);
  if (x.empty() || draft[x].rank() > 4) return "";
  std::vector<int64_t> shape = draft[x].dims;
  for (int64_t& size : shape) size = size == 1 && draft.rng().Chance(60) ? 3 : size;
  if (draft.rng().Chance(30)) shape.insert(shape.begin(), 2);
  return draft.One(row.op, row.version, {x, draft.Ints(shape)});
}

std::string Trilu(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row, 2);
  if (x.empty()) return "";
  std::vector<std::string> operands = {x};
  if (draft.rng().Chance(60))
    operands.push_back(
        draft.Constant(DType::kInt64, {}, {static_cast<double>(draft.rng().Between(-3, 3))}));
  return draft.One(row.op, row.version, operands, {Int("upper", draft.rng().Between(0, 1))});
}

std::string CumSum(Draft& draft, const Row& row) {
  const std::string x = Any(draft, row);
  if (x.empty()) return "";
  const auto axis = static_cast<double>(AnyAxis(draft, draft[x].rank()));
  return draft.One(
      row.op, row.version, {x, draft.Constant(DType::kInt64, {}, {axis})},
      {Int("exclusive", draft.rng().Between(0, 1)), Int("reverse", draft.rng().Between(0, 1))});
}

std::string ReverseSequence(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 2});
  if (x.empty()) return "";
  const Known known = draft[x];
  const auto time = static_cast<size_t>(draft.rng().Between(0, 1));
  std::vector<double> lengths;
  for (int64_t n = 0; n < known.dims[1 - time]; ++n) {
    lengths.push_back(static_cast<double>(draft.rng().Between(0, known.dims[time])));
  }
  const auto count = static_cast<int64_t>(lengths.size());
  return draft.One(row.op, row.version, {x, draft.Constant(DType::kInt64, {count}, lengths)},
                   {Int("time_axis", static_cast<int64_t>(time)),
                    Int("batch_axis", static_cast<int64_t>(1 - time))});
}

std::string TensorScatter(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 2});
  if (x.empty()) return "";
  const Known known = draft[x];
  const auto axis =
      static_cast<size_t>(draft.rng().Between(1, static_cast<int64_t>(known.rank()) - 1));
  if (known.dims[axis] == 0) return "";
  Dims update = known.dims;
  update[axis] = draft.rng().Between(1, known.dims[axis]);
  const bool circular = draft.rng().Chance(40);
  std::vector<double> starts;
  for (int64_t n = 0; n < known.dims[0]; ++n) {
    starts.push_back(static_cast<double>(
        draft.rng().Between(0, known.dims[axis] - (circular ? 0 : update[axis]))));
  }
  std::vector<std::string> operands = {x, draft.Leaf(known.dtype, update)};
  if (draft.rng().Chance(70)) {
    operands.push_back(draft.Constant(DType::kInt64, {known.dims[0]}, starts));
  }
  return draft.One(
      row.op, row.version, operands,
      {Int("axis", static_cast<int64_t>(axis)), String("mode", circular ? "circular" : "linear")});
}

const Row kMovementRows[] = {
    {"ReverseSequence", 10, ReverseSequence, kAny},
    {"TensorScatter", 24, TensorScatter, kAny},
    {"Reshape", 13, Reshape, kAny, 0, 0, 2},
    {"Reshape", 14, Reshape, kAny},
    {"Flatten", 13, Flatten, kAny},
    {"Squeeze", 13, Squeeze, kAny},
    {"Unsqueeze", 13, Unsqueeze, kAny},
    {"Transpose", 13, Transpose, kAny, 0, 0, 3},
    {"Concat", 13, Concat, kAny, 0, 0, 3},
    {"Split", 13, Split, kAny},
    {"Split", 18, Split, kAny},
    {"Slice", 13, Slice, kAny, 0, 0, 2},
    {"Pad", 13, Pad, kFloats | kWords},
    {"Pad", 18, Pad, kFloats | kWords},
    {"Pad", 19, Pad, kFloats | kWords},
    {"Tile", 13, Tile, kAny, 0, 0, 3},
    {"Expand", 13, Expand, kAny},
    {"Trilu", 14, Trilu, kAny},
    {"CumSum", 14, CumSum, kReal | kWords},
    {"CumProd", 26, CumSum, kReal | kWords, -2, 2},
};

}  // namespace

std::span<const Row> MovementRows() { return kMovementRows; }

}  // namespace hr::random_graphs
