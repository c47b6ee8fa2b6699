#include "runtime/ops/compose.h"

#include "runtime/ops/infer.h"

namespace hr::ops {

size_t ComposeContext::Axis(int64_t axis, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  if (axis >= -size && axis < size) return static_cast<size_t>(axis < 0 ? axis + size : axis);
  Fail(InvalidArgument("axis ", axis, " is outside a tensor of rank ", rank));
  return 0;
}

ValueId ComposeContext::Int(int64_t value) {
  const auto [found, added] = numbers_.try_emplace(value, kNone);
  if (added) found->second = Ints(std::span(&value, 1));
  return found->second;
}

ValueId ComposeContext::DimOf(ValueId value, size_t axis) {
  if (!ok()) return kNone;
  const ValueType& known = type(value);
  const graph::Dim dim = known.ranked ? known.dims[axis] : graph::Dim();
  if (dim.fixed()) return Int(dim.size);
  const bool named = dim.symbol != kNone;
  const auto key = named ? std::pair(ValueId{kNone}, size_t{dim.symbol}) : std::pair(value, axis);
  const auto [found, added] = sizes_.try_emplace(key, kNone);
  const auto at = static_cast<int64_t>(axis);
  if (added) found->second = Emit("Shape", {value}, {{"start", at}, {"end", at + 1}});
  return found->second;
}

ValueId ComposeContext::Joined(std::span<const ValueId> parts) { return Concat(parts, 0); }

ValueId ComposeContext::Concat(std::span<const ValueId> parts, int64_t axis) {
  return EmitMany(kOnnx, "Concat", parts, 1, graph::Attributes({{"axis", axis}}))[0];
}

ValueId ComposeContext::Unsqueeze(ValueId value, int64_t axis) {
  return Emit("Unsqueeze", {value, Int(axis)});
}

ValueId ComposeContext::Slice(ValueId value, int64_t axis, ValueId start, ValueId end) {
  return Emit("Slice", {value, start, end, Int(axis)});
}

ValueId ComposeContext::Counted(ValueId size) {
  const ValueId end = Emit("Squeeze", {size});
  const ValueId zero = Emit("Squeeze", {Int(0)}), one = Emit("Squeeze", {Int(1)});
  return Emit("Range", {zero, end, one});
}

ValueId ComposeContext::Reshape(ValueId value, std::span<const ValueId> sizes) {
  return Emit("Reshape", {value, Joined(sizes)});
}

ValueId ComposeContext::Transpose(ValueId value, std::vector<int64_t> order) {
  return Emit("Transpose", {value}, {{"perm", std::move(order)}});
}

ValueId ComposeContext::Reduce(Literal name, ValueId value, std::span<const int64_t> axes) {
  return Emit(name, {value, Ints(axes)}, {{"keepdims", int64_t{1}}});
}

}  // namespace hr::ops
