#include "runtime/lowering/expression.h"

#include <algorithm>
#include <bit>

#include "runtime/base/strings.h"

namespace hr::lowering {

std::vector<graph::Attribute> Expression::ToAttributes() const {
  std::vector<int64_t> code;
  for (const Step& step : steps) {
    code.push_back(static_cast<int64_t>(step.op));
    code.push_back(static_cast<int64_t>(step.operands.size()));
    code.insert(code.end(), step.operands.begin(), step.operands.end());
  }
  std::vector<graph::Attribute> out = {{"compute", static_cast<int64_t>(compute)},
                                       {"constants", constants},
                                       {"steps", std::move(code)}};
  if (!also.empty()) out.push_back({"also", std::vector<int64_t>(also.begin(), also.end())});
  return out;
}

Expression Expression::FromAttributes(const graph::Node& node, int inputs) {
  Expression out{.compute = static_cast<DType>(node.Int("compute", 0)), .inputs = inputs};
  if (const auto* value = node.Find("constants"))
    out.constants = std::get<std::vector<double>>(*value);
  auto code = node.Ints("steps");
  for (size_t i = 0; i < code.size();) {
    auto count = static_cast<size_t>(code[i + 1]);
    auto operands = code.subspan(i + 2, count);
    out.steps.push_back({static_cast<ops::ElementOp>(code[i]), {operands.begin(), operands.end()}});
    i += 2 + count;
  }
  const auto also = node.Ints("also");
  out.also.assign(also.begin(), also.end());
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
  for (int output : also) out.also.push_back(from_outer(output));
  return out;
}

Expression Expression::Beside(const Expression& other) const {
  Expression out = Inline(-1, other);
  const size_t last = out.constants.size() + other.steps.size() - 1;
  out.also.push_back(out.inputs + static_cast<int>(last));
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
  return RenumberInputs(place, static_cast<int>(kept->size()));
}

Expression Expression::RenumberInputs(std::span<const int> place, int count) const {
  Expression out = *this;
  out.inputs = count;
  const auto renumber = [&](int& value) {
    value = value < inputs ? place[static_cast<size_t>(value)] : value - inputs + count;
  };
  for (Step& step : out.steps) std::for_each(step.operands.begin(), step.operands.end(), renumber);
  std::for_each(out.also.begin(), out.also.end(), renumber);
  return out;
}

Expression Expression::MergeEqual() const {
  Expression out{.compute = compute, .inputs = inputs};
  std::vector<int> place;  // of each value
  for (int i = 0; i < inputs; ++i) place.push_back(i);
  const auto index = [](const auto& list, const auto& known) {
    return static_cast<int>(known - list.begin());
  };
  for (double constant : constants) {
    const auto same = [&](double other) {  // zeros have signs, and a NaN equals itself
      return std::bit_cast<uint64_t>(constant) == std::bit_cast<uint64_t>(other);
    };
    const auto known = std::find_if(out.constants.begin(), out.constants.end(), same);
    place.push_back(inputs + index(out.constants, known));
    if (known == out.constants.end()) out.constants.push_back(constant);
  }
  const int first = inputs + static_cast<int>(out.constants.size());
  for (const Step& step : steps) {
    Step now = step;
    for (int& operand : now.operands) operand = place[static_cast<size_t>(operand)];
    const auto same = [&](const Step& other) {
      return other.op == now.op && other.operands == now.operands;
    };
    // The last one is the output.
    const auto known = &step == &steps.back()
                           ? out.steps.end()
                           : std::find_if(out.steps.begin(), out.steps.end(), same);
    place.push_back(first + index(out.steps, known));
    if (known == out.steps.end()) out.steps.push_back(std::move(now));
  }
  for (int output : also) out.also.push_back(place[static_cast<size_t>(output)]);
  return out;
}

bool Expression::Has(ops::ElementOp op) const {
  return std::any_of(steps.begin(), steps.end(), [op](const Step& step) { return step.op == op; });
}

int Expression::Cost() const {
  int cost = 0;
  for (const Step& step : steps) cost += ops::InfoOf(step.op).cost;
  return cost;
}

std::string Expression::Describe() const {
  std::vector<std::string_view> names;
  for (const Step& step : steps) names.push_back(ops::InfoOf(step.op).name);
  return Join(names, "+");
}

}  // namespace hr::lowering
