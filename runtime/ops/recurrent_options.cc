#include <algorithm>
#include <cmath>

#include "runtime/base/strings.h"
#include "runtime/ops/recurrent.h"

namespace hr::ops {
namespace {

using Activation = RecurrentActivation::Function;

// The functions with ONNX's defaults; NaN stands for a parameter that the function does not have.
struct FunctionRow {
  std::string_view name;
  Activation function;
  double alpha, beta;
};
constexpr double kNo = std::numeric_limits<double>::quiet_NaN();
constexpr FunctionRow kFunctions[] = {
    {"Affine", Activation::kAffine, 1, 0},
    {"Elu", Activation::kElu, 1, kNo},
    {"HardSigmoid", Activation::kHardSigmoid, 0.2, 0.5},
    {"LeakyRelu", Activation::kLeakyRelu, 0.01, kNo},
    {"Relu", Activation::kRelu, kNo, kNo},
    {"ScaledTanh", Activation::kScaledTanh, 1, 1},
    {"Sigmoid", Activation::kSigmoid, kNo, kNo},
    {"Softplus", Activation::kSoftplus, kNo, kNo},
    {"Softsign", Activation::kSoftsign, kNo, kNo},
    {"Tanh", Activation::kTanh, kNo, kNo},
    {"ThresholdedRelu", Activation::kThresholdedRelu, 1, kNo},
};

// The functions of one direction if none are given.
std::vector<std::string> DefaultFunctions(RecurrentCell cell) {
  if (cell == RecurrentCell::kRnn) return {"Tanh"};
  if (cell == RecurrentCell::kGru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

template <typename List>
List ListOf(const graph::Node& node, Literal name) {
  const auto* value = node.Find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<List>(value);
  return list == nullptr ? List() : *list;
}

// activation_alpha or activation_beta: each function that has such a parameter takes the next
// value, or its default when there are no more.
class Parameters {
 public:
  Parameters(const graph::Node& node, Literal name)
      : name_(name), values_(ListOf<std::vector<double>>(node, name)) {}

  double Next(double otherwise) {
    if (std::isnan(otherwise)) return 0;
    const size_t at = taken_++;
    return at < values_.size() ? values_[at] : otherwise;
  }
  Status CheckAllTaken(std::string_view op) const {
    if (values_.size() <= taken_) return {};
    return InvalidArgument(op, "'s attribute '", name_, "' has ", values_.size(),
                           " values, and its activations take ", taken_);
  }

 private:
  Literal name_;
  std::vector<double> values_;
  size_t taken_ = 0;
};

Result<std::vector<RecurrentActivation>> Activations(std::string_view op, const graph::Node& node,
                                                     std::span<const std::string> names) {
  Parameters alphas(node, "activation_alpha"), betas(node, "activation_beta");
  std::vector<RecurrentActivation> out;
  for (const std::string& name : names) {
    const auto* row = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const FunctionRow& f) { return f.name == name; });
    if (row == std::end(kFunctions)) {
      std::vector<std::string_view> known;
      for (const FunctionRow& f : kFunctions) known.push_back(f.name);
      return InvalidArgument(op, " has no activation '", name, "'; there are ", Join(known));
    }
    const double alpha = alphas.Next(row->alpha);
    out.push_back({row->function, alpha, betas.Next(row->beta)});
  }
  HR_RETURN_IF_ERROR(alphas.CheckAllTaken(op));
  HR_RETURN_IF_ERROR(betas.CheckAllTaken(op));
  return out;
}

Result<std::vector<RecurrentDirection>> Directions(std::string_view op, RecurrentCell cell,
                                                   const graph::Node& node) {
  const std::string_view direction = node.String("direction", "forward");
  std::vector<RecurrentDirection> out;
  if (direction != "reverse") out.push_back({.reverse = false, .activations = {}});
  if (direction != "forward") out.push_back({.reverse = true, .activations = {}});
  if (out.size() == 2 && direction != "bidirectional") {
    return InvalidArgument(op, "'s 'direction' is forward, reverse or bidirectional, got '",
                           direction, "'");
  }
  const std::vector<std::string> defaults = DefaultFunctions(cell);
  auto names = ListOf<std::vector<std::string>>(node, "activations");
  if (names.empty()) {
    for (size_t d = 0; d < out.size(); ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  if (names.size() != out.size() * defaults.size()) {
    return InvalidArgument(op, "'s attribute 'activations' wants ", out.size() * defaults.size(),
                           " names for ", direction, ", got ", names.size());
  }
  HR_ASSIGN_OR_RETURN(const auto functions, Activations(op, node, names));
  for (size_t i = 0; i < functions.size(); ++i) {
    out[i / defaults.size()].activations[i % defaults.size()] = functions[i];
  }
  return out;
}

}  // namespace

int64_t RecurrentOptions::gates() const {
  return cell == RecurrentCell::kRnn ? 1 : cell == RecurrentCell::kGru ? 3 : 4;
}

const RecurrentPlaces& PlacesOf(RecurrentCell cell) {
  static constexpr RecurrentPlaces kShort = {.initial_c = kNoPlace,
                                             .peepholes = kNoPlace,
                                             .y_c = kNoPlace,
                                             .record = 2,
                                             .dy = 6,
                                             .dy_h = 7,
                                             .dy_c = kNoPlace,
                                             .dx = 4};
  static constexpr RecurrentPlaces kLong = {.initial_c = 6,
                                            .peepholes = 7,
                                            .y_c = 2,
                                            .record = 3,
                                            .dy = 8,
                                            .dy_h = 9,
                                            .dy_c = 10,
                                            .dx = 6};
  return cell == RecurrentCell::kLstm ? kLong : kShort;
}

int64_t RecordParts(RecurrentCell cell) {
  return cell == RecurrentCell::kRnn ? 2 : cell == RecurrentCell::kGru ? 5 : 6;
}

RecurrentCell CellOf(std::string_view operator_name) {
  if (operator_name.starts_with("LSTM")) return RecurrentCell::kLstm;
  return operator_name.starts_with("GRU") ? RecurrentCell::kGru : RecurrentCell::kRnn;
}

Result<RecurrentOptions> ResolveRecurrent(std::string_view operator_name, const graph::Node& node) {
  RecurrentOptions out;
  out.cell = CellOf(operator_name);
  HR_ASSIGN_OR_RETURN(out.directions, Directions(operator_name, out.cell, node));
  const int64_t layout = node.Int("layout", 0);
  if (layout != 0 && layout != 1) {
    return InvalidArgument(operator_name, "'s 'layout' is 0 or 1, got ", layout);
  }
  out.batch_first = layout == 1;
  out.linear_before_reset = node.Int("linear_before_reset", 0) != 0;
  out.input_forget = node.Int("input_forget", 0) != 0;
  out.clip = node.Float("clip", out.clip);
  if (!(out.clip > 0)) {
    return InvalidArgument(operator_name, "'s 'clip' is greater than 0, got ", out.clip,
                           "; leave it out to clip nothing");
  }
  return out;
}

}  // namespace hr::ops
