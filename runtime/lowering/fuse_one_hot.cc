#include "runtime/lowering/fuse_one_hot.h"

#include <cmath>

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

template <typename T>
bool IsCount(const Tensor& tensor) {
  const auto values = tensor.span<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<T>(i)) return false;
  }
  return true;
}

// Whether the value is 0, 1, … `size` - 1 along its last axis, and has no other.
bool CountsTo(const Region& region, ValueId id, int64_t size) {
  const Tensor* tensor = region.ConstantOf(id);
  const Dims dims = region.DimsOf(id);
  if (tensor == nullptr || dims.empty() || dims.back() != size) return false;
  if (ElementCount(dims) != size) return false;
  return region.DTypeOf(id) == DType::kInt32   ? IsCount<int32_t>(*tensor)
         : region.DTypeOf(id) == DType::kInt64 ? IsCount<int64_t>(*tensor)
                                               : false;
}

template <typename T>
bool AllFinite(const Tensor& tensor) {
  for (T value : tensor.span<T>()) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// Whether the value is a matrix of constants that are finite: 0 times them is 0.
bool IsFiniteMatrix(const Region& region, ValueId id) {
  const Tensor* tensor = region.ConstantOf(id);
  if (tensor == nullptr || region.DimsOf(id).size() != 2) return false;
  return region.DTypeOf(id) == DType::kFloat32   ? AllFinite<float>(*tensor)
         : region.DTypeOf(id) == DType::kFloat64 ? AllFinite<double>(*tensor)
                                                 : false;
}

// One index for each row, compared with all columns.
bool IsIndex(const Region& region, ValueId id, ValueId one_hot) {
  const Dims dims = region.DimsOf(id), rows = region.DimsOf(one_hot);
  const bool is_alone = dims.empty() || dims.back() == 1;
  return is_alone && ElementCount(dims) * rows.back() == ElementCount(rows);
}

// The index of a product of one-hot rows; kNone for other products.
ValueId IndexOf(Region& region, const graph::Node& product) {
  const ValueId one_hot = product.inputs[0], matrix = product.inputs[1];
  const NodeId cast = region.Producer(one_hot);
  if (cast == kNone || !region.Is(cast, "", "Cast")) return kNone;
  const NodeId equal = region.Producer(region.node(cast).inputs[0]);
  if (equal == kNone || !region.Is(equal, "", "Equal")) return kNone;
  const std::vector<ValueId> compared = region.node(equal).inputs;
  for (size_t i : {0, 1}) {
    const ValueId index = compared[i], counted = compared[1 - i];
    if (region.value(counted).constant == kNone) continue;
    const bool fits = region.Decide([=](const Region& r) {
      return IsIndex(r, index, one_hot) && CountsTo(r, counted, r.DimsOf(one_hot).back()) &&
             IsFiniteMatrix(r, matrix);
    });
    if (fits) return index;
  }
  return kNone;
}

}  // namespace

void FuseOneHotProducts(Region& region) {
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (!region.Is(id, "", "MatMul")) continue;
    const graph::Node product = region.node(id);
    const ValueId index = IndexOf(region, product);
    if (index == kNone) continue;
    region.Replace(id, region.AddNode("OneHotProduct", {index, product.inputs[1]}, product.outputs,
                                      {}, product.name));
  }
  region.Sweep();
}

}  // namespace hr::lowering
