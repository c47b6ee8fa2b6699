// Runs the type rule of one node, with inputs written as text.
#pragma once

#include <string>
#include <vector>

#include "runtime/transform/graph_builder.h"

namespace hr::ops {

// A graph with inputs "x0", "x1", … and one node; built by the real builder.
class OneNode {
 public:
  explicit OneNode(std::string op, std::string domain = "", int version = 0)
      : builder_(SystemAllocator(), registry_) {
    spec_.op = std::move(op);
    spec_.domain = std::move(domain);
    spec_.version = version;
  }

  // "float32[batch, 3, ?]", or "float32" for an unknown rank, or "" for an omitted input.
  OneNode& In(std::string_view type);
  OneNode& Ints(std::vector<int64_t> values);  // a constant 1-D int64 input
  template <typename T>
  OneNode& With(std::string name, T value) {
    spec_.attributes.push_back({std::move(name), std::move(value)});
    return *this;
  }
  OneNode& Outputs(size_t count) {
    spec_.outputs = count;
    return *this;
  }
  OneNode& Variable(std::string_view name, DType dtype, Dims dims);

  // The outputs' types joined by "; ", or the failure's message.
  std::string Text();
  // The operators that the composition emits, joined by " ", or the failure's message.
  std::string Composition();

 private:
  graph::ValueType Parse(std::string_view text);

  OpRegistry registry_;
  transform::GraphBuilder builder_;
  transform::NodeSpec spec_;
};

}  // namespace hr::ops
