// Low-rank adapters (Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021): beside
// a product with the weight W, a model learns scale * A * B, which adds to it.
//
// The adapter of the weight "W" is three variables of W's element type: "W/lora_A", "W/lora_B" and
// "W/lora_scale" []. For MatMul and Gemm, A is [inputs, rank] and B [rank, outputs]; for Conv
// without groups, A is [rank, C, kernel…] and B [outputs, rank, 1…].
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

inline constexpr std::string_view kLoraA = "/lora_A";
inline constexpr std::string_view kLoraB = "/lora_B";
inline constexpr std::string_view kLoraScale = "/lora_scale";

// Whether the variable of this name is part of an adapter.
bool IsAdapterPart(std::string_view name);

struct AdapterOptions {
  int64_t rank = 8;
  double alpha = 0;    // scale = alpha / rank; 0: alpha is the rank
  double dropout = 0;  // the share of inputs that a training leaves out
};
// "rank=8 alpha=16 dropout=0.05".
Result<AdapterOptions> ParseAdapterOptions(std::string_view text);

// Adds adapters to all products and convolutions whose node or weight has a name that fits one of
// `patterns`, and freezes all other variables. A begins uniform within 1 / sqrt(inputs), B with 0.
// Inputs are dropped out where nodes serve `training` alone; with dropout it must be a signature
// that shares no adapted node with another one. Returns the number of nodes. A failure leaves the
// graph as it was.
Result<size_t> AddAdapters(GraphBuilder& builder, std::string_view patterns,
                           const AdapterOptions& options, std::string_view training);

// The same with adapters that were trained before, at every node that uses a weight with one.
// NOT_FOUND if no node uses a weight of that name.
struct TrainedAdapter {
  std::string weight;
  Tensor a, b, scale;
};
Result<size_t> AttachAdapters(GraphBuilder& builder, std::span<const TrainedAdapter> adapters);

// Returns the module with the adapters added to the initial values of their weights, and gone.
// FAILED_PRECONDITION if a weight is used elsewhere, too, or an initial value is not known.
Result<graph::Module> MergeAdapters(const ops::OpRegistry& registry, const graph::Module& module,
                                    Allocator& allocator);

}  // namespace hr::transform
