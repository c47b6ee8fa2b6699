// How values are laid out to be divided among the ranks of a group: each rank gets a row. What
// depends on the number of ranks is an attribute, so that a graph can be made one for another
// number (transform/redivide.h).
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "runtime/graph/shards.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

// Nothing moves between ranks here; the group is the one whose ranks get the rows.
constexpr AttributeDef kGroupAttribute = {"group", AttributeKind::kString, true};
constexpr AttributeDef kRanksAttribute = {"ranks", AttributeKind::kInt, true};
constexpr AttributeDef kPack[] = {kGroupAttribute, kRanksAttribute};
constexpr AttributeDef kUnpack[] = {
    kGroupAttribute, kRanksAttribute, {"elements", AttributeKind::kInts, true}};

constexpr int64_t kMostRanks = int64_t{1} << 20, kMostElements = int64_t{1} << 48;

Status CheckRanks(const InferContext& context) {
  const int64_t ranks = context.node().Int("ranks", 0);
  if (ranks >= 1 && ranks <= kMostRanks) return {};
  return InvalidArgument(context.def().name, "'s 'ranks', the size of its group, is 1 or more; ",
                         "got ", ranks);
}

// The columns that so many elements take, in a row for each rank.
int64_t ColumnsOf(int64_t elements, const Node& node) {
  return graph::PartOf(elements, node.Int("ranks", 1));
}

Status InferPack(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckRanks(context));
  bool fixed = true;
  int64_t columns = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(context.ExpectNumeric(i));
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    const auto dims = context.input(i).FixedDims();
    fixed = fixed && dims;
    if (dims) columns += ColumnsOf(ElementCount(*dims), context.node());
  }
  ValueType out =
      ValueType::Tensor(context.input(0).dtype, {context.node().Int("ranks", 1), columns});
  if (!fixed) out.dims[1] = graph::Dim{};
  context.SetOutput(0, std::move(out));
  return {};
}

// Zeros lie behind the end of what the ranks do not divide evenly.
void ComposePack(ComposeContext& c) {
  const int64_t ranks = c.node().Int("ranks", 1);
  std::vector<ValueId> rows;
  for (size_t i = 0; i < c.input_count() && c.ok(); ++i) {
    const auto dims = c.type(c.input(i)).FixedDims();
    if (!dims) return c.Fail(FailedPrecondition("Pack needs to know the sizes of its inputs"));
    const int64_t elements = ElementCount(*dims), columns = ColumnsOf(elements, c.node());
    ValueId flat = c.Emit("Reshape", {c.input(i), c.Ints(std::array{elements})});
    if (const int64_t missing = columns * ranks - elements; missing != 0) {
      flat = c.Emit("Pad", {flat, c.Ints(std::array<int64_t, 2>{0, missing})});
    }
    rows.push_back(c.Emit("Reshape", {flat, c.Ints(std::array{ranks, columns})}));
  }
  c.SetOutput(0, rows.size() == 1 ? rows[0] : c.Concat(rows, 1));
}

std::vector<int64_t> ColumnsOfEach(const Node& node) {
  std::vector<int64_t> out;
  for (int64_t elements : node.Ints("elements")) out.push_back(ColumnsOf(elements, node));
  return out;
}

Status InferUnpack(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckRanks(context));
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  const auto elements = context.node().Ints("elements");
  const bool counts = std::all_of(elements.begin(), elements.end(),
                                  [](int64_t n) { return n >= 0 && n <= kMostElements; });
  if (!counts || elements.empty() || elements.size() != context.output_count()) {
    return InvalidArgument("Unpack has an output for each number of 'elements', got ", elements,
                           " and ", context.output_count(), " outputs");
  }
  const std::vector<int64_t> columns = ColumnsOfEach(context.node());
  const int64_t all = std::accumulate(columns.begin(), columns.end(), int64_t{0});
  const ValueType& x = context.input(0);
  if (x.ranked && x.dims[1].fixed() && x.dims[1].size != all) {
    return InvalidArgument("Unpack's 'elements' and 'ranks' say that there are ", all,
                           " columns, got ", context.InputText(0));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    ValueType out = ValueType::Tensor(x.dtype, {0, columns[i]});
    out.dims[0] = x.ranked ? x.dims[0] : graph::Dim{};
    context.SetOutput(i, std::move(out));
  }
  return {};
}

void ComposeUnpack(ComposeContext& c) {
  const std::vector<int64_t> columns = ColumnsOfEach(c.node());
  if (columns.size() == 1) return c.SetOutput(0, c.input(0));
  const std::array inputs = {c.input(0), c.Ints(columns)};
  const auto apart =
      c.EmitMany(kOnnx, "Split", inputs, columns.size(), graph::Attributes({{"axis", int64_t{1}}}));
  for (size_t i = 0; i < apart.size(); ++i) c.SetOutput(i, apart[i]);
}

constexpr OpDef kPackingOps[] = {
    // (x…) → [ranks, Σ ⌈n / ranks⌉]: row r has the r-th part of each value of n elements.
    {.domain = kComm,
     .name = "Pack",
     .inputs = {1, kUnlimited},
     .attributes = kPack,
     .infer = InferPack,
     .compose = ComposePack},
    // ([rows, Σ ⌈n / ranks⌉]) → [rows, ⌈n / ranks⌉] for each n of `elements`.
    {.domain = kComm,
     .name = "Unpack",
     .outputs = {1, kUnlimited},
     .attributes = kUnpack,
     .infer = InferUnpack,
     .compose = ComposeUnpack},
};

}  // namespace

OpFamily PackingOps() { return Chosen<kPackingOps>(); }

}  // namespace hr::ops
