// What the tensors of a model are for, by the inputs that they are.
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "converters/onnx/model.h"

namespace hr::onnx {

// The functions of a model by domain and name.
using Functions = std::map<std::pair<std::string_view, std::string_view>, const FunctionProto*>;

// Functions that call each other deeper than this are refused.
inline constexpr int kMostCalls = 64;

// Of the main graph. Refers to the model.
class Roles {
 public:
  Roles(const GraphProto& graph, const Functions& functions);

  // A plan must know the value, or it is a number of the architecture: no weight.
  bool IsKnown(std::string_view name) const { return known_.contains(name); }
  // Statistics, which training leaves alone.
  bool IsFrozen(std::string_view name) const { return frozen_.contains(name); }
  // A weight or a bias of a layer, which is trained even if it is a single number.
  bool IsWeight(std::string_view name) const { return weights_.contains(name); }

 private:
  std::set<std::string_view> known_, frozen_, weights_;
};

}  // namespace hr::onnx
