#include "backends/cpu/lowering/expression.h"

#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

constexpr std::string_view kGrad = "headrace.grad";

std::optional<ElementOp> OpNamed(std::string_view name) {
  for (int i = 0; i < kElementOps; ++i) {
    auto op = static_cast<ElementOp>(i);
    if (name == NameOf(op)) return op;
  }
  return std::nullopt;
}

struct AttributeOperand {
  Literal name;
  double otherwise;
};

// The attributes of an operator that are operands of its ElementOp.
std::span<const AttributeOperand> AttributeOperands(std::string_view name) {
  static constexpr AttributeOperand kLeaky[] = {{"alpha", 0.01}};
  static constexpr AttributeOperand kOne[] = {{"alpha", 1.0}};
  static constexpr AttributeOperand kSelu[] = {{"alpha", 1.67326319217681884765625},
                                               {"gamma", 1.05070102214813232421875}};
  static constexpr AttributeOperand kHard[] = {{"alpha", 0.2}, {"beta", 0.5}};
  if (name == "LeakyRelu") return kLeaky;
  if (name == "Elu" || name == "Celu" || name == "ThresholdedRelu") return kOne;
  if (name == "Selu") return kSelu;
  if (name == "HardSigmoid") return kHard;
  return {};
}

// Names of ElementOps that are no operators, or not with the same operands.
bool IsInternal(std::string_view name) {
  return name == "MulAdd" || name == "Square" || name == "Fmod" || name == "GeluTanh" ||
         name == "GeluTanhGrad" || name == "ShiftLeft" || name == "ShiftRight" || name == "Expm1";
}

bool IsVariadic(std::string_view name) {
  return name == "Min" || name == "Max" || name == "Sum" || name == "Mean";
}

class Maker {
 public:
  Maker(const graph::Operator& op, const graph::Node& node, std::span<const DType> types)
      : op_(op), node_(node), types_(types) {
    out_.inputs = static_cast<int>(types.size());
    out_.compute = op.name == "Where" ? types[1] : types[0];
  }

  std::optional<Expression> Run() {
    if (op_.domain == kGrad) return Gradient();
    if (!op_.domain.empty()) return std::nullopt;
    if (op_.name == "Cast" || op_.name == "CastLike") return Unary(ElementOp::kIdentity);
    if (IsVariadic(op_.name)) return Variadic();
    if (op_.name == "Clip") return Clip();
    if (op_.name == "Gelu") {
      return Unary(node_.String("approximate", "none") == "tanh" ? ElementOp::kGeluTanh
                                                                 : ElementOp::kGelu);
    }
    if (op_.name == "Mod") {
      return Binary(node_.Int("fmod", 0) != 0 ? ElementOp::kFmod : ElementOp::kMod);
    }
    if (op_.name == "PRelu") return Binary(ElementOp::kLeakyRelu);
    if (op_.name == "IsInf" &&
        (node_.Int("detect_negative", 1) == 0 || node_.Int("detect_positive", 1) == 0)) {
      return OneSidedInfinity();
    }
    auto op = IsInternal(op_.name) ? std::nullopt : OpNamed(op_.name);
    if (!op) return std::nullopt;
    return Plain(*op);
  }

 private:
  int Constant(double value) {
    out_.constants.push_back(value);
    return out_.inputs + static_cast<int>(out_.constants.size()) - 1;
  }
  // Steps are numbered behind the constants, so all constants come first.
  int Add(ElementOp op, std::vector<int> operands) {
    out_.steps.push_back({op, std::move(operands)});
    return out_.inputs + static_cast<int>(out_.constants.size() + out_.steps.size()) - 1;
  }
  Expression Unary(ElementOp op) {
    Add(op, {0});
    return std::move(out_);
  }
  Expression Binary(ElementOp op) {
    Add(op, {0, 1});
    return std::move(out_);
  }
  std::optional<Expression> Plain(ElementOp op) {
    std::vector<int> operands;
    for (int i = 0; i < out_.inputs; ++i) operands.push_back(i);
    for (const auto& [name, otherwise] : AttributeOperands(op_.name)) {
      operands.push_back(Constant(node_.Float(name, otherwise)));
    }
    if (static_cast<int>(operands.size()) != OperandsOf(op)) return std::nullopt;
    Add(op, std::move(operands));
    return std::move(out_);
  }
  std::optional<Expression> Gradient() {
    if (op_.name == "GeluGrad") {
      return Binary(node_.String("approximate", "none") == "tanh" ? ElementOp::kGeluTanhGrad
                                                                  : ElementOp::kGeluGrad);
    }
    auto op = OpNamed(op_.name);
    if (!op || IsInternal(op_.name) || OperandsOf(*op) != out_.inputs ||
        !op_.name.ends_with("Grad")) {
      return std::nullopt;
    }
    return Plain(*op);
  }
  Expression Variadic() {
    ElementOp op = op_.name == "Min"   ? ElementOp::kMin
                   : op_.name == "Max" ? ElementOp::kMax
                                       : ElementOp::kAdd;
    bool mean = op_.name == "Mean";
    int share = mean ? Constant(1.0 / out_.inputs) : -1;
    int value = 0;
    for (int i = 1; i < out_.inputs; ++i) value = Add(op, {value, i});
    if (mean) {
      Add(ElementOp::kMul, {value, share});
    } else if (out_.steps.empty()) {
      Add(ElementOp::kIdentity, {0});
    }
    return std::move(out_);
  }
  bool Given(size_t i) const { return i < types_.size() && types_[i] != DType::kUndefined; }
  Expression Clip() {
    if (Given(1) && Given(2)) {
      Add(ElementOp::kClip, {0, 1, 2});
    } else if (Given(1)) {
      Add(ElementOp::kMax, {0, 1});
    } else if (Given(2)) {
      Add(ElementOp::kMin, {0, 2});
    } else {
      Add(ElementOp::kIdentity, {0});
    }
    return std::move(out_);
  }
  Expression OneSidedInfinity() {
    bool negative = node_.Int("detect_negative", 1) != 0;
    bool positive = node_.Int("detect_positive", 1) != 0;
    double infinity = std::numeric_limits<double>::infinity();
    // Neither: nothing equals not-a-number.
    double wanted = positive   ? infinity
                    : negative ? -infinity
                               : std::numeric_limits<double>::quiet_NaN();
    Add(ElementOp::kEqual, {0, Constant(wanted)});
    return std::move(out_);
  }

  const graph::Operator& op_;
  const graph::Node& node_;
  std::span<const DType> types_;
  Expression out_;
};

}  // namespace

std::vector<graph::Attribute> Expression::ToAttributes() const {
  std::vector<int64_t> code;
  for (const Step& step : steps) {
    code.push_back(static_cast<int64_t>(step.op));
    code.push_back(static_cast<int64_t>(step.operands.size()));
    code.insert(code.end(), step.operands.begin(), step.operands.end());
  }
  return {{"compute", static_cast<int64_t>(compute)},
          {"constants", constants},
          {"steps", std::move(code)}};
}

Expression Expression::FromAttributes(const graph::Node& node, int inputs) {
  Expression out{.compute = static_cast<DType>(node.Int("compute", 0)), .inputs = inputs};
  if (const auto* value = node.Find("constants"))
    out.constants = std::get<std::vector<double>>(*value);
  auto code = node.Ints("steps");
  for (size_t i = 0; i < code.size();) {
    auto count = static_cast<size_t>(code[i + 1]);
    auto operands = code.subspan(i + 2, count);
    out.steps.push_back({static_cast<ElementOp>(code[i]), {operands.begin(), operands.end()}});
    i += 2 + count;
  }
  return out;
}

Expression Expression::Inline(int at, const Expression& inner) const {
  Expression out{.compute = compute, .inputs = inputs + inner.inputs, .constants = inner.constants};
  out.constants.insert(out.constants.end(), constants.begin(), constants.end());
  auto constant_count = static_cast<int>(constants.size());
  auto inner_constants = static_cast<int>(inner.constants.size());
  auto inner_steps = static_cast<int>(inner.steps.size());
  int first_step = out.inputs + inner_constants + constant_count;
  auto from_inner = [&](int v) {
    if (v < inner.inputs) return inputs + v;
    if (v < inner.inputs + inner_constants) return out.inputs + v - inner.inputs;
    return first_step + v - inner.inputs - inner_constants;
  };
  auto from_outer = [&](int v) {
    if (v == at) return first_step + inner_steps - 1;
    if (v < inputs) return v;
    if (v < inputs + constant_count) return out.inputs + inner_constants + v - inputs;
    return first_step + inner_steps + v - inputs - constant_count;
  };
  auto append = [&](const std::vector<Step>& steps, auto&& map) {
    for (Step step : steps) {
      for (int& operand : step.operands) operand = map(operand);
      out.steps.push_back(std::move(step));
    }
  };
  append(inner.steps, from_inner);
  append(steps, from_outer);
  return out;
}

Expression Expression::DropUnusedInputs(std::vector<int>* kept) const {
  std::vector<int> place(static_cast<size_t>(inputs), -1);
  for (const Step& step : steps) {
    for (int operand : step.operands) {
      if (operand < inputs) place[static_cast<size_t>(operand)] = 0;
    }
  }
  kept->clear();
  for (int i = 0; i < inputs; ++i) {
    if (place[static_cast<size_t>(i)] < 0) continue;
    place[static_cast<size_t>(i)] = static_cast<int>(kept->size());
    kept->push_back(i);
  }
  Expression out = *this;
  out.inputs = static_cast<int>(kept->size());
  for (Step& step : out.steps) {
    for (int& operand : step.operands) {
      operand =
          operand < inputs ? place[static_cast<size_t>(operand)] : operand - inputs + out.inputs;
    }
  }
  return out;
}

std::string Expression::Describe() const {
  std::vector<std::string_view> names;
  for (const Step& step : steps) names.emplace_back(NameOf(step.op));
  return Join(names, "+");
}

Result<ElementProgram> Expression::Compile(std::span<const DType> input_types,
                                           DType output_type) const {
  ElementProgramBuilder builder(compute);
  std::vector<int> values;
  for (DType dtype : input_types) values.push_back(builder.Input(dtype));
  for (double constant : constants) values.push_back(builder.Constant(constant));
  for (const Step& step : steps) {
    std::vector<int> o;
    for (int operand : step.operands) o.push_back(values[static_cast<size_t>(operand)]);
    values.push_back(o.size() == 1   ? builder.Apply(step.op, {o[0]})
                     : o.size() == 2 ? builder.Apply(step.op, {o[0], o[1]})
                                     : builder.Apply(step.op, {o[0], o[1], o[2]}));
  }
  builder.Output(values.back(), output_type);
  return builder.Build();
}

bool IsElementwise(const graph::Operator& op) {
  if (op.domain == kGrad)
    return OpNamed(op.name).has_value() && op.name.ends_with("Grad") && !IsInternal(op.name);
  if (!op.domain.empty()) return false;
  constexpr std::string_view kNamed[] = {"Cast", "CastLike", "Sum", "Mean",
                                         "Clip", "Gelu",     "Mod", "PRelu"};
  if (std::find(std::begin(kNamed), std::end(kNamed), op.name) != std::end(kNamed)) return true;
  return op.name != "Identity" && !IsInternal(op.name) && OpNamed(op.name).has_value();
}

std::optional<Expression> ExpressionOf(const graph::Operator& op, const graph::Node& node,
                                       std::span<const DType> types) {
  if (types.empty() || !IsElementwise(op)) return std::nullopt;
  return Maker(op, node, types).Run();
}

}  // namespace hr::cpu
