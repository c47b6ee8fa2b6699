#include "backends/cpu/onednn/kernels.h"

#include "backends/cpu/lowering/conv_pins.h"
#include "backends/cpu/onednn/convolution.h"
#include "backends/cpu/onednn/matmul.h"
#include "runtime/base/library.h"

namespace hr::cpu::onednn {
namespace {

std::string Describe(std::string_view name, Activation activation) {
  constexpr std::string_view kNames[] = {"", "+relu", "+gelu"};
  return Cat(name, "_onednn", kNames[static_cast<size_t>(activation)]);
}

// Anything that oneDNN does not do, the portable kernels do; only lack of memory is passed on.
Result<LoweredKernel> Portable(Status reason) {
  if (reason.code() == Code::kResourceExhausted) return reason;
  return LoweredKernel();
}

bool OfFloat32(const KernelRequest& request) { return request.input(0).dtype == DType::kFloat32; }

// The weights are packed once where they never change; the kernel then gets packed ones.
template <typename Op>
void PackOnce(std::shared_ptr<const Op> op, size_t input, LoweredKernel* kernel) {
  kernel->preparations.push_back(
      {.input = input,
       .bytes = op->packed_bytes(),
       .format = op->packed_format(),
       .scratch_bytes = op->scratch_bytes(),
       .kernel = MakeKernel(
           "pack_onednn", [op](const engine::Operands& p, const engine::LaunchContext& context) {
             return op->Pack(context.threads, p.input<float>(0), p.output<float>(0), p.scratch());
           })});
}

}  // namespace

bool Available() { return OneDnn().ok(); }

void Describe(JsonWriter& json) {
  const Result<Functions>& found = OneDnn();
  json.BeginObject();
  if (found.ok()) {
    const dnnl_version_t& version = *found->version();
    json.Field("version", Cat(version.major, ".", version.minor, ".", version.patch))
        .Field("path", PathOf(reinterpret_cast<const void*>(found->version)));
  } else {
    json.Field("missing", found.status().message());
  }
  json.EndObject();
}

Result<LoweredKernel> MakeGemm(const KernelRequest& request, const GemmNode& node) {
  const bool packed = request.input(1).steady;
  if (!OfFloat32(request) || !GemmPays(node.shape) || RunsOnMatrixUnit(node.shape)) {
    return LoweredKernel();
  }
  auto made = MatMul::Create(node.shape, {.column_bias = node.bias,
                                          .activation = node.activation,
                                          .packed_b = packed,
                                          .slices = request.threads});
  if (!made.ok()) return Portable(std::move(made).status());
  std::shared_ptr<const MatMul> product = *std::move(made);
  LoweredKernel out{.scratch_bytes = product->scratch_bytes()};
  out.kernel = MakeKernel(
      Describe(node.name, node.activation),
      [=, bias = node.bias](const engine::Operands& p, const engine::LaunchContext& context) {
        return product->Run(context.threads, p.input<float>(0), p.input<float>(1),
                            bias ? p.input<float>(2) : nullptr, p.output<float>(0), p.scratch());
      });
  if (packed) PackOnce(product, 1, &out);
  return out;
}

Result<LoweredKernel> MakeConv(const KernelRequest& request, const ConvNode& node) {
  const bool packed = node.pass != ConvPass::kBackwardWeights && request.input(1).steady;
  if (!OfFloat32(request) || node.shape.HasDepth()) return LoweredKernel();
  const std::string_view pinned = request.node.String(kPinnedKernel, "");
  const bool pays = pinned == "onednn" || ConvPays(node.shape, node.pass, packed);
  if (!pays || pinned == "portable") return LoweredKernel();
  auto made = Convolution::Create(node.shape, {.pass = node.pass,
                                               .bias = node.bias,
                                               .activation = node.activation,
                                               .packed_weights = packed,
                                               .slices = request.threads});
  if (!made.ok()) return Portable(std::move(made).status());
  std::shared_ptr<const Convolution> convolution = *std::move(made);
  LoweredKernel out{.scratch_bytes = convolution->scratch_bytes()};
  out.kernel = MakeKernel(Describe(node.name, node.activation),
                          [=, pass = node.pass, bias = node.bias](
                              const engine::Operands& p, const engine::LaunchContext& context) {
                            auto* const first = const_cast<float*>(p.input<float>(0));
                            auto* const second = const_cast<float*>(p.input<float>(1));
                            auto* const made = p.output<float>(0);
                            ConvMemory memory{.x = first, .w = second, .y = made};
                            if (bias) memory.bias = p.input<float>(2);
                            if (pass == ConvPass::kBackwardData)
                              memory = {.x = made, .w = second, .y = first};
                            if (pass == ConvPass::kBackwardWeights)
                              memory = {.x = second, .w = made, .y = first};
                            return convolution->Run(context.threads, memory, p.scratch());
                          });
  if (packed) PackOnce(convolution, 1, &out);
  return out;
}

}  // namespace hr::cpu::onednn
