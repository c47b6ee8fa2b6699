// oneDNN's kernels for nodes of float32 that it is expected to run faster than ours (choice.h). A
// result without kernel says that the portable one is to run; so it is everywhere in a build
// without oneDNN, and where it is not found.
#pragma once

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/onednn/choice.h"
#include "runtime/base/json_writer.h"

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
// Returns whether this process has oneDNN, which is opened when this is first asked.
bool Available();
// See DescribeOneDnn of cpu_backend.h.
void Describe(JsonWriter& json);
Result<LoweredKernel> MakeGemm(const KernelRequest& request, const GemmNode& node);
Result<LoweredKernel> MakeConv(const KernelRequest& request, const ConvNode& node);
#else
inline bool Available() { return false; }
inline void Describe(JsonWriter& json) {
  json.BeginObject().Field("missing", "not used by this build").EndObject();
}
inline Result<LoweredKernel> MakeGemm(const KernelRequest&, const GemmNode&) {
  return LoweredKernel();
}
inline Result<LoweredKernel> MakeConv(const KernelRequest&, const ConvNode&) {
  return LoweredKernel();
}
#endif

}  // namespace hr::cpu::onednn
