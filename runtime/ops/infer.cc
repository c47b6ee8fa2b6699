#include "runtime/ops/infer.h"

#include <algorithm>

#include "runtime/base/half.h"

namespace hr::ops {

std::optional<std::vector<int64_t>> IntsOf(const Tensor& tensor) {
  auto copy = [](auto values) { return std::vector<int64_t>(values.begin(), values.end()); };
  if (tensor.dtype() == DType::kInt64) return copy(tensor.span<int64_t>());
  if (tensor.dtype() == DType::kInt32) return copy(tensor.span<int32_t>());
  return std::nullopt;
}

void InferContext::SetOutput(size_t i, const ValueType& type) { SetOutput(i, ValueType(type)); }

void InferContext::SetOutput(size_t i, ValueType&& type) {
  if (i < outputs_.size()) outputs_[i] = std::move(type);
}

void InferContext::SetUnranked(size_t i, DType dtype) { SetOutput(i, ValueType::Unranked(dtype)); }

const Tensor* InferContext::constant(size_t i) const {
  if (i >= constants_.size()) return nullptr;
  if (constants_[i] == nullptr && has_input(i) && i < 64) asked_ |= uint64_t{1} << i;
  return constants_[i];
}

std::optional<std::vector<int64_t>> InferContext::ConstantInts(size_t i) const {
  const Tensor* tensor = constant(i);
  return tensor == nullptr ? std::nullopt : IntsOf(*tensor);
}

std::optional<double> InferContext::ConstantNumber(size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr || tensor->elements() != 1) return std::nullopt;
  if (tensor->dtype() == DType::kFloat32) return *tensor->as<float>();
  if (tensor->dtype() == DType::kFloat64) return *tensor->as<double>();
  if (tensor->dtype() == DType::kFloat16) return HalfToFloat(*tensor->as<uint16_t>());
  if (tensor->dtype() == DType::kBfloat16) return Bfloat16ToFloat(*tensor->as<uint16_t>());
  if (tensor->dtype() == DType::kInt16) return *tensor->as<int16_t>();
  auto ints = IntsOf(*tensor);
  return ints ? std::optional(static_cast<double>((*ints)[0])) : std::nullopt;
}

Result<const Tensor*> InferContext::TensorOf(Literal attribute) const {
  const auto* value = node_.Find(attribute);
  const auto* index = value == nullptr ? nullptr : std::get_if<graph::TensorIndex>(value);
  if (index != nullptr && index->index < module_.constants.size()) {
    return &module_.constants[index->index];
  }
  return InvalidArgument(def_.name, "'s attribute '", attribute, "' names none of the ",
                         module_.constants.size(), " constants");
}

Result<const graph::Variable*> InferContext::VariableOf(Literal attribute) const {
  int64_t index = node_.Int(attribute, -1);
  if (index < 0 || static_cast<size_t>(index) >= module_.variables.size()) {
    return InvalidArgument(def_.name, "'s attribute '", attribute, "' names variable ", index,
                           ", there are ", module_.variables.size());
  }
  return &module_.variables[static_cast<size_t>(index)];
}

namespace {

std::string_view WayOutOf(DType dtype) {
  return IsFloat8(dtype) ? "; floats of 8 bits are only moved and converted: insert a Cast" : "";
}

}  // namespace

Status InferContext::ExpectDType(size_t i, std::initializer_list<DType> allowed) const {
  if (!has_input(i)) return {};
  if (std::find(allowed.begin(), allowed.end(), input(i).dtype) != allowed.end()) return {};
  std::vector<std::string_view> names;
  for (DType dtype : allowed) names.push_back(DTypeName(dtype));
  return InvalidArgument(def_.name, " takes ", Join(names), " as input ", i, ", got ",
                         Text(input(i)), WayOutOf(input(i).dtype));
}

Status InferContext::ExpectFloating(size_t i) const {
  return ExpectDType(i, {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16});
}

Status InferContext::ExpectNumeric(size_t i) const {
  if (!has_input(i) || IsFloating(input(i).dtype) || IsInteger(input(i).dtype)) return {};
  return InvalidArgument(def_.name, " takes numbers as input ", i, ", got ", Text(input(i)),
                         WayOutOf(input(i).dtype));
}

Status InferContext::ExpectSameDType(size_t i, size_t j) const {
  if (!has_input(i) || !has_input(j) || input(i).dtype == input(j).dtype) return {};
  return InvalidArgument(def_.name, " takes inputs ", i, " and ", j, " of one type, got ",
                         Text(input(i)), " and ", Text(input(j)), "; insert a Cast");
}

Status InferContext::ExpectRank(size_t i, int64_t rank) const {
  if (!has_input(i) || !input(i).ranked || input(i).rank() == rank) return {};
  return InvalidArgument(def_.name, " takes rank ", rank, " as input ", i, ", got ",
                         Text(input(i)));
}

Status InferContext::ExpectRankAtLeast(size_t i, int64_t rank) const {
  if (!has_input(i) || !input(i).ranked || input(i).rank() >= rank) return {};
  return InvalidArgument(def_.name, " takes rank ", rank, " or more as input ", i, ", got ",
                         Text(input(i)));
}

Status InferContext::ExpectIndices(size_t i) const {
  return ExpectDType(i, {DType::kInt64, DType::kInt32});
}

Status InferContext::ExpectInts(size_t i) const {
  HR_RETURN_IF_ERROR(ExpectDType(i, {DType::kInt64}));
  return ExpectRank(i, 1);
}

Status InferSameAsInput(InferContext& context) {
  context.SetOutput(0, context.input(0));
  return {};
}

Status InferFloatingUnary(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  return InferSameAsInput(context);
}

Status InferNumericUnary(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  return InferSameAsInput(context);
}

Result<std::vector<graph::Dim>> BroadcastTypes(const InferContext& context, const ValueType& a,
                                               const ValueType& b) {
  std::vector<graph::Dim> out(std::max(a.dims.size(), b.dims.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    graph::Dim one{.size = 1};
    graph::Dim da = i < a.dims.size() ? a.dims[a.dims.size() - 1 - i] : one;
    graph::Dim db = i < b.dims.size() ? b.dims[b.dims.size() - 1 - i] : one;
    graph::Dim& d = out[out.size() - 1 - i];
    if (da == db || db == one) {
      d = da;
    } else if (da == one) {
      d = db;
    } else if (da.fixed() && db.fixed()) {
      return InvalidArgument(context.def().name, " cannot broadcast ", context.Text(a), " with ",
                             context.Text(b), ": dimensions ", da.size, " and ", db.size,
                             " differ and neither is 1");
    } else {
      d = da.fixed()   ? da
          : db.fixed() ? db
                       : graph::Dim{};  // the fixed one wins, or nothing is known
    }
  }
  return out;
}

Status BroadcastInto(const InferContext& context, const ValueType& next, ValueType& out) {
  out.ranked = out.ranked && next.ranked;
  if (!out.ranked) {
    out.dims.clear();
    return {};
  }
  HR_ASSIGN_OR_RETURN(out.dims, BroadcastTypes(context, out, next));
  return {};
}

Result<ValueType> BroadcastInputs(const InferContext& context) {
  ValueType out = context.input(0);
  for (size_t i = 1; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    HR_RETURN_IF_ERROR(BroadcastInto(context, context.input(i), out));
  }
  return out;
}

Status InferBroadcast(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_ASSIGN_OR_RETURN(auto&& out, BroadcastInputs(context));
  context.SetOutput(0, std::move(out));
  return {};
}

}  // namespace hr::ops
