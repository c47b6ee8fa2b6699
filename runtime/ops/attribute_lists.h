// Attributes that are lists of real numbers or of strings, and the domains whose operators have
// many of them.
#pragma once

#include <span>
#include <string>

#include "runtime/graph/graph.h"

namespace hr::ops {

// ONNX's machine learning models, and what those are composed of.
inline constexpr std::string_view kMl = "ai.onnx.ml";
inline constexpr std::string_view kTrees = "headrace.ml";

template <typename T>
std::span<const T> ListOf(const graph::Node& node, Literal attribute) {
  const graph::AttributeValue* value = node.Find(attribute);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<T>>(value);
  return list == nullptr ? std::span<const T>() : std::span<const T>(*list);
}

// Empty if the node does not have the attribute.
inline std::span<const double> FloatsOf(const graph::Node& node, Literal attribute) {
  return ListOf<double>(node, attribute);
}
inline std::span<const std::string> StringsOf(const graph::Node& node, Literal attribute) {
  return ListOf<std::string>(node, attribute);
}

}  // namespace hr::ops
