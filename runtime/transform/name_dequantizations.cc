#include "runtime/transform/name_dequantizations.h"

#include <algorithm>
#include <optional>

namespace hr::transform {
namespace {

using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool IsOp(const graph::Module& module, const Node& node, std::string_view name) {
  const graph::Operator& op = module.OperatorOf(node);
  return op.domain == ops::kOnnx && op.name == name;
}

const Tensor* ConstantOf(const graph::Module& module, ValueId value) {
  if (value == kNone || module.main().values[value].constant == kNone) return nullptr;
  return &module.constants[module.main().values[value].constant];
}

// The axis that goes with the scales; 0 if there is one scale. Nothing if they are no scales of the
// weights.
std::optional<size_t> AxisOf(const Tensor& weights, const Tensor& scales) {
  const Dims& of_weights = weights.dims();
  const Dims& of_scales = scales.dims();
  if (of_scales.size() > of_weights.size()) return std::nullopt;
  if (scales.elements() == 1) return 0;
  const size_t missing = of_weights.size() - of_scales.size();
  for (size_t i = 0; i < of_scales.size(); ++i) {
    if (of_scales[i] == 1) continue;
    const bool whole = of_scales[i] == of_weights[missing + i] && of_scales[i] == scales.elements();
    return whole ? std::optional(missing + i) : std::nullopt;
  }
  return std::nullopt;
}

class Namer {
 public:
  Namer(const ops::OpDef& def, graph::Module& module) : def_(def), module_(module) {}

  void Name(NodeId id) {
    const Node& mul = module_.main().nodes[id];
    if (!IsOp(module_, mul, "Mul") || mul.inputs.size() != 2) return;
    for (size_t i = 0; i < 2; ++i) {
      const ValueId weights = BytesOf(mul.inputs[i]);
      const Tensor* const scales = ConstantOf(module_, mul.inputs[1 - i]);
      if (weights == kNone || scales == nullptr || scales->dtype() != DType::kFloat32) continue;
      const auto axis = AxisOf(*ConstantOf(module_, weights), *scales);
      if (axis) return Replace(id, weights, mul.inputs[1 - i], static_cast<int64_t>(*axis));
    }
  }

 private:
  // The constant bytes that a Cast widens to this value of float32, or kNone.
  ValueId BytesOf(ValueId value) const {
    const graph::Graph& graph = module_.main();
    if (value == kNone || graph.values[value].producer == kNone) return kNone;
    const Node& cast = graph.nodes[graph.values[value].producer];
    constexpr auto kTo = static_cast<int64_t>(DType::kFloat32);
    if (!IsOp(module_, cast, "Cast") || cast.Int("to", 0) != kTo) return kNone;
    const Tensor* const bytes = ConstantOf(module_, cast.inputs[0]);
    const bool taken =
        bytes != nullptr && (bytes->dtype() == DType::kInt8 || bytes->dtype() == DType::kUint8);
    return taken ? cast.inputs[0] : kNone;
  }

  void Replace(NodeId id, ValueId weights, ValueId scales, int64_t axis) {
    const ValueId flat = Flat(scales);
    if (flat == kNone) return;
    Node& node = module_.main().nodes[id];
    node.op = module_.InternOperator(def_.domain, def_.name, def_.since_version);
    node.inputs = {weights, flat};
    node.attributes.push_back({"axis", axis});
  }

  // The same constant as a scalar or with one dimension, as the operator wants it; kNone if it
  // cannot be viewed so.
  ValueId Flat(ValueId scales) {
    const Tensor& tensor = *ConstantOf(module_, scales);
    Dims dims = tensor.elements() == 1 ? Dims() : Dims{tensor.elements()};
    if (tensor.dims() == dims) return scales;
    Tensor view = tensor;
    if (!view.Retype(tensor.dtype(), dims)) return kNone;
    graph::Value value = module_.main().values[scales];
    value.type = graph::ValueType::Tensor(tensor.dtype(), std::move(dims));
    value.constant = static_cast<uint32_t>(module_.constants.size());
    module_.constants.push_back(std::move(view));
    module_.main().values.push_back(std::move(value));
    return static_cast<ValueId>(module_.main().values.size() - 1);
  }

  const ops::OpDef& def_;
  graph::Module& module_;
};

}  // namespace

void NameDequantizations(const ops::OpRegistry& registry, graph::Module& module) {
  const ops::OpDef* const def = registry.Newest(ops::kOnnx, "DequantizeLinear");
  if (def == nullptr) return;  // a build without it
  const size_t count = module.main().nodes.size();
  for (NodeId id = 0; id < count; ++id) Namer(*def, module).Name(id);
}

}  // namespace hr::transform
