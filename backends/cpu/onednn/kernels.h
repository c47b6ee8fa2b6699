// oneDNN's kernels for nodes of float32 that it is expected to run faster than ours (choice.h). A
// result without kernel says that the portable one is to run; so it is everywhere in a build
// without oneDNN.
#pragma once

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/onednn/choice.h"

namespace hr::cpu::onednn {

// activation(op(A) * op(B) + bias): operands a, b, bias (where `bias`, else anything), then c at
// the node's first output.
struct GemmNode {
  std::string_view name;
  GemmShape shape;
  bool bias = false;  // [n]
  Activation activation = Activation::kNone;
};

// A convolution of plain images: x, w, bias of the forward pass; dy, w of backward data; dy, x of
// backward weights.
struct ConvNode {
  std::string_view name;
  ConvShape shape;
  ConvPass pass = ConvPass::kForward;
  bool bias = false;
  Activation activation = Activation::kNone;
};

#if HEADRACE_ONEDNN
inline constexpr bool kAvailable = true;
Result<LoweredKernel> MakeGemm(const KernelRequest& request, const GemmNode& node);
Result<LoweredKernel> MakeConv(const KernelRequest& request, const ConvNode& node);
#else
inline constexpr bool kAvailable = false;
inline Result<LoweredKernel> MakeGemm(const KernelRequest&, const GemmNode&) {
  return LoweredKernel();
}
inline Result<LoweredKernel> MakeConv(const KernelRequest&, const ConvNode&) {
  return LoweredKernel();
}
#endif

}  // namespace hr::cpu::onednn
