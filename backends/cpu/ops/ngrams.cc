// TfIdfVectorizer.
#include "backends/cpu/kernels/ngrams.h"

#include <algorithm>
#include <map>

#include "backends/cpu/ops/ml.h"
#include "backends/cpu/ops/request.h"
#include "runtime/ops/attribute_lists.h"

namespace hr::cpu {
namespace {

// The n-grams of one length from the pool; of equal ones the last counts. Sizes were checked by the
// type rule.
NGrams Sorted(int64_t length, std::span<const int64_t> pool, std::span<const int64_t> columns) {
  std::map<std::vector<int64_t>, int64_t> by_gram;
  const auto size = static_cast<size_t>(length);
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto gram = pool.subspan(i * size, size);
    by_gram[{gram.begin(), gram.end()}] = columns[i];
  }
  NGrams out{.length = length, .grams = {}, .columns = {}};
  for (const auto& [gram, column] : by_gram) {
    out.grams.insert(out.grams.end(), gram.begin(), gram.end());
    out.columns.push_back(column);
  }
  return out;
}

NGramPool PoolOf(const graph::Node& node, int64_t columns) {
  const auto counts = node.Ints("ngram_counts"), pool = node.Ints("pool_int64s");
  const auto indexes = node.Ints("ngram_indexes");
  const auto weights = ops::FloatsOf(node, "weights");
  const std::string_view mode = node.String("mode", "TF");
  NGramPool out;
  out.columns = columns;
  out.most_skips = node.Int("max_skip_count", 0);
  out.score = mode == "TF"    ? NGramScore::kCount
              : mode == "IDF" ? NGramScore::kWeightIfAny
                              : NGramScore::kWeightTimesCount;
  out.weights.assign(weights.begin(), weights.end());
  size_t before = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1;
    const auto begin = static_cast<size_t>(counts[i]);
    const size_t end = i + 1 < counts.size() ? static_cast<size_t>(counts[i + 1]) : pool.size();
    const size_t grams = (end - begin) / static_cast<size_t>(length);
    if (length >= node.Int("min_gram_length", 1) && length <= node.Int("max_gram_length", 1)) {
      out.lengths.push_back(
          Sorted(length, pool.subspan(begin, end - begin), indexes.subspan(before, grams)));
    }
    before += grams;
  }
  return out;
}

Result<LoweredKernel> MakeTfIdf(const KernelRequest& request) {
  const Dims& x = request.input(0).dims;
  const int64_t length = x.empty() ? 1 : x.back(), rows = x.size() == 2 ? x[0] : 1;
  const int slices = request.threads;
  const bool wide = request.input(0).dtype == DType::kInt64;
  LoweredKernel out;
  out.kernel = MakeKernel(
      "n_grams",
      [rows, length, slices, wide, pool = PoolOf(request.node, request.outputs[0].dims.back())](
          const engine::Operands& p, const engine::LaunchContext& context) {
        const auto count = [&]<typename T>(const T* x) {
          CountNGrams(context.threads, pool, rows, length, x, p.output<float>(0), slices);
        };
        wide ? count(p.input<int64_t>(0)) : count(p.input<int32_t>(0));
        return Status();
      });
  return out;
}

constexpr KernelEntry kNgramsKernels[] = {{"", "TfIdfVectorizer", MakeTfIdf}};

}  // namespace

KernelPart NGramFamily() { return ChosenKernels<kNgramsKernels>(); }

}  // namespace hr::cpu
