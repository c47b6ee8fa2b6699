// Reductions, softmax and losses.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

// Axes are an attribute before, and an operand from this version on.
int FirstWithOperand(const std::string& op) { return op == "ReduceSum" ? 13 : 18; }

std::string Reduce(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = row.low, .high = row.high, .least_rank = 1});
  if (x.empty()) return "";
  std::vector<int64_t> axes;
  const auto rank = static_cast<int64_t>(draft[x].rank());
  for (int64_t i = 0; i < rank; ++i) {
    if (draft.rng().Chance(50)) axes.push_back(draft.rng().Chance(30) ? i - rank : i);
  }
  std::vector<NamedAttribute> attributes = {Int("keepdims", draft.rng().Between(0, 1))};
  std::vector<std::string> operands = {x};
  if (row.version < FirstWithOperand(row.op)) {
    if (!axes.empty()) attributes.push_back(List("axes", axes));
  } else {
    if (draft.rng().Chance(15)) attributes.push_back(Int("noop_with_empty_axes", 1));
    if (!axes.empty()) operands.push_back(draft.Ints(axes));
  }
  return draft.One(row.op, row.version, operands, attributes);
}

std::string Arg(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 1});
  if (x.empty()) return "";
  const auto axis = static_cast<int64_t>(draft.rng().Index(draft[x].rank()));
  return draft.One(row.op, row.version, {x},
                   {Int("axis", axis), Int("keepdims", draft.rng().Between(0, 1)),
                    Int("select_last_index", draft.rng().Between(0, 1))});
}

std::string Softmax(Draft& draft, const Row& row) {
  const std::string x =
      draft.Operand({.types = row.types, .low = -60, .high = 60, .least_rank = 1});
  if (x.empty()) return "";
  const auto rank = static_cast<int64_t>(draft[x].rank());
  return draft.One(row.op, row.version, {x}, {Int("axis", draft.rng().Between(-rank, rank - 1))});
}

std::string Loss(Draft& draft, const Row& row) {
  std::string x =
      draft.Operand({.types = row.types, .low = -60, .high = 60, .least_rank = 2, .most_rank = 4});
  if (x.empty()) return "";
  const bool whole = std::string(row.op) == "SoftmaxCrossEntropyLoss";
  if (!whole) x = draft.One("LogSoftmax", 13, {x}, {Int("axis", 1)});
  if (x.empty()) return "";
  const Known known = draft[x];
  Dims labels = known.dims;
  labels.erase(labels.begin() + 1);
  std::vector<std::string> operands = {x, draft.Indices(labels, known.dims[1], false)};
  if (draft.rng().Chance(40)) operands.push_back(draft.Leaf(known.dtype, {known.dims[1]}, 0.25, 2));
  std::vector<NamedAttribute> attributes;
  // With every label ignored the mean is 0 / 0.
  const int64_t choice = draft.rng().Between(0, 2);
  if (choice != 0) attributes.push_back(String("reduction", choice == 1 ? "sum" : "none"));
  if (choice != 0 && draft.rng().Chance(40)) attributes.push_back(Int("ignore_index", 0));
  const auto names = draft.Node(row.op, row.version, operands,
                                whole && draft.rng().Chance(30) ? 2 : 1, attributes);
  return names.empty() ? "" : names[0];
}

constexpr unsigned kSums = kReal | kWords;
const Row kReductionRows[] = {
    {"ReduceSum", 13, Reduce, kSums, -1e30, 1e30, 3},
    {"ReduceMean", 13, Reduce, kReal, -1e30, 1e30, 2},
    {"ReduceMean", 18, Reduce, kReal},
    {"ReduceMax", 13, Reduce, kSums},
    {"ReduceMax", 18, Reduce, kSums},
    {"ReduceMax", 20, Reduce, kSums},
    {"ReduceMin", 13, Reduce, kSums},
    {"ReduceMin", 18, Reduce, kSums},
    {"ReduceMin", 20, Reduce, kSums},
    {"ReduceProd", 13, Reduce, kReal, -1.25, 1.25},
    {"ReduceProd", 18, Reduce, kReal, -1.25, 1.25},
    {"ReduceSumSquare", 13, Reduce, kSums},
    {"ReduceSumSquare", 18, Reduce, kSums},
    {"ReduceL1", 13, Reduce, kSums},
    {"ReduceL1", 18, Reduce, kSums},
    {"ReduceL2", 13, Reduce, kReal},
    {"ReduceL2", 18, Reduce, kReal},
    {"ReduceLogSum", 13, Reduce, kReal, 0.1},
    {"ReduceLogSum", 18, Reduce, kReal, 0.1},
    {"ReduceLogSumExp", 13, Reduce, kReal, -60, 60},
    {"ReduceLogSumExp", 18, Reduce, kReal, -60, 60},
    {"ArgMax", 13, Arg, kSums},
    {"ArgMin", 13, Arg, kSums},
    {"Softmax", 13, Softmax, kReal, 0, 0, 2},
    {"LogSoftmax", 13, Softmax, kReal, 0, 0, 2},
    {"SoftmaxCrossEntropyLoss", 13, Loss, kFloats, 0, 0, 2},
    {"NegativeLogLikelihoodLoss", 13, Loss, kFloats, 0, 0, 2},
};

}  // namespace

std::span<const Row> ReductionRows() { return kReductionRows; }

}  // namespace hr::random_graphs
