// Operators that take and place by index.
#include <algorithm>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

std::string Data(Draft& draft, const Row& row, size_t least_rank = 1) {
  return draft.Operand({.types = row.types, .least_rank = least_rank, .most_rank = 4});
}

size_t AnyAxis(Draft& draft, const Known& known) { return draft.rng().Index(known.rank()); }
NamedAttribute Axis(size_t axis) { return Int("axis", static_cast<int64_t>(axis)); }

std::string Gather(Draft& draft, const Row& row) {
  const std::string x = Data(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const size_t axis = AnyAxis(draft, known);
  return draft.One(row.op, row.version, {x, draft.Indices(draft.AnyDims(0, 2), known.dims[axis])},
                   {Axis(axis)});
}

// No longer than the data but along the axis.
Dims ElementDims(Draft& draft, const Known& known, size_t axis) {
  Dims dims = known.dims;
  for (int64_t& d : dims) d = draft.rng().Chance(40) ? draft.rng().Between(1, d) : d;
  if (draft.rng().Chance(30)) dims[axis] = draft.rng().Between(1, 9);
  return dims;
}

std::string GatherElements(Draft& draft, const Row& row) {
  const std::string x = Data(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const size_t axis = AnyAxis(draft, known);
  return draft.One(row.op, row.version,
                   {x, draft.Indices(ElementDims(draft, known, axis), known.dims[axis])},
                   {Axis(axis)});
}

std::string Reduction(Draft& draft, const Row& row, const Known& known) {
  std::vector<std::string> names = {"none", "add", "add", "mul"};
  if (row.version < 16) names = {"none"};
  if (row.version >= 18) names.insert(names.end(), {"max", "min"});
  // Halves are moved, not computed with.
  const bool computes = (KindOf(known.dtype) & (kFloats | kWords)) != 0;
  return computes ? draft.rng().Pick(names) : "none";
}

std::vector<NamedAttribute> ReductionOf(const std::string& name) {
  if (name == "none") return {};
  return {String("reduction", name)};
}

// Each place once: of several writes the last would stay, which ONNX leaves open.
std::vector<double> Permutation(Draft& draft, int64_t size) {
  std::vector<double> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<double>(i));
  for (size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[draft.rng().Index(i)]);
  return out;
}

std::string ScatterElements(Draft& draft, const Row& row) {
  const std::string x = Data(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const size_t axis = AnyAxis(draft, known);
  const std::string reduction = Reduction(draft, row, known);
  Dims dims = ElementDims(draft, known, axis);
  std::string indices;
  if (reduction == "none") {
    dims = known.dims;
    const auto order = Permutation(draft, dims[axis]);
    reference::Array places(DType::kInt64, dims);
    reference::ForEach(dims,
                       [&](const Dims& i) { places[i] = order[static_cast<size_t>(i[axis])]; });
    indices = draft.Constant(DType::kInt64, dims, {places.data.begin(), places.data.end()});
  } else {
    indices = draft.Indices(dims, known.dims[axis]);
  }
  std::vector<NamedAttribute> attributes = ReductionOf(reduction);
  attributes.push_back(Axis(axis));
  return draft.One(row.op, row.version, {x, indices, draft.Leaf(known.dtype, dims)}, attributes);
}

std::string GatherND(Draft& draft, const Row& row) {
  const std::string x = Data(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const bool batched = known.rank() >= 2 && draft.rng().Chance(30);
  const int64_t size = known.dims[batched ? 1 : 0];
  const int64_t count = draft.rng().Between(1, 7);
  const std::string indices =
      batched ? draft.Indices({known.dims[0], count, 1}, size) : draft.Indices({count, 1}, size);
  const std::string wide = draft[indices].dtype == DType::kInt64
                               ? indices
                               : draft.One("Cast", 13, {indices}, {Int("to", 7)});
  return draft.One(row.op, row.version, {x, wide}, {Int("batch_dims", batched ? 1 : 0)});
}

std::string ScatterND(Draft& draft, const Row& row) {
  const std::string x = Data(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const std::string reduction = Reduction(draft, row, known);
  auto places = Permutation(draft, known.dims[0]);
  places.resize(draft.rng().Index(places.size()) + 1);
  if (reduction != "none") places.push_back(places[0]);
  const auto count = static_cast<int64_t>(places.size());
  Dims dims = known.dims;
  dims[0] = count;
  return draft.One(
      row.op, row.version,
      {x, draft.Constant(DType::kInt64, {count, 1}, places), draft.Leaf(known.dtype, dims)},
      ReductionOf(reduction));
}

std::string OneHot(Draft& draft, const Row& row) {
  const int64_t depth = draft.rng().Between(1, 9);
  const DType dtype = draft.rng().Chance(70) ? draft.main_type() : draft.AnyType(kNumbers);
  const std::string values = draft.Constant(dtype, {2}, {0, 1});
  return draft.One(row.op, row.version,
                   {draft.Indices(draft.AnyDims(1, 2), depth),
                    draft.Constant(DType::kInt64, {1}, {static_cast<double>(depth)}), values},
                   {Int("axis", draft.rng().Between(-1, 1))});
}

std::string TopK(Draft& draft, const Row& row) {
  const std::string x = Data(draft, row);
  if (x.empty()) return "";
  const Known known = draft[x];
  const size_t axis = AnyAxis(draft, known);
  const auto k = draft.rng().Between(1, known.dims[axis]);
  const auto names = draft.Node(row.op, row.version, {x, draft.Ints({k})}, 2,
                                {Axis(axis), Int("largest", draft.rng().Between(0, 1))});
  return names.empty() ? "" : names[draft.rng().Chance(70) ? 0 : 1];
}

const Row kIndexingRows[] = {
    {"Gather", 13, Gather, kAny, 0, 0, 2},
    {"GatherElements", 13, GatherElements, kAny},
    {"ScatterElements", 13, ScatterElements, kFloats | kWords},
    {"ScatterElements", 16, ScatterElements, kFloats | kWords},
    {"ScatterElements", 18, ScatterElements, kAny},
    {"GatherND", 13, GatherND, kAny},
    {"ScatterND", 13, ScatterND, kFloats | kWords},
    {"ScatterND", 16, ScatterND, kFloats | kWords},
    {"ScatterND", 18, ScatterND, kAny},
    {"OneHot", 11, OneHot},
    {"TopK", 11, TopK, kReal | kWords},
};

}  // namespace

std::span<const Row> IndexingRows() { return kIndexingRows; }

}  // namespace hr::random_graphs
