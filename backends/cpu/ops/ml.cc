// What ai.onnx.ml's operators are composed of: trees, and tables of keys.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/couple.h"
#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/kernels/forest.h"
#include "backends/cpu/kernels/key_table.h"
#include "backends/cpu/ops/ml.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

using Columns = ops::ForestColumns;

// Operand `i`, which has to be known when the plan is made.
template <typename T>
Result<std::vector<T>> Known(const KernelRequest& request, size_t i) {
  const Tensor* held = request.input(i).constant;
  if (held == nullptr) {
    return Unimplemented("input ", i, " of ", request.op.name,
                         " depends on data; give it as a constant");
  }
  const auto values = held->span<T>();
  return std::vector<T>(values.begin(), values.end());
}

bool Within(int64_t i, size_t size) { return i >= 0 && static_cast<uint64_t>(i) < size; }
bool IsRange(int64_t begin, int64_t end, size_t size) {
  return begin >= 0 && begin <= end && static_cast<uint64_t>(end) <= size;
}

template <typename T>
Status CheckNode(const Forest<T>& forest, const typename Forest<T>::Node& node, size_t i) {
  const bool leaf = node.mode == ops::ForestMode::kLeaf;
  const auto number = static_cast<int64_t>(i);
  const bool placed = leaf ? IsRange(node.yes, node.no, forest.weights.size())
                           : node.yes > number && node.no > number &&
                                 Within(node.yes, forest.nodes.size()) &&
                                 Within(node.no, forest.nodes.size());
  if (!placed) return InvalidArgument("Forest's node ", i, " goes on outside of what is behind it");
  if (!leaf && !Within(node.feature, static_cast<size_t>(forest.features))) {
    return InvalidArgument("a tree compares feature ", node.feature, ", but x has ",
                           forest.features);
  }
  if (IsRange(node.members_begin, node.members_end, forest.members.size())) return {};
  return InvalidArgument("Forest's node ", i, " has members that are not there");
}

template <typename T>
Status CheckForest(const Forest<T>& forest) {
  for (size_t i = 0; i < forest.nodes.size(); ++i) {
    HR_RETURN_IF_ERROR(CheckNode(forest, forest.nodes[i], i));
  }
  if (forest.targets.size() != forest.weights.size()) {
    return InvalidArgument("Forest has ", forest.weights.size(), " weights for ",
                           forest.targets.size(), " targets");
  }
  for (int64_t target : forest.targets) {
    if (!Within(target, static_cast<size_t>(forest.target_count))) {
      return OutOfRange("a leaf has a weight for target ", target, " of ", forest.target_count);
    }
  }
  for (int64_t root : forest.roots) {
    if (!Within(root, forest.nodes.size())) {
      return OutOfRange("a tree begins at node ", root, " of ", forest.nodes.size());
    }
  }
  return {};
}

template <typename T>
Result<Forest<T>> ForestOf(const KernelRequest& request) {
  Forest<T> forest;
  HR_ASSIGN_OR_RETURN(const auto table, Known<int64_t>(request, 1));
  HR_ASSIGN_OR_RETURN(const auto splits, Known<T>(request, 2));
  HR_ASSIGN_OR_RETURN(forest.roots, Known<int64_t>(request, 3));
  HR_ASSIGN_OR_RETURN(forest.targets, Known<int64_t>(request, 4));
  HR_ASSIGN_OR_RETURN(forest.weights, Known<T>(request, 5));
  HR_ASSIGN_OR_RETURN(forest.members, Known<T>(request, 6));
  forest.features = request.input(0).dims[1];
  forest.target_count = request.node.Int("n_targets", 1);
  forest.aggregate = static_cast<ops::ForestAggregate>(request.node.Int("aggregate", 1));
  if (table.size() != splits.size() * Columns::kColumns) {
    return InvalidArgument("Forest has ", table.size(), " numbers of nodes for ", splits.size(),
                           " splits");
  }
  for (size_t i = 0; i < splits.size(); ++i) {
    const int64_t* row = table.data() + i * Columns::kColumns;
    const int64_t mode = row[Columns::kMode];
    if (mode < 0 || mode > static_cast<int64_t>(ops::ForestMode::kLeaf)) {
      return InvalidArgument("Forest's node ", i, " has the mode ", mode, "; they are from 0 to 7");
    }
    forest.nodes.push_back({static_cast<ops::ForestMode>(mode), row[Columns::kMissing] != 0,
                            row[Columns::kFeature], row[Columns::kYes], row[Columns::kNo],
                            row[Columns::kMembersBegin], row[Columns::kMembersEnd], splits[i]});
  }
  HR_RETURN_IF_ERROR(CheckForest(forest));
  for (const auto& node : forest.nodes) {
    std::sort(forest.members.begin() + node.members_begin,
              forest.members.begin() + node.members_end);
  }
  return forest;
}

Result<LoweredKernel> MakeForest(const KernelRequest& request) {
  const int64_t rows = request.input(0).dims[0];
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    HR_ASSIGN_OR_RETURN(auto&& forest, ForestOf<T>(request));
    const int ranges = ForestRanges(forest, rows, request.threads);
    LoweredKernel out;
    out.scratch_bytes = ForestScratchBytes(forest.target_count, ranges);
    out.kernel = MakeKernel("forest", [rows, ranges, forest = std::move(forest)](
                                          const engine::Operands& p,
                                          const engine::LaunchContext& context) {
      Predict<T>(context.threads, forest, rows, p.input<T>(0), p.output<T>(0), ranges, p.scratch());
      return Status();
    });
    return out;
  });
}

// (x, keys [n], values [n], other value [1]) → the values of the keys that x has, or the other
template <typename K>
Result<LoweredKernel> MakeTable(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(auto&& keys, Known<K>(request, 1));
  const int64_t count = request.input(0).elements();
  const size_t bytes = DTypeSize(request.outputs[0].dtype);
  LoweredKernel out;
  out.kernel = MakeKernel("look_up", [count, bytes, table = KeyTable<K>(keys)](
                                         const engine::Operands& p, const engine::LaunchContext&) {
    ForElementSize(bytes, [&]<typename V>() {
      const auto* values = p.input<V>(2);
      const V other = *p.input<V>(3);
      const K* x = p.input<K>(0);
      V* y = p.output<V>(0);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = table.Find(x[i]);
        y[i] = at < 0 ? other : values[at];
      }
    });
    return Status();
  });
  return out;
}

Result<LoweredKernel> MakeLookUp(const KernelRequest& request) {
  switch (request.input(0).dtype) {
    case DType::kFloat32: return MakeTable<float>(request);
    case DType::kFloat64: return MakeTable<double>(request);
    case DType::kInt16: return MakeTable<int16_t>(request);
    case DType::kInt32: return MakeTable<int32_t>(request);
    default: return MakeTable<int64_t>(request);
  }
}

Result<LoweredKernel> MakeCouplePairs(const KernelRequest& request) {
  const int64_t rows = request.outputs[0].dims[0], classes = request.outputs[0].dims[1];
  const int ranges = CoupleRanges(rows, classes, request.threads);
  LoweredKernel out;
  out.scratch_bytes = CoupleScratchBytes(classes, ranges);
  out.kernel = MakeKernel("couple_pairs",
                          [=](const engine::Operands& p, const engine::LaunchContext& context) {
                            CouplePairs(context.threads, rows, classes, p.input<float>(0),
                                        p.output<float>(0), ranges, p.scratch());
                            return Status();
                          });
  return out;
}

constexpr KernelEntry kMlKernels[] = {
    {"headrace.ml", "CouplePairs", MakeCouplePairs},
    {"headrace.ml", "Forest", MakeForest},
    {"headrace.ml", "LookUp", MakeLookUp},
};

}  // namespace

KernelPart MlFamily() { return ChosenKernels<kMlKernels>(); }

}  // namespace hr::cpu
