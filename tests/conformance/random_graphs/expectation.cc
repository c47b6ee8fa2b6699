#include "tests/conformance/random_graphs/expectation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "tests/conformance/random_graphs/precision.h"
#include "tests/conformance/random_graphs/rng.h"

namespace hr::random_graphs {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

constexpr uint64_t kFirstRuns = 3;
constexpr Number kUlps = 20;

// Of every four runs one moves equal numbers alike, and one rounds to the type.
bool MovesAlike(uint64_t run) { return run % 4 == 2; }
bool Rounds(uint64_t run) { return run % 4 == 0; }

uint64_t Place(int step, uint64_t kind, uint64_t index) {
  return (static_cast<uint64_t>(step) * 4 + kind) << 32 | index;
}

Array WithoutSigns(Array array) {
  for (Number& x : array.data) x = std::fabs(x);
  return array;
}

// With the mask that was drawn in place of one of the reference's own.
void DropBy(const reference::Array& x, const Array& mask, Number ratio, Array& y) {
  for (size_t i = 0; i < y.size(); ++i) y.data[i] = mask.data[i] != 0 ? x.data[i] / (1 - ratio) : 0;
}

std::vector<NodeId> NeededNodes(const graph::Module& module, const graph::Signature& signature) {
  const graph::Graph& graph = module.main();
  std::set<NodeId> needed;
  std::vector<NodeId> open(signature.targets);
  const auto need = [&](ValueId value) {
    if (value != kNone && graph.values[value].producer != kNone)
      open.push_back(graph.values[value].producer);
  };
  for (const graph::Port& port : signature.outputs) need(port.value);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!needed.insert(id).second) continue;
    for (ValueId input : graph.nodes[id].inputs) need(input);
    for (NodeId control : graph.nodes[id].controls) open.push_back(control);
  }
  return {needed.begin(), needed.end()};
}

}  // namespace

Result<Expectation> Expectation::Create(const graph::Module& module, const std::vector<Feed>& feeds,
                                        int steps, Drawn drawn) {
  Expectation out(module, steps, std::move(drawn));
  HR_RETURN_IF_ERROR(out.Prepare(feeds));
  HR_ASSIGN_OR_RETURN(auto base, out.Run(0));
  const auto& ports = module.FindSignature("run")->outputs;
  for (size_t i = 0; i < base.size(); ++i) {
    const size_t fetched = ports.size() * static_cast<size_t>(steps);
    std::string name = i < fetched
                           ? Cat(ports[i % ports.size()].name, " of step ", i / ports.size())
                           : Cat("variable ", module.variables[i - fetched].name);
    std::vector<Number> spread(base[i].size(), 0);
    out.judged_values_.push_back({std::move(name), std::move(base[i]), std::move(spread)});
  }
  return out;
}

Status Expectation::Prepare(const std::vector<Feed>& feeds) {
  const graph::Graph& graph = module_->main();
  const graph::Signature& signature = *module_->FindSignature("run");
  for (const graph::Port& port : signature.inputs) {
    for (const Feed& feed : feeds) {
      if (feed.name == port.name) given_[port.value] = reference::FromTensor(feed.tensor);
    }
  }
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const uint32_t constant = graph.values[id].constant;
    if (constant != kNone) given_[id] = reference::FromTensor(module_->constants[constant]);
  }
  const auto needed = NeededNodes(*module_, signature);
  HR_ASSIGN_OR_RETURN(auto order, graph::TopologicalOrder(graph));
  for (NodeId id : order) {
    if (std::binary_search(needed.begin(), needed.end(), id)) order_.push_back(id);
  }
  return {};
}

void Expectation::Disturb(uint64_t run, uint64_t place, Moved moved, Array& array, Number least) {
  if (!IsFloating(array.dtype)) return;
  const Format format = FormatOf(array.dtype);
  std::vector<char>& exact = exact_[place];
  if (moved == Moved::kAlways || moved == Moved::kTogether) {
    exact.resize(array.size());
  } else if (run == 0) {
    exact.resize(array.size());
    for (size_t i = 0; i < array.size(); ++i) {
      const Number x = array.data[i];
      exact[i] = moved == Moved::kFed ? x == std::nearbyint(x) : Representable(format, x);
    }
  }
  const auto sums = sums_.find(place);
  if (run == 0) {
    for (size_t i = 0; i < array.size() && sums != sums_.end(); ++i)
      exact[i] = exact[i] != 0 && Representable(format, sums->second[i]);
    return;
  }
  for (size_t i = 0; i < array.size(); ++i) {
    if (exact[i] != 0 || !std::isfinite(array.data[i])) continue;
    const auto value = std::bit_cast<uint64_t>(static_cast<double>(array.data[i]));
    const auto alike = moved == Moved::kTogether ? 0 : value;
    const auto bits = Draw(run * 0x10001 + place, MovesAlike(run) ? alike : i);
    const Number size = (Number{1} + static_cast<Number>(bits >> 44) * 0x1p-20L) / 2;
    Number inner = std::max(std::fabs(array.data[i]), least);
    if (sums != sums_.end()) inner = std::max(inner, sums->second[i]);
    const Number ulp = Ulp(format, inner), move = kUlps * size * ulp;
    const bool up = (bits & 1) != 0;
    if (Rounds(run)) {
      const Number ulps = array.data[i] / ulp;
      array.data[i] = (up ? std::ceil(ulps) : std::floor(ulps)) * ulp;
    } else {
      array.data[i] += up ? move : -move;
    }
  }
}

Status Expectation::NoteSums(int step, const graph::Node& node,
                             const std::vector<const Array*>& inputs) {
  std::vector<Array> sizes(inputs.size());
  std::vector<const Array*> terms = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !IsFloating(inputs[i]->dtype)) continue;
    sizes[i] = WithoutSigns(*inputs[i]);
    terms[i] = &sizes[i];
  }
  std::vector<Array> none;
  HR_ASSIGN_OR_RETURN(auto sums, reference::EvaluateNode(*module_, node, terms, none));
  for (size_t i = 0; i < sums.size(); ++i) {
    if (node.outputs[i] != kNone)
      sums_[Place(step, 0, node.outputs[i])] = WithoutSigns(std::move(sums[i])).data;
  }
  return {};
}

void Expectation::NoteDifferences(uint64_t place, const Array& a, const Array& b,
                                  const Dims& dims) {
  std::vector<Number>& apart = apart_[place];
  reference::ForEach(dims,
                     [&](const Dims& i) { apart.push_back(a.Broadcast(i) - b.Broadcast(i)); });
}

void Expectation::EqualNearby(uint64_t place, const Array& a, const Array& b, Array& y) const {
  const std::vector<Number>& apart = apart_.at(place);
  size_t at = 0;
  reference::ForEach(y.dims, [&](const Dims& i) {
    const Number moved = std::fabs(a.Broadcast(i) - b.Broadcast(i) - apart[at]);
    const Number distance = std::fabs(apart[at++]);
    if (distance != 0 && moved >= distance) y[i] = 1;
  });
}

void Expectation::NoteUndefined(NodeId id, const std::vector<const Array*>& inputs) {
  if (!undefined_.empty()) return;
  for (const Array* input : inputs) {
    for (size_t i = 0; input != nullptr && i < input->size(); ++i) {
      if (!std::isfinite(input->data[i])) return;  // given so
    }
  }
  for (ValueId output : module_->main().nodes[id].outputs) {
    if (output == kNone || !values_[output]) continue;
    const Array& value = *values_[output];
    const Number largest = IsFloating(value.dtype) ? FormatOf(value.dtype).largest : INFINITY;
    for (Number x : value.data) {
      if (std::fabs(x) <= largest) continue;
      undefined_ = graph::NodeText(*module_, module_->main(), id);
      return;
    }
  }
}

Status Expectation::RunNode(uint64_t run, int step, NodeId id, std::vector<Array>& variables) {
  const graph::Node& node = module_->main().nodes[id];
  const auto& drawn = drawn_[static_cast<size_t>(step)];
  std::vector<const Array*> inputs;
  for (ValueId input : node.inputs) {
    const bool known = input != kNone && values_[input];
    if (input != kNone && !known) return InvalidArgument("a value is missing");
    inputs.push_back(known ? &*values_[input] : nullptr);
  }
  const std::string_view op = module_->OperatorOf(node).name;
  const bool copies = Copies(op), sums = Sums(op), exact = copies || sums || RoundsOnce(op);
  std::vector<Array> moved_inputs(exact || run == 0 ? 0 : inputs.size());
  for (size_t i = 0; i < moved_inputs.size(); ++i) {
    if (inputs[i] == nullptr || module_->main().values[node.inputs[i]].type.dims.empty()) continue;
    moved_inputs[i] = *inputs[i];
    Disturb(run, Place(step, 3, id) * 16 + i, Moved::kAlways, moved_inputs[i]);
    inputs[i] = &moved_inputs[i];
  }
  HR_ASSIGN_OR_RETURN(auto outputs, reference::EvaluateNode(*module_, node, inputs, variables));
  if (sums && run == 0) HR_RETURN_IF_ERROR(NoteSums(step, node, inputs));
  if (op == "Equal" && IsFloating(inputs[0]->dtype)) {
    const uint64_t place = Place(step, 0, node.outputs[0]);
    if (run == 0) {
      NoteDifferences(place, *inputs[0], *inputs[1], outputs[0].dims);
    } else {
      EqualNearby(place, *inputs[0], *inputs[1], outputs[0]);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (output == kNone) continue;
    auto given = drawn.find(output);
    values_[output] = given != drawn.end() ? given->second : std::move(outputs[i]);
  }
  const bool drops = op == "Dropout" && node.outputs.size() > 1 &&
                     drawn.contains(node.outputs[1]) && inputs.size() > 2 && inputs[2] != nullptr &&
                     inputs[2]->data[0] != 0;
  if (drops) {
    const Number ratio = inputs[1] != nullptr ? inputs[1]->data[0] : Number{0.5};
    DropBy(*inputs[0], *values_[node.outputs[1]], ratio, *values_[node.outputs[0]]);
  }
  if (run == 0) NoteUndefined(id, inputs);
  const Number inner = run == 0 || exact ? 0 : InnerSize(node, op, inputs);
  for (ValueId output : node.outputs) {
    if (output == kNone || (copies && !drawn.contains(output))) continue;
    const Moved moved = drawn.contains(output) ? Moved::kFed
                        : exact                ? Moved::kRounded
                        : MovesGroups(op)      ? Moved::kTogether
                                               : Moved::kAlways;
    const Number least = std::max(inner, copies ? 0 : SummedSize(inputs, *values_[output]));
    Disturb(run, Place(step, 0, output), moved, *values_[output], least);
  }
  return {};
}

Status Expectation::RunStep(uint64_t run, int step, std::vector<Array>& variables) {
  values_.assign(module_->main().values.size(), std::nullopt);
  for (const auto& [value, array] : given_) {
    values_[value] = array;
    Disturb(run, Place(0, 1, value), Moved::kFed, *values_[value]);
  }
  // A Read without control inputs sees the start of the step.
  std::vector<Array> at_start = variables;
  for (NodeId id : order_) {
    const graph::Node& node = module_->main().nodes[id];
    const bool early = module_->OperatorOf(node).name == "Read" && node.controls.empty();
    HR_RETURN_IF_ERROR(RunNode(run, step, id, early ? at_start : variables)
                           .WithNode(graph::NodeText(*module_, module_->main(), id)));
  }
  for (size_t i = 0; i < variables.size(); ++i)
    Disturb(run, Place(step, 2, i), Moved::kRounded, variables[i]);
  if (run == 0 && step == 0) first_ = values_;
  return {};
}

Result<std::vector<Array>> Expectation::Run(uint64_t run) {
  std::vector<Array> variables;
  for (const graph::Variable& variable : module_->variables) {
    variables.push_back(reference::FromTensor(module_->constants[variable.initial_constant]));
    Disturb(run, Place(0, 3, variables.size()), Moved::kFed, variables.back());
  }
  std::vector<Array> out;
  for (int step = 0; step < steps_; ++step) {
    HR_RETURN_IF_ERROR(RunStep(run, step, variables));
    for (const graph::Port& port : module_->FindSignature("run")->outputs) {
      if (!values_[port.value]) return InvalidArgument("a fetch is missing");
      out.push_back(*values_[port.value]);
    }
  }
  out.insert(out.end(), std::make_move_iterator(variables.begin()),
             std::make_move_iterator(variables.end()));
  return out;
}

Status Expectation::AddRuns(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    HR_ASSIGN_OR_RETURN(auto noisy, Run(runs_++));
    for (size_t j = 0; j < noisy.size(); ++j) {
      Judged& judged = judged_values_[j];
      if (noisy[j].size() != judged.value.size()) return Internal("noise changed a shape");
      for (size_t k = 0; k < noisy[j].size(); ++k) {
        const Number x = noisy[j].data[k], y = judged.value.data[k];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        const Number moved = std::fabs(x - y);
        const bool decided = IsFloating(judged.value.dtype) && std::isfinite(moved);
        judged.spread[k] = decided ? std::max(judged.spread[k], moved) : INFINITY;
      }
    }
  }
  return {};
}

namespace {

// What is rounded at all may differ by the last place, and a jump is moved by noise where it lands.
Number AllowedFor(DType dtype, Number expected, Number spread) {
  if (spread == 0 || !IsFloating(dtype)) return spread;
  return std::max(spread + spread * 0x1p-10L, Ulp(FormatOf(dtype), std::fabs(expected)));
}

}  // namespace

std::string Expectation::Compare(const Results& results) {
  std::vector<const Tensor*> got;
  for (const auto& step : results.outputs) {
    for (const Tensor& tensor : step) got.push_back(&tensor);
  }
  for (const Tensor& tensor : results.variables) got.push_back(&tensor);
  judged_ = open_ = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const Judged& judged = judged_values_[i];
    if (got[i]->dtype() != judged.value.dtype || got[i]->dims() != judged.value.dims)
      return Cat(judged.name, ": expected ", DTypeName(judged.value.dtype),
                 ShapeText(judged.value.dims), ", got ", got[i]->TypeText());
    const Array array = reference::FromTensor(*got[i]);
    for (size_t k = 0; k < array.size(); ++k) {
      const Number x = array.data[k], y = judged.value.data[k];
      const Number allowed = AllowedFor(array.dtype, y, judged.spread[k]);
      ++judged_;
      open_ += std::isinf(allowed);
      if (x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= allowed ||
          std::isinf(allowed))
        continue;
      return Cat(judged.name, ", element ", k, " of ", ShapeText(judged.value.dims), ": expected ",
                 static_cast<double>(y), " within ", static_cast<double>(allowed), ", got ",
                 static_cast<double>(x));
    }
  }
  return "";
}

Result<std::string> Expectation::Difference(const Results& results, uint64_t most_runs) {
  if (runs_ == 1) HR_RETURN_IF_ERROR(AddRuns(kFirstRuns));
  std::string out = Compare(results);
  while (!out.empty() && runs_ < most_runs) {
    HR_RETURN_IF_ERROR(AddRuns(runs_));
    out = Compare(results);
  }
  return out;
}

const Array* Expectation::ValueOf(ValueId value) const {
  return value < first_.size() && first_[value] ? &*first_[value] : nullptr;
}

}  // namespace hr::random_graphs
