// One node under evaluation, as the operators' functions see it. They throw std::runtime_error on
// what they cannot evaluate; the evaluator turns that into a Status.
#pragma once

#include <stdexcept>

#include "runtime/base/strings.h"
#include "runtime/graph/graph.h"
#include "tests/reference/array.h"

namespace hr::reference {

template <typename... Pieces>
[[noreturn]] void Fail(const Pieces&... pieces) {
  throw std::runtime_error(Cat(pieces...));
}

struct Call {
  const graph::Module& module;
  const graph::Node& node;
  std::string_view name;
  int version;
  std::vector<const Array*> inputs;  // null where omitted
  std::vector<Array> outputs;
  std::vector<Array>& variables;

  bool Has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Array& In(size_t i) const {
    return Has(i) ? *inputs[i] : (Fail("input ", i, " is missing"), *inputs[0]);
  }
  // A scalar input, or `otherwise` where it is omitted.
  Number Scalar(size_t i, Number otherwise) const { return Has(i) ? In(i).data[0] : otherwise; }
  // Sets output i, where the node has it.
  void Out(size_t i, Array value) {
    if (i < outputs.size()) outputs[i] = std::move(value);
  }
  int64_t Int(Literal attribute, int64_t otherwise) const { return node.Int(attribute, otherwise); }
  Number Float(Literal attribute, double otherwise) const {
    return node.Float(attribute, otherwise);
  }
  std::string_view String(Literal attribute, Literal otherwise) const {
    return node.String(attribute, otherwise);
  }
  std::vector<int64_t> Ints(Literal attribute) const {
    auto values = node.Ints(attribute);
    return {values.begin(), values.end()};
  }
  // The attribute `axis` counted from the start.
  size_t Axis(int64_t otherwise, size_t rank, Literal attribute = "axis") const {
    int64_t axis = Int(attribute, otherwise);
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  }
  // The variable that an attribute names.
  Array& Variable(Literal attribute) {
    return variables.at(static_cast<size_t>(Int(attribute, -1)));
  }
};

using Function = void (*)(Call&);
struct Entry {
  std::string_view domain;
  std::string_view name;
  Function function;
};

}  // namespace hr::reference
