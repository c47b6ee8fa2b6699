#include "runtime/transform/clip.h"

#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/formula.h"

namespace hr::transform {
namespace {

class Clipper {
 public:
  explicit Clipper(GraphBuilder& builder) : f_(builder, "clip") {}

  ValueId ByValue(ValueId gradient, double bound) {
    const ValueId high = f_.Scalar(bound, gradient), low = f_.Scalar(-bound, gradient);
    return f_.Emit("Clip", {gradient, low, high});
  }

  ValueId ByNorm(ValueId gradient, double bound) {
    return Scaled(gradient, FactorOf(f_.Emit("Sqrt", {Squares(gradient)}), bound));
  }

  // In the wider type of those that there are.
  ValueId GlobalNorm(std::span<const ValueId> gradients) {
    DType wide = DType::kFloat32;
    for (ValueId gradient : gradients) {
      if (gradient != kNone && f_.type(gradient).dtype == DType::kFloat64) wide = DType::kFloat64;
    }
    ValueId sum = kNone;
    for (ValueId gradient : gradients) {
      if (gradient == kNone) continue;
      const ValueId squares = f_.Cast(Squares(gradient), wide);
      sum = sum == kNone ? squares : f_.Add(sum, squares);
    }
    return sum == kNone ? f_.Number(0, wide) : f_.Emit("Sqrt", {sum});
  }

  // What takes a norm that is too large down to the bound; 1 for others.
  ValueId FactorOf(ValueId norm, double bound) {
    const ValueId most = f_.Scalar(bound, norm);
    return f_.Div(most, f_.Max(norm, most));
  }

  ValueId Scaled(ValueId gradient, ValueId factor) {
    return f_.Mul(gradient, f_.CastLike(factor, gradient));
  }

  Status status() { return f_.status(); }

 private:
  ValueId Squares(ValueId gradient) {
    const bool is_double = f_.ok() && f_.type(gradient).dtype == DType::kFloat64;
    const ValueId wide = f_.Cast(gradient, is_double ? DType::kFloat64 : DType::kFloat32);
    return f_.ReduceAll("ReduceSumSquare", wide);
  }

  Formula f_;
};

Result<ValueId> Clip(GraphBuilder& builder, const Clipping& clipping, bool wants_norm,
                     std::span<ValueId> gradients) {
  for (ValueId gradient : gradients) {
    if (gradient != kNone) HR_RETURN_IF_ERROR(builder.CheckValue(gradient));
  }
  Clipper clipper(builder);
  for (ValueId& gradient : gradients) {
    if (gradient == kNone) continue;
    if (clipping.value != 0) gradient = clipper.ByValue(gradient, clipping.value);
    if (clipping.norm != 0) gradient = clipper.ByNorm(gradient, clipping.norm);
  }
  ValueId norm = kNone;
  if (wants_norm || clipping.global_norm != 0) norm = clipper.GlobalNorm(gradients);
  if (clipping.global_norm != 0) {
    const ValueId factor = clipper.FactorOf(norm, clipping.global_norm);
    for (ValueId& gradient : gradients) {
      if (gradient != kNone) gradient = clipper.Scaled(gradient, factor);
    }
  }
  HR_RETURN_IF_ERROR(clipper.status());
  return norm;
}

}  // namespace

Status CheckBound(std::string_view name, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return InvalidArgument("gradients are clipped to a ", name, " above 0, got ", value);
}

Result<Clipping> ParseClipping(std::string_view text) {
  Clipping out;
  // The first word has no name of its own: "value=1" is a setting, too.
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedNumbers(Cat("clip ", text)));
  for (const auto& [name, value] : spec.numbers) {
    HR_RETURN_IF_ERROR(CheckBound(name, value));
    if (name == "value") {
      out.value = value;
    } else if (name == "norm") {
      out.norm = value;
    } else if (name == "global_norm") {
      out.global_norm = value;
    } else {
      return InvalidArgument("gradients are clipped by value, norm or global_norm, got '", name,
                             "'");
    }
  }
  if (!out.any()) return InvalidArgument("expected a bound, such as 'global_norm=1'");
  return out;
}

Result<ValueId> ClipGradients(GraphBuilder& builder, const Clipping& clipping, bool wants_norm,
                              std::span<ValueId> gradients) {
  std::vector<ValueId> clipped(gradients.begin(), gradients.end());
  HR_ASSIGN_OR_RETURN(const ValueId norm, builder.AllOrNothing([&] {
    return Clip(builder, clipping, wants_norm, clipped);
  }));
  std::copy(clipped.begin(), clipped.end(), gradients.begin());
  return norm;
}

Status MarkGradients(GraphBuilder& builder, std::span<ValueId> gradients) {
  for (ValueId& gradient : gradients) {
    if (gradient == kNone) continue;
    HR_RETURN_IF_ERROR(builder.CheckValue(gradient));
    HR_ASSIGN_OR_RETURN(gradient, builder.EmitOne(ops::kTrain, "Gradient", {gradient}));
  }
  return {};
}

}  // namespace hr::transform
