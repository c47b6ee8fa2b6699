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
std::span<const Row> ComposedLayerRows();
std::span<const Row> OlderRows();
std::span<const Row> QuantizedRows();
std::span<const Row> Bfloat16Rows();
std::span<const Row> MlRows();
std::span<const Row> RegionRows();
std::span<const Row> SamplingRows();
std::span<const Row> SignalRows();
std::span<const Row> RandomRows();

// A value of a network, or its parameter: a variable rather than a constant.
std::string Weights(Draft& draft, DType dtype, Dims dims, double low = -1, double high = 1);
// Images [N, C, H, W], sometimes [N, C, L] or [N, C, D, H, W].
std::string Images(Draft& draft, double low = -30, double high = 30);
// The size of a window that fits the images.
std::vector<int64_t> Kernel(Draft& draft, const Known& images);

inline NamedAttribute Int(const char* name, int64_t value) { return {name, value, ""}; }
inline NamedAttribute Float(const char* name, double value) { return {name, value, ""}; }
inline NamedAttribute String(const char* name, std::string value) {
  return {name, std::move(value), ""};
}
inline NamedAttribute List(const char* name, std::vector<int64_t> value) {
  return {name, std::move(value), ""};
}

}  // namespace hr::random_graphs
