// Models with smaller numbers: weights of 8 or 16 bits, and products of 8-bit numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/transform/adapter_site.h"
#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// How products (MatMul, Gemm, Conv) with a constant or a variable of float32 as their weight
// change. A Gather from such a table changes as its weight alone does.
enum class Quantization : uint8_t {
  kWeights,   // the weight is int8 behind a DequantizeLinear
  kDynamic,   // the input is quantized by its range in each run: DynamicQuantizeLinear, …Integer
  kStatic,    // the input is quantized by a range that is known: QuantizeLinear, DequantizeLinear
  kFloat16,   // the weight is float16 behind a Cast
  kBfloat16,  // the same with bfloat16
};

struct QuantizeOptions {
  Quantization how = Quantization::kDynamic;
  bool embeddings = false;  // tables of Gather change, too
  bool per_channel = true;  // a scale for each column, filter or row of a table, else one in all
  // Of what calibration sees of an input, the share in percent that its range holds; 100: all.
  double percentile = 100;
  bool entropy = false;      // the range loses least of how the numbers are distributed instead
  int64_t batches = 0;       // that calibration draws; 0: a pass
  bool activations = false;  // what products of kBfloat16 multiply is rounded to it, too
};
// "static percentile=99.9 per_channel=1 batches=10"; the first word is weights, dynamic, static,
// float16 or bfloat16.
Result<QuantizeOptions> ParseQuantizeOptions(std::string_view text);

struct ValueRange {
  double low = 0, high = 0;
};

// A product that is quantized.
struct QuantizedProduct {
  AdapterSite site;
  std::string name;       // of its node
  ValueId input = kNone;  // what is multiplied; of a Gather none
};

// Changes the products of one signature. Used once.
class Quantizer {
 public:
  // `patterns`: of the names of nodes or weights that are chosen; "": all. NOT_FOUND if there is no
  // such signature, or if a pattern fits nothing; FAILED_PRECONDITION if there is nothing to
  // quantize, or a weight has no value, or one that is not finite.
  static Result<Quantizer> Create(GraphBuilder& builder, std::string_view signature,
                                  const QuantizeOptions& options, std::string_view patterns);

  // The values whose ranges the static form needs, each once.
  std::vector<ValueId> Inputs() const;
  // Rewrites the graph and leaves nothing but the signature, so values have other numbers then. A
  // failure leaves the graph as it was. `ranges`: of Inputs(), for the static form.
  Status Run(const std::map<ValueId, ValueRange>& ranges);
  // {"how", "products": [{"node", "op", "weight", "low", "high"}], "skipped": [{"node", "reason"}],
  // "bytes_before", "bytes_after"}: of weights. After Run.
  std::string Report() const { return report_; }

 private:
  Quantizer(GraphBuilder& builder, std::string signature, const QuantizeOptions& options)
      : builder_(&builder), signature_(std::move(signature)), options_(options) {}
  Status Choose(std::string_view patterns);
  std::string WriteReport(const std::map<ValueId, ValueRange>& ranges, size_t before,
                          size_t after) const;

  GraphBuilder* builder_;
  std::string signature_;
  QuantizeOptions options_;
  std::vector<QuantizedProduct> products_;
  std::vector<std::pair<std::string, std::string>> skipped_;  // nodes, and why they stay
  std::string report_;
};

}  // namespace hr::transform
