// Convolutions of bfloat16, where the processor has instructions for them
// (lowering/bfloat16_products.h).
#include "backends/cpu/kernels/bfloat16_conv.h"

#include "backends/cpu/lowering/bfloat16_products.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/useful_slices.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {
namespace {

// A nanosecond of one thread makes about so many products.
constexpr double kProductsPerNanosecond = 600;

int SlicesOf(const ConvShape& s, int threads) {
  const double products =
      static_cast<double>(s.n * s.OutputPlane()) * static_cast<double>(s.oc * s.Taps());
  return UsefulSlices(products / kProductsPerNanosecond, threads);
}

bool IsChannelsLast(const OperandInfo& info) { return info.layout == kChannelsLastLayout; }

Result<const Bfloat16Kernels*> Kernels() {
  const Bfloat16Kernels* const kernels = KernelsForBfloat16();
  if (kernels == nullptr) return Internal("a convolution of bfloat16 on a processor without any");
  return kernels;
}

Bfloat16Epilogue EpilogueOf(const KernelRequest& request) {
  Bfloat16Epilogue end;
  end.activation = static_cast<Activation>(request.node.Int("activation", 0));
  end.narrow = request.outputs[0].dtype == DType::kBfloat16;
  end.bias_column = 1;
  end.narrow_residual = request.input(kBfloat16Residual).dtype == DType::kBfloat16;
  return end;
}

Preparation PackOnce(std::shared_ptr<const Bfloat16Conv> conv) {
  return {.input = 1,
          .bytes = conv->packed_bytes(),
          .format = conv->packed_format(),
          .scratch_bytes = conv->pack_scratch_bytes(),
          .kernel = MakeKernel(
              "pack_bfloat16",
              [conv](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                conv->Pack(context.threads, p.input<uint16_t>(0), p.output<uint16_t>(0),
                           p.scratch());
                return {};
              })};
}

// (source, w, bias?, residual?) → result
Result<LoweredKernel> MakeImage(const KernelRequest& request, const ConvShape& shape,
                                ImagePass pass, std::string_view name) {
  HR_ASSIGN_OR_RETURN(const Bfloat16Kernels* const kernels, Kernels());
  const bool steady = request.input(1).steady;
  const Bfloat16ConvLayouts layouts{IsChannelsLast(request.input(0)),
                                    IsChannelsLast(request.outputs[0])};
  auto conv = std::make_shared<const Bfloat16Conv>(*kernels, shape, pass, layouts, steady,
                                                   SlicesOf(shape, request.threads));
  LoweredKernel out{.scratch_bytes = conv->scratch_bytes()};
  if (steady) out.preparations.push_back(PackOnce(conv));
  const Bfloat16Epilogue end = EpilogueOf(request);
  const bool residual = request.input(kBfloat16Residual).present;
  if (residual && end.narrow == end.narrow_residual) {
    out.in_place = {{0, static_cast<uint32_t>(kBfloat16Residual)}};
  }
  out.kernel = MakeKernel(
      Cat(name, residual ? "+add" : "", end.activation == Activation::kRelu ? "+relu" : ""),
      [=, biased = request.input(2).present](const engine::Operands& p,
                                             const engine::LaunchContext& context) -> Status {
        Bfloat16Epilogue epilogue = end;
        if (biased) epilogue.bias = p.input<float>(2);
        if (residual) epilogue.residual = p.input(kBfloat16Residual);
        conv->Run(context.threads, p.input<uint16_t>(0), p.input<uint16_t>(1), p.output(0),
                  epilogue, p.scratch());
        return {};
      });
  return out;
}

Result<LoweredKernel> MakeBfloat16Forward(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const ConvShape shape,
                      ConvShapeOf(request.node, request.input(0).dims, request.input(1).dims));
  return MakeImage(request, shape, ImagePass::kForward, "conv_bfloat16");
}

// (dy, w) → dx
Result<LoweredKernel> MakeBfloat16GradInput(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const ConvShape shape,
                      ConvShapeOf(request.node, request.outputs[0].dims, request.input(1).dims));
  return MakeImage(request, shape, ImagePass::kBackwardData, "conv_grad_input_bfloat16");
}

// (dy, x) → dw
Result<LoweredKernel> MakeBfloat16GradWeight(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const ConvShape shape,
                      ConvShapeOf(request.node, request.input(1).dims, request.outputs[0].dims));
  HR_ASSIGN_OR_RETURN(const Bfloat16Kernels* const kernels, Kernels());
  const Bfloat16ConvLayouts layouts{.source = IsChannelsLast(request.input(1)),
                                    .result = IsChannelsLast(request.input(0))};
  auto conv = std::make_shared<const Bfloat16ConvWeights>(
      *kernels, shape, layouts, request.outputs[0].dtype == DType::kBfloat16,
      SlicesOf(shape, request.threads));
  LoweredKernel out{.scratch_bytes = conv->scratch_bytes()};
  out.kernel =
      MakeKernel("conv_grad_weight_bfloat16",
                 [conv](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   conv->Run(context.threads, p.input<uint16_t>(1), p.input<uint16_t>(0),
                             p.output(0), p.scratch());
                   return {};
                 });
  return out;
}

constexpr std::string_view kMadeFrom = "Conv";

constexpr KernelEntry kBfloat16ConvKernels[] = {
    {lowering::kLowered, "Bfloat16Conv", MakeBfloat16Forward, true, kMadeFrom},
    {lowering::kLowered, "Bfloat16ConvGradInput", MakeBfloat16GradInput, true, kMadeFrom},
    {lowering::kLowered, "Bfloat16ConvGradWeight", MakeBfloat16GradWeight, true, kMadeFrom}};

}  // namespace

KernelPart Bfloat16ConvFamily() { return ChosenKernels<kBfloat16ConvKernels>(); }

}  // namespace hr::cpu
