// Calls, and Scans as Loops.
#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/ops/control.h"
#include "runtime/transform/body_scope.h"
#include "runtime/transform/control.h"

namespace hr::transform {

using graph::Attributes;
using ops::kOnnx;

Result<std::vector<ValueId>> EmitCall(GraphBuilder& builder, NodeId id,
                                      std::span<const ValueId> inputs) {
  const graph::Node& node = builder.graph().nodes[id];
  const size_t outputs = node.outputs.size();
  HR_ASSIGN_OR_RETURN(const uint32_t body, ops::BodyOf(builder.module(), node, "body"));
  HR_ASSIGN_OR_RETURN(auto&& values, builder.EmitBody(body, inputs, int64_t{id} + 1));
  values.resize(outputs);
  return values;
}

namespace {

Result<ValueId> EmitInts(GraphBuilder& builder, Dims dims, std::vector<int64_t> values) {
  HR_ASSIGN_OR_RETURN(auto&& tensor, MakeTensor<int64_t>(builder.allocator(), std::move(dims),
                                                         std::span<const int64_t>(values)));
  return builder.Constant(std::move(tensor));
}

// The length of an axis, as a scalar.
Result<ValueId> Length(GraphBuilder& builder, ValueId value, int64_t axis) {
  HR_ASSIGN_OR_RETURN(ValueId shape, builder.EmitOne(kOnnx, "Shape", {value}));
  HR_ASSIGN_OR_RETURN(ValueId at, EmitInts(builder, {}, {axis}));
  return builder.EmitOne(kOnnx, "Gather", {shape, at});
}

// Turns an axis around.
Result<ValueId> Reversed(GraphBuilder& builder, ValueId value, int64_t axis) {
  HR_ASSIGN_OR_RETURN(ValueId start, EmitInts(builder, {1}, {-1}));
  HR_ASSIGN_OR_RETURN(ValueId end, EmitInts(builder, {1}, {INT64_MIN + 1}));
  HR_ASSIGN_OR_RETURN(ValueId axes, EmitInts(builder, {1}, {axis}));
  return builder.EmitOne(kOnnx, "Slice", {value, start, end, axes, start});
}

// Moves axis 0 of a value to `axis`.
Result<ValueId> MoveFirstAxis(GraphBuilder& builder, ValueId value, int64_t axis) {
  const graph::ValueType& type = builder.graph().values[value].type;
  if (axis == 0) return value;
  if (!type.ranked) return Unimplemented("Scan joins outputs of unknown rank along axis ", axis);
  const int64_t rank = type.rank();
  HR_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  std::vector<int64_t> order;
  for (int64_t i = 1; i < rank; ++i) order.push_back(i);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  return builder.EmitOne(kOnnx, "Transpose", {value}, {{"perm", std::span<const int64_t>(order)}});
}

// One Scan on its way to a Loop.
class ScanEmitter {
 public:
  ScanEmitter(GraphBuilder& builder, graph::Node node, const ops::ScanLayout& layout,
              std::span<const ValueId> inputs)
      : builder_(builder), node_(std::move(node)), inputs_(inputs), layout_(layout) {}

  Result<std::vector<ValueId>> Run() {
    HR_ASSIGN_OR_RETURN(body_, ops::BodyOf(builder_.module(), node_, "body"));
    HR_RETURN_IF_ERROR(FindAxes());
    HR_ASSIGN_OR_RETURN(ValueId trips, Length(builder_, Scanned(0), axes_[0]));
    HR_ASSIGN_OR_RETURN(graph::GraphIndex body, MakeBody());
    std::vector<ValueId> operands = {trips, kNone};
    operands.insert(operands.end(), inputs_.begin(),
                    inputs_.begin() + static_cast<std::ptrdiff_t>(layout_.states));
    const auto rest = inputs_.subspan(layout_.states);  // scanned and captured: both captured now
    operands.insert(operands.end(), rest.begin(), rest.end());
    HR_ASSIGN_OR_RETURN(
        auto&& outputs,
        builder_.Emit(kOnnx, "Loop", operands, layout_.states + layout_.scans,
                      {{"body", body}, {"captured", static_cast<int64_t>(rest.size())}}));
    return Arranged(std::move(outputs));
  }

 private:
  ValueId Scanned(size_t i) const { return inputs_[layout_.states + i]; }
  int64_t Option(Literal name, size_t i) const {
    const auto given = node_.Ints(name);
    return i < given.size() ? given[i] : 0;
  }

  Status FindAxes() {
    for (size_t i = 0; i < layout_.scanned; ++i) {
      const graph::ValueType& type = builder_.graph().values[Scanned(i)].type;
      int64_t axis = Option("scan_input_axes", i);
      if (axis < 0 && !type.ranked) {
        return Unimplemented("Scan goes along axis ", axis, " of a value of unknown rank");
      }
      if (type.ranked) {
        HR_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, type.rank()));
      }
      axes_.push_back(axis);
    }
    return {};
  }

  Result<graph::GraphIndex> MakeBody() {
    BodyScope scope(builder_);
    HR_ASSIGN_OR_RETURN(ValueId step, scope.AddInput(graph::ValueType::Tensor(DType::kInt64, {})));
    HR_ASSIGN_OR_RETURN(ValueId go, scope.AddInput(graph::ValueType::Tensor(DType::kBool, {})));
    HR_ASSIGN_OR_RETURN(auto&& values, scope.AddInputsLike(inputs_));
    for (size_t i = 0; i < layout_.scanned; ++i) {
      ValueId& value = values[layout_.states + i];
      ValueId at = step;
      if (Option("scan_input_directions", i) == 1) {
        HR_ASSIGN_OR_RETURN(at, FromTheEnd(value, axes_[i], step));
      }
      HR_ASSIGN_OR_RETURN(value,
                          builder_.EmitOne(kOnnx, "Gather", {value, at}, {{"axis", axes_[i]}}));
    }
    HR_ASSIGN_OR_RETURN(auto&& outputs, builder_.EmitBody(body_, values));
    HR_ASSIGN_OR_RETURN(ValueId still, builder_.EmitOne(kOnnx, "Identity", {go}));
    outputs.insert(outputs.begin(), still);
    scope.SetOutputs(std::move(outputs));
    return scope.index();
  }

  Result<ValueId> FromTheEnd(ValueId value, int64_t axis, ValueId step) {
    HR_ASSIGN_OR_RETURN(ValueId length, Length(builder_, value, axis));
    HR_ASSIGN_OR_RETURN(ValueId one, EmitInts(builder_, {}, {1}));
    HR_ASSIGN_OR_RETURN(ValueId last, builder_.EmitOne(kOnnx, "Sub", {length, one}));
    return builder_.EmitOne(kOnnx, "Sub", {last, step});
  }

  // The Loop joins its scans along axis 0, in the order of the iterations.
  Result<std::vector<ValueId>> Arranged(std::vector<ValueId> outputs) {
    for (size_t i = 0; i < layout_.scans; ++i) {
      ValueId& output = outputs[layout_.states + i];
      if (Option("scan_output_directions", i) == 1) {
        HR_ASSIGN_OR_RETURN(output, Reversed(builder_, output, 0));
      }
      HR_ASSIGN_OR_RETURN(output, MoveFirstAxis(builder_, output, Option("scan_output_axes", i)));
    }
    outputs.resize(node_.outputs.size(), kNone);
    return outputs;
  }

  GraphBuilder& builder_;
  const graph::Node node_;  // its attributes and outputs; a copy: the graph grows
  const std::span<const ValueId> inputs_;
  const ops::ScanLayout layout_;
  uint32_t body_ = 0;
  std::vector<int64_t> axes_;  // of the scanned inputs
};

graph::ValueType WithoutFirstAxis(graph::ValueType type) {
  if (type.ranked && !type.dims.empty()) type.dims.erase(type.dims.begin());
  return type;
}

// Operator set 8: a Scan over the examples, of Scans of one example.
class BatchScanEmitter {
 public:
  BatchScanEmitter(GraphBuilder& builder, const graph::Node& node, const ops::ScanLayout& layout,
                   std::span<const ValueId> inputs)
      : builder_(builder), node_(node), layout_(layout), inputs_(inputs.subspan(layout.first)) {}

  Result<std::vector<ValueId>> Run() {
    HR_ASSIGN_OR_RETURN(graph::GraphIndex body, MakeBody());
    graph::Node over{.outputs = node_.outputs, .attributes = {{"body", body}}};
    const ops::ScanLayout examples = {.scanned = Examples(),
                                      .captured = layout_.captured,
                                      .scans = layout_.states + layout_.scans};
    return ScanEmitter(builder_, std::move(over), examples, inputs_).Run();
  }

 private:
  size_t Examples() const { return layout_.states + layout_.scanned; }  // inputs of each example

  Result<graph::GraphIndex> MakeBody() {
    std::vector<graph::ValueType> types;
    for (const ValueId input : inputs_) types.push_back(builder_.graph().values[input].type);
    BodyScope scope(builder_);
    std::vector<ValueId> values;
    for (size_t i = 0; i < types.size(); ++i) {
      const bool whole = i >= Examples();
      HR_ASSIGN_OR_RETURN(values.emplace_back(),
                          scope.AddInput(whole ? types[i] : WithoutFirstAxis(types[i])));
    }
    const auto directions = node_.Ints("directions");
    graph::Node one{.attributes = {{"body", *node_.Find("body")},
                                   {"scan_input_directions",
                                    std::vector<int64_t>(directions.begin(), directions.end())}}};
    one.outputs.resize(layout_.states + layout_.scans);
    ops::ScanLayout layout = layout_;
    layout.batched = false;
    layout.first = 0;
    HR_ASSIGN_OR_RETURN(auto&& given, ScanEmitter(builder_, std::move(one), layout, values).Run());
    scope.SetOutputs(std::move(given));
    return scope.index();
  }

  GraphBuilder& builder_;
  const graph::Node& node_;
  const ops::ScanLayout layout_;
  const std::span<const ValueId> inputs_;  // without the lengths
};

}  // namespace

Result<std::vector<ValueId>> EmitScan(GraphBuilder& builder, NodeId id,
                                      std::span<const ValueId> inputs) {
  const graph::Node node = builder.graph().nodes[id];  // a copy: the graph grows
  HR_ASSIGN_OR_RETURN(const ops::ScanLayout layout, ops::ScanLayoutOf(builder.module(), node));
  if (!layout.batched) return ScanEmitter(builder, node, layout, inputs).Run();
  if (inputs[0] != kNone) {
    return Unimplemented(
        "Scan of operator set 8 goes along all of each example; lengths as its first input are "
        "not known, leave them out or use Scan of operator set 9");
  }
  return BatchScanEmitter(builder, node, layout, inputs).Run();
}

}  // namespace hr::transform
