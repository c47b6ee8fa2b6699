// Counts of n-grams in rows of numbers.
#include <algorithm>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kNGramAttributes[] = {
    {"mode", AttributeKind::kString, true},
    {"min_gram_length", AttributeKind::kInt, true},
    {"max_gram_length", AttributeKind::kInt, true},
    {"max_skip_count", AttributeKind::kInt, true},
    {"ngram_counts", AttributeKind::kInts, true},
    {"ngram_indexes", AttributeKind::kInts, true},
    {"pool_int64s", AttributeKind::kInts},
    {"pool_strings", AttributeKind::kStrings},
    {"weights", AttributeKind::kFloats},
};

// Columns beyond this are mistakes.
constexpr int64_t kMostColumns = int64_t{1} << 31;

// Checks that ngram_counts cuts the pool into n-grams of growing lengths, with an index for each.
Status CheckPool(const Node& node) {
  const auto counts = node.Ints("ngram_counts"), pool = node.Ints("pool_int64s");
  int64_t grams = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t begin = counts[i], length = static_cast<int64_t>(i) + 1;
    const int64_t end = i + 1 < counts.size() ? counts[i + 1] : static_cast<int64_t>(pool.size());
    if (begin < 0 || begin > end || end > static_cast<int64_t>(pool.size()) ||
        (end - begin) % length != 0) {
      return InvalidArgument("TfIdfVectorizer's 'ngram_counts' does not cut a pool of ",
                             pool.size(), " numbers into n-grams: those of ", length,
                             " numbers lie from ", begin, " to ", end);
    }
    grams += (end - begin) / length;
  }
  if (grams == static_cast<int64_t>(node.Ints("ngram_indexes").size())) return {};
  return InvalidArgument("TfIdfVectorizer has ", grams, " n-grams and ",
                         node.Ints("ngram_indexes").size(), " indexes; give as many");
}

// The columns of the result: one behind the largest index.
Result<int64_t> ColumnsOf(const Node& node) {
  int64_t most = -1;
  for (int64_t index : node.Ints("ngram_indexes")) {
    if (index < 0 || index >= kMostColumns) {
      return InvalidArgument("TfIdfVectorizer's 'ngram_indexes' are columns from 0 on, got ",
                             index);
    }
    most = std::max(most, index);
  }
  const size_t weights = FloatsOf(node, "weights").size();
  if (most < 0) return InvalidArgument("TfIdfVectorizer has no n-grams");
  if (weights == 0 || static_cast<int64_t>(weights) == most + 1) return most + 1;
  return InvalidArgument("TfIdfVectorizer has ", most + 1, " columns and ", weights, " weights");
}

// (x [length] or [rows, length]) → [columns] or [rows, columns]
Status InferTfIdf(InferContext& context) {
  const Node& node = context.node();
  if (!StringsOf(node, "pool_strings").empty()) {
    return Unimplemented(
        "TfIdfVectorizer's 'pool_strings' are strings, which do not run here; "
        "give numbers and 'pool_int64s'");
  }
  if (!IsOneOf(node.String("mode", ""), {"TF", "IDF", "TFIDF"})) {
    return InvalidArgument("TfIdfVectorizer's 'mode' is TF, IDF or TFIDF, got '",
                           node.String("mode", ""), "'");
  }
  const int64_t least = node.Int("min_gram_length", 0), most = node.Int("max_gram_length", 0);
  if (least < 1 || most < least || node.Int("max_skip_count", 0) < 0) {
    return InvalidArgument("TfIdfVectorizer wants lengths from 1 on and no negative skips, got ",
                           least, " to ", most, " with ", node.Int("max_skip_count", 0));
  }
  HR_RETURN_IF_ERROR(CheckPool(node));
  HR_ASSIGN_OR_RETURN(const int64_t columns, ColumnsOf(node));
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kInt32, DType::kInt64}));
  const ValueType& x = context.input(0);
  if (!x.ranked) {
    context.SetUnranked(0, DType::kFloat32);
    return {};
  }
  if (x.rank() > 2) {
    return InvalidArgument("TfIdfVectorizer takes a row or rows, got ", context.Text(x));
  }
  std::vector<Dim> dims = {FixedDim(columns)};
  if (x.rank() == 2) dims.insert(dims.begin(), x.dims[0]);
  SetDims(context, 0, DType::kFloat32, std::move(dims));
  return {};
}

constexpr OpDef kNGramOps[] = {
    {.domain = kOnnx,
     .name = "TfIdfVectorizer",
     .since_version = 9,
     .attributes = kNGramAttributes,
     .infer = InferTfIdf},
};

}  // namespace

OpFamily NGramOps() { return Chosen<kNGramOps>(); }

}  // namespace hr::ops
