// The operators that are drawn: one row each, in the file of its family. A new operator is a new
// row.
#pragma once

#include <span>

#include "tests/conformance/random_graphs/draft.h"

namespace hr::random_graphs {

struct Row {
  const char* op;  // with its domain, if that is not ONNX's
  int version;     // a version that the library knows, or newer
  // Adds the operator and returns the name of its output, or "".
  std::string (*draw)(Draft&, const Row&);
  unsigned types = kFloats;  // of the first operand
  double low = -1e30;        // of its elements
  double high = 1e30;
  int weight = 1;
};

std::span<const Row> ElementwiseRows();
std::span<const Row> MovementRows();
std::span<const Row> IndexingRows();
std::span<const Row> ReductionRows();
std::span<const Row> LayerRows();
std::span<const Row> GenerateRows();
std::span<const Row> RandomRows();

inline NamedAttribute Int(const char* name, int64_t value) { return {name, value, ""}; }
inline NamedAttribute Float(const char* name, double value) { return {name, value, ""}; }
inline NamedAttribute String(const char* name, std::string value) {
  return {name, std::move(value), ""};
}
inline NamedAttribute List(const char* name, std::vector<int64_t> value) {
  return {name, std::move(value), ""};
}

}  // namespace hr::random_graphs
