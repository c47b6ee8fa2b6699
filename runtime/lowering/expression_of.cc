// What each element-wise operator computes.
#include <algorithm>
#include <limits>

#include "runtime/base/float8.h"
#include "runtime/lowering/expression.h"
#include "runtime/ops/op_def.h"

namespace hr::lowering {
namespace {

using ops::ElementOp;

class Maker {
 public:
  Maker(const graph::Operator& op, const graph::Node& node, std::span<const DType> types)
      : op_(op), node_(node), types_(types) {
    out_.inputs = static_cast<int>(types.size());
    out_.compute = op.name == "Where" ? types[1] : types[0];
  }

  std::string_view name() const { return op_.name; }
  const graph::Node& node() const { return node_; }
  int inputs() const { return out_.inputs; }
  bool Given(size_t i) const { return i < types_.size() && types_[i] != DType::kUndefined; }
  DType type(size_t i) const { return types_[i]; }
  void ComputeIn(DType type) { out_.compute = type; }
  Expression Take() { return std::move(out_); }

  // Steps are numbered behind the constants, so all constants come first.
  int Constant(double value) {
    out_.constants.push_back(value);
    return out_.inputs + static_cast<int>(out_.constants.size()) - 1;
  }
  int Add(ElementOp op, std::vector<int> operands) {
    out_.steps.push_back({op, std::move(operands)});
    return out_.inputs + static_cast<int>(out_.constants.size() + out_.steps.size()) - 1;
  }

 private:
  const graph::Operator& op_;
  const graph::Node& node_;
  std::span<const DType> types_;
  Expression out_;
};

// Makes `op` of all inputs, then of the attributes that are operands.
bool MakePlain(Maker& maker, ElementOp op) {
  const ops::ElementOpInfo& info = ops::InfoOf(op);
  std::vector<int> operands;
  for (int i = 0; i < maker.inputs(); ++i) operands.push_back(i);
  for (const ops::ElementAttribute& attribute : info.attributes) {
    if (attribute.name == "") break;
    operands.push_back(maker.Constant(maker.node().Float(attribute.name, attribute.otherwise)));
  }
  if (operands.size() != info.operands) return false;
  maker.Add(op, std::move(operands));
  return true;
}

// Operators whose function depends on how they are used.
void MakeIdentity(Maker& maker) { maker.Add(ElementOp::kIdentity, {0}); }

// Storing makes what is too large for an 8-bit float infinite, or NaN: saturated, it is clipped
// before.
void MakeCast(Maker& maker) {
  const DType to =
      maker.name() == "Cast" ? static_cast<DType>(maker.node().Int("to", 0)) : maker.type(1);
  if (!IsFloat8(to) || maker.node().Int("saturate", 1) == 0) return MakeIdentity(maker);
  const int least = maker.Constant(-LargestFloat8(to)), most = maker.Constant(LargestFloat8(to));
  maker.Add(ElementOp::kClip, {0, least, most});
}

void MakeGelu(Maker& maker) {
  const bool tanh = maker.node().String("approximate", "none") == "tanh";
  maker.Add(tanh ? ElementOp::kGeluTanh : ElementOp::kGelu, {0});
}

void MakeGeluGrad(Maker& maker) {
  const bool tanh = maker.node().String("approximate", "none") == "tanh";
  maker.Add(tanh ? ElementOp::kGeluTanhGrad : ElementOp::kGeluGrad, {0, 1});
}

void MakeMod(Maker& maker) {
  maker.Add(maker.node().Int("fmod", 0) != 0 ? ElementOp::kFmod : ElementOp::kMod, {0, 1});
}

// The exponent may have another type, which the base's need not hold: 2 ^ 0.5 of integers is 1, not
// 2 ^ 0.
void MakePow(Maker& maker) {
  const DType base = maker.type(0), exponent = maker.type(1);
  if (!IsFloating(base) && IsFloating(exponent)) {
    maker.ComputeIn(DType::kFloat64);
  } else if (!IsFloating(base) && base != exponent && base != DType::kUint64) {
    maker.ComputeIn(DType::kInt64);
  }
  maker.Add(ElementOp::kPow, {0, 1});
}

void MakeBitShift(Maker& maker) {
  const bool left = maker.node().String("direction", "LEFT") == "LEFT";
  maker.Add(left ? ElementOp::kShiftLeft : ElementOp::kShiftRight, {0, 1});
}

void MakePRelu(Maker& maker) { maker.Add(ElementOp::kLeakyRelu, {0, 1}); }

// Returns the result of `op` over all inputs, one after the other.
int Fold(Maker& maker, ElementOp op) {
  int value = 0;
  for (int i = 1; i < maker.inputs(); ++i) value = maker.Add(op, {value, i});
  return value;
}

void MakeFold(Maker& maker) {
  const ElementOp op = maker.name() == "Min"   ? ElementOp::kMin
                       : maker.name() == "Max" ? ElementOp::kMax
                                               : ElementOp::kAdd;
  if (maker.inputs() == 1) return MakeIdentity(maker);
  Fold(maker, op);
}

void MakeMean(Maker& maker) {
  const int share = maker.Constant(1.0 / maker.inputs());
  const int sum = Fold(maker, ElementOp::kAdd);
  maker.Add(ElementOp::kMul, {sum, share});
}

void MakeClip(Maker& maker) {
  if (maker.Given(1) && maker.Given(2)) {
    maker.Add(ElementOp::kClip, {0, 1, 2});
  } else if (maker.Given(1)) {
    maker.Add(ElementOp::kMax, {0, 1});
  } else if (maker.Given(2)) {
    maker.Add(ElementOp::kMin, {0, 2});
  } else {
    MakeIdentity(maker);
  }
}

void MakeIsInf(Maker& maker) {
  const bool negative = maker.node().Int("detect_negative", 1) != 0;
  const bool positive = maker.node().Int("detect_positive", 1) != 0;
  if (negative && positive) {
    maker.Add(ElementOp::kIsInf, {0});
    return;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // If neither is wanted, x is compared with not-a-number, which nothing equals.
  const double wanted = positive   ? kInfinity
                        : negative ? -kInfinity
                                   : std::numeric_limits<double>::quiet_NaN();
  maker.Add(ElementOp::kEqual, {0, maker.Constant(wanted)});
}

// (x - zero) * scale, in the type of the scale.
void MakeDequantize(Maker& maker) {
  maker.ComputeIn(maker.type(1));
  const int x = maker.Given(2) ? maker.Add(ElementOp::kSub, {0, 2}) : 0;
  maker.Add(ElementOp::kMul, {x, 1});
}

// Storing the result clamps it to the range of its type.
void MakeQuantize(Maker& maker) {
  const int steps = maker.Add(ElementOp::kRound, {maker.Add(ElementOp::kDiv, {0, 1})});
  if (maker.Given(2)) maker.Add(ElementOp::kAdd, {steps, 2});
}

struct Form {
  std::string_view domain;
  std::string_view name;
  void (*make)(Maker&);
};

constexpr Form kForms[] = {
    {ops::kOnnx, "Cast", MakeCast},
    {ops::kOnnx, "CastLike", MakeCast},
    {ops::kOnnx, "Min", MakeFold},
    {ops::kOnnx, "Max", MakeFold},
    {ops::kOnnx, "Sum", MakeFold},
    {ops::kOnnx, "Mean", MakeMean},
    {ops::kOnnx, "Clip", MakeClip},
    {ops::kOnnx, "Gelu", MakeGelu},
    {ops::kOnnx, "Mod", MakeMod},
    {ops::kOnnx, "PRelu", MakePRelu},
    {ops::kOnnx, "IsInf", MakeIsInf},
    {ops::kGrad, "GeluGrad", MakeGeluGrad},
    {ops::kOnnx, "BitShift", MakeBitShift},
    {ops::kOnnx, "QuantizeLinear", MakeQuantize},
    {ops::kOnnx, "DequantizeLinear", MakeDequantize},
    {ops::kOnnx, "Pow", MakePow},
};

const Form* FindForm(const graph::Operator& op) {
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& f) {
    return f.name == op.name && f.domain == op.domain;
  });
  return form == std::end(kForms) ? nullptr : form;
}

}  // namespace

bool IsElementwise(const graph::Operator& op) {
  return FindForm(op) != nullptr || ops::ElementOpOf(op.domain, op.name).has_value();
}

std::optional<Expression> ExpressionOf(const graph::Operator& op, const graph::Node& node,
                                       std::span<const DType> types) {
  if (types.empty()) return std::nullopt;
  Maker maker(op, node, types);
  if (const Form* form = FindForm(op)) {
    form->make(maker);
    return maker.Take();
  }
  const auto plain = ops::ElementOpOf(op.domain, op.name);
  if (!plain || !MakePlain(maker, *plain)) return std::nullopt;
  return maker.Take();
}

}  // namespace hr::lowering
