// Convolution: batch-blocked with fusion (lowered.Conv …), channels-last, and plain.
#include "backends/cpu/kernels/channels_last.h"
#include "backends/cpu/kernels/conv_batch_blocked.h"
#include "backends/cpu/kernels/conv_channels_last.h"
#include "backends/cpu/kernels/conv_few_channels.h"
#include "backends/cpu/kernels/conv_plain.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "backends/cpu/kernels/depthwise_plain.h"
#include "backends/cpu/kernels/grouped_channels_last.h"
#include "backends/cpu/kernels/split_conv.h"
#include "backends/cpu/kernels/split_conv_weights.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_channels_last.h"
#include "backends/cpu/kernels/winograd_channels_last_weights.h"
#include "backends/cpu/kernels/winograd_line.h"
#include "backends/cpu/lowering/conv_pins.h"
#include "backends/cpu/onednn/kernels.h"
#include "backends/cpu/ops/conv_cost.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/image_end.h"
#include "backends/cpu/ops/useful_slices.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {
namespace {

ConvFusion FusionOf(const graph::Node& node) {
  auto pool = node.Ints("pool");
  return {.relu = node.Int("relu", 0) != 0, .pool_h = pool[0], .pool_w = pool[1]};
}

std::string Describe(std::string_view name, std::string_view method, const ConvFusion& fusion) {
  return Cat(name, "_batch_blocked_", method, fusion.relu ? "+relu" : "",
             fusion.Pools() ? "+max_pool" : "");
}

std::string_view Pinned(const KernelRequest& request) {
  return request.node.String(kPinnedKernel, "");
}

// Returns whether Winograd's algorithm may run, pinned or not.
bool MayRunWinograd(const KernelRequest& request) {
  return !request.exact_sums && Pinned(request) != "direct";
}

// The passes of batch-blocked images: the pinned ones if they can do it, else those that pay.
template <typename T>
const ConvPasses<T>* PassesFor(const KernelRequest& request, const ConvShape& shape) {
  if (!MayRunWinograd(request)) return &DirectConvPasses<T>();
  if constexpr (std::is_same_v<T, float>) {
    if (Pinned(request) == "winograd" && WinogradTakes(shape)) return &WinogradConvPasses();
  }
  return &ConvPassesFor<T>(shape);
}

template <typename T>
Result<LoweredKernel> Forward(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(ConvShape shape,
                      ConvShapeOf(request.node, request.input(0).dims, request.input(1).dims));
  ConvFusion fusion = FusionOf(request.node);
  bool has_bias = request.input(2).present;
  const int slices = UsefulSlices(shape, request.threads);
  const ConvPasses<T>* passes = PassesFor<T>(request, shape);
  LoweredKernel out;
  out.scratch_bytes = passes->forward_scratch_bytes(shape, fusion, slices);
  out.kernel =
      MakeKernel(Describe("conv", passes->name, fusion),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   ConvForwardArgs<T> args{.x = p.input<T>(0),
                                           .w = p.input<T>(1),
                                           .bias = has_bias ? p.input<T>(2) : nullptr,
                                           .y = p.output<T>(0),
                                           .argmax = p.output<uint8_t>(1)};
                   passes->forward(context.threads, shape, fusion, args, slices, p.scratch());
                   return {};
                 });
  return out;
}

// Reads the operands (dy, saved?, …) of gradient kernels: the gradient of the output, and what the
// forward pass saved for it.
template <typename T>
ConvGradient<T> GradientFrom(const engine::Operands& p, const ConvFusion& fusion) {
  ConvGradient<T> gradient{.dy = p.input<T>(0)};
  if (fusion.Pools()) {
    gradient.argmax = p.input<uint8_t>(1);
  } else if (fusion.relu) {
    gradient.y = p.input<T>(1);
  }
  return gradient;
}

template <typename T>
Result<LoweredKernel> GradWeight(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(ConvShape shape,
                      ConvShapeOf(request.node, request.input(2).dims, request.outputs[0].dims));
  ConvFusion fusion = FusionOf(request.node);
  const int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  const ConvPasses<T>* passes = PassesFor<T>(request, shape);
  out.scratch_bytes = passes->backward_weights_scratch_bytes(shape, fusion, slices);
  out.kernel =
      MakeKernel(Describe("conv_grad_weight", passes->name, fusion),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   passes->backward_weights(context.threads, shape, fusion,
                                            GradientFrom<T>(p, fusion), p.input<T>(2),
                                            p.output<T>(0), p.output<T>(1), slices, p.scratch());
                   return {};
                 });
  return out;
}

template <typename T>
Result<LoweredKernel> GradInput(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(ConvShape shape,
                      ConvShapeOf(request.node, request.outputs[0].dims, request.input(2).dims));
  ConvFusion fusion = FusionOf(request.node);
  const int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  const ConvPasses<T>* passes = PassesFor<T>(request, shape);
  out.scratch_bytes = passes->backward_data_scratch_bytes(shape, fusion, slices);
  out.kernel =
      MakeKernel(Describe("conv_grad_input", passes->name, fusion),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   passes->backward_data(context.threads, shape, fusion, GradientFrom<T>(p, fusion),
                                         p.input<T>(2), p.output<T>(0), slices, p.scratch());
                   return {};
                 });
  return out;
}

// ---- Channels-last ----

// Few channels may come in a plain image.
bool IsChannelsLast(const KernelRequest& request) {
  return request.input(0).layout == kChannelsLastLayout ||
         request.outputs[0].layout == kChannelsLastLayout;
}

// (image, w, bias?, norm's scale?, bias, mean, variance, residual?) → image
template <typename T, typename Conv>
std::unique_ptr<engine::Kernel> ImageKernel(const KernelRequest& request, std::string_view name,
                                            int64_t channels, std::shared_ptr<const Conv> conv) {
  const ImageEnd<T> end(request, channels);
  const size_t folded = RoundUp(conv->scratch_bytes(), 64);
  return MakeKernel(Cat(name, "_channels_last", end.name()),
                    [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                      auto* const norm = reinterpret_cast<T*>(p.scratch<std::byte>() + folded);
                      conv->Run(context.threads,
                                {p.input<T>(0), p.input<T>(1), p.output<T>(0), end.Of(p, 0, norm)},
                                p.scratch());
                      return {};
                    });
}

// Of weights that are packed once (`packed`), or on each run.
template <typename T, typename Conv>
LoweredKernel Image(const KernelRequest& request, std::string_view name, int64_t channels,
                    bool packed, std::shared_ptr<const Conv> conv) {
  LoweredKernel out;
  out.scratch_bytes = conv->scratch_bytes() + 64 + 2 * static_cast<size_t>(channels) * sizeof(T);
  out.kernel = ImageKernel<T>(request, name, channels, conv);
  if (packed) out.preparations.push_back(PackImageWeights<T>(1, conv));
  return out;
}

// Returns whether a channels-last pass runs by Winograd's algorithm: if that is pinned, or if it
// pays.
bool RunsWinograd(const KernelRequest& request, const ConvShape& shape, bool pays) {
  if (!MayRunWinograd(request)) return false;
  return Pinned(request) == "winograd" ? WinogradTakesChannelsLast(shape) : pays;
}

// The unit needs no leave to be less accurate.
bool RunsOnMatrixUnit(const KernelRequest& request, const ConvShape& shape, onednn::ConvPass pass,
                      bool packed) {
  const bool forward = pass == onednn::ConvPass::kForward;
  if (Pinned(request) == "matrix_unit") {
    return SplitKernelsInUse() != nullptr && SplitConvTakes(shape) &&
           !(forward && HasFewChannels(shape));
  }
  if (Pinned(request) == "winograd" || Pinned(request) == "direct") return false;
  return RunsOnMatrixUnit(shape, pass, packed, request.exact_sums);
}

template <typename T>
Result<LoweredKernel> ChannelsLastImage(const KernelRequest& request, std::string_view name,
                                        const ConvShape& shape, ImagePass pass) {
  const bool forward = pass == ImagePass::kForward, packed = request.input(1).steady;
  const int64_t channels = forward ? shape.oc : shape.ic;
  const int slices = UsefulSlices(shape, request.threads);
  if (IsDepthwise(shape)) {
    return Image<T>(request, Cat(name, "_depthwise"), channels, packed,
                    std::make_shared<const DepthwiseChannelsLast<T>>(shape, pass, packed, slices));
  }
  const int64_t made = forward ? shape.GroupOut() : shape.GroupIn();
  if (RunsGrouped(shape, made, KernelsForGrouped<T>().lanes)) {
    return Image<T>(request, Cat(name, "_grouped"), channels, packed,
                    std::make_shared<const GroupedChannelsLast<T>>(shape, pass, packed, slices));
  }
  if (forward && HasFewChannels(shape)) {
    const bool channels_last = request.input(0).layout == kChannelsLastLayout;
    return Image<T>(
        request, Cat(name, "_few"), channels, packed,
        std::make_shared<const ConvFewChannels<T>>(shape, channels_last, packed, slices));
  }
  if constexpr (std::is_same_v<T, float>) {
    const auto of = forward ? onednn::ConvPass::kForward : onednn::ConvPass::kBackwardData;
    if (RunsOnMatrixUnit(request, shape, of, packed)) {
      return Image<T>(
          request, Cat(name, "_matrix_unit"), channels, packed,
          std::make_shared<const SplitConv>(*SplitKernelsInUse(), shape, pass, packed, slices));
    }
    if (packed && forward && MayRunWinograd(request) && WinogradLinePays(shape)) {
      return Image<T>(request, Cat(name, "_winograd"), channels, packed,
                      std::make_shared<const WinogradLine>(shape, slices));
    }
    if (RunsWinograd(request, shape, WinogradChannelsLastPays(shape, pass, packed))) {
      const WinogradMethod method = WinogradMethodFor(shape, pass, packed);
      return Image<T>(request, Cat(name, "_winograd"), channels, method.packed,
                      std::make_shared<const WinogradChannelsLast>(shape, pass, method, slices));
    }
  }
  return Image<T>(request, name, channels, packed,
                  std::make_shared<const ConvChannelsLast<T>>(shape, pass, packed, slices));
}

template <typename T, typename Conv>
LoweredKernel WeightKernel(std::string_view name, std::shared_ptr<const Conv> conv) {
  LoweredKernel out;
  out.scratch_bytes = conv->scratch_bytes();
  out.kernel = MakeKernel(
      std::string(name),
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        conv->Run(context.threads, p.input<T>(1), p.input<T>(0), p.output<T>(0), p.scratch());
        return {};
      });
  return out;
}

// (dy, x) → dw
template <typename T>
Result<LoweredKernel> ChannelsLastGradWeight(const KernelRequest& request, const ConvShape& shape) {
  const int slices = UsefulSlices(shape, request.threads);
  if (IsDepthwise(shape)) {
    return WeightKernel<T>("conv_grad_weight_depthwise_channels_last",
                           std::make_shared<const DepthwiseChannelsLastWeights<T>>(shape, slices));
  }
  if (RunsGrouped(shape, shape.GroupOut(), KernelsForGrouped<T>().lanes)) {
    return WeightKernel<T>("conv_grad_weight_grouped_channels_last",
                           std::make_shared<const GroupedChannelsLastWeights<T>>(shape, slices));
  }
  if constexpr (std::is_same_v<T, float>) {
    if (RunsOnMatrixUnit(request, shape, onednn::ConvPass::kBackwardWeights, false)) {
      return WeightKernel<T>(
          "conv_grad_weight_matrix_unit_channels_last",
          std::make_shared<const SplitConvWeights>(*SplitKernelsInUse(), shape, slices));
    }
    if (RunsWinograd(request, shape, WinogradChannelsLastWeightsPays(shape))) {
      return WeightKernel<T>("conv_grad_weight_winograd_channels_last",
                             std::make_shared<const WinogradChannelsLastWeights>(
                                 shape, WinogradWeightsTiling(shape), slices));
    }
  }
  return WeightKernel<T>("conv_grad_weight_channels_last",
                         std::make_shared<const ConvChannelsLastWeights<T>>(shape, slices));
}

// ---- Plain ----

// Returns whether the kernels of depthwise convolutions run it; a library, or products of matrices,
// if that is pinned.
bool RunsDepthwise(const KernelRequest& request, const ConvShape& shape) {
  return IsDepthwise(shape) && Pinned(request) != "onednn" && Pinned(request) != "portable";
}

// (image, w, bias?) → image
template <typename T>
LoweredKernel DepthwiseImage(const KernelRequest& request, std::string_view name,
                             const ConvShape& shape, ImagePass pass, bool bias, bool relu) {
  const auto conv =
      std::make_shared<const DepthwisePlain<T>>(shape, pass, UsefulSlices(shape, request.threads));
  LoweredKernel out{.scratch_bytes = conv->scratch_bytes()};
  out.kernel =
      MakeKernel(Cat(name, "_depthwise", relu ? "+relu" : ""),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   conv->Run(context.threads, p.input<T>(0), p.input<T>(1),
                             bias ? p.input<T>(2) : nullptr, relu, p.output<T>(0), p.scratch());
                   return {};
                 });
  return out;
}

// Plain NCHW: (x, w, bias?) → y
template <typename T>
Result<LoweredKernel> PlainForward(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(ConvShape shape,
                      ConvShapeOf(request.node, request.input(0).dims, request.input(1).dims));
  bool has_bias = request.input(2).present;
  auto activation = request.node.Int("relu", 0) != 0 ? Activation::kRelu : Activation::kNone;
  if (IsChannelsLast(request)) {
    return ChannelsLastImage<T>(request, "conv", shape, ImagePass::kForward);
  }
  if (RunsDepthwise(request, shape)) {
    return DepthwiseImage<T>(request, "conv", shape, ImagePass::kForward, has_bias,
                             activation == Activation::kRelu);
  }
  HR_ASSIGN_OR_RETURN(
      LoweredKernel other,
      onednn::MakeConv(
          request, {.name = "conv", .shape = shape, .bias = has_bias, .activation = activation}));
  if (other.kernel != nullptr) return other;
  const int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  out.scratch_bytes = ConvPlainScratchBytes<T>(shape, slices);
  out.kernel =
      MakeKernel(activation == Activation::kRelu ? "conv+relu" : "conv",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const T* bias = has_bias ? p.input<T>(2) : nullptr;
                   ConvPlainForward<T>(context.threads, shape, p.input<T>(0), p.input<T>(1), bias,
                                       activation, p.output<T>(0), slices, p.scratch());
                   return {};
                 });
  return out;
}

// (dy, w, x: type only) → dx
template <typename T>
Result<LoweredKernel> PlainGradInput(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(ConvShape shape,
                      ConvShapeOf(request.node, request.input(2).dims, request.input(1).dims));
  if (IsChannelsLast(request)) {
    return ChannelsLastImage<T>(request, "conv_grad_input", shape, ImagePass::kBackwardData);
  }
  if (RunsDepthwise(request, shape)) {
    return DepthwiseImage<T>(request, "conv_grad_input", shape, ImagePass::kBackwardData, false,
                             false);
  }
  HR_ASSIGN_OR_RETURN(LoweredKernel other,
                      onednn::MakeConv(request, {.name = "conv_grad_input",
                                                 .shape = shape,
                                                 .pass = onednn::ConvPass::kBackwardData}));
  if (other.kernel != nullptr) return other;
  const int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  out.scratch_bytes = ConvPlainScratchBytes<T>(shape, slices);
  out.kernel =
      MakeKernel("conv_grad_input",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   ConvPlainBackwardData<T>(context.threads, shape, p.input<T>(0), p.input<T>(1),
                                            p.output<T>(0), slices, p.scratch());
                   return {};
                 });
  return out;
}

// (dy, x, w: type only) → dw
template <typename T>
Result<LoweredKernel> PlainGradWeight(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(ConvShape shape,
                      ConvShapeOf(request.node, request.input(1).dims, request.input(2).dims));
  if (IsChannelsLast(request)) return ChannelsLastGradWeight<T>(request, shape);
  const int slices = UsefulSlices(shape, request.threads);
  if (RunsDepthwise(request, shape)) {
    return WeightKernel<T>("conv_grad_weight_depthwise",
                           std::make_shared<const DepthwisePlainWeights<T>>(shape, slices));
  }
  HR_ASSIGN_OR_RETURN(LoweredKernel other,
                      onednn::MakeConv(request, {.name = "conv_grad_weight",
                                                 .shape = shape,
                                                 .pass = onednn::ConvPass::kBackwardWeights}));
  if (other.kernel != nullptr) return other;
  LoweredKernel out;
  out.scratch_bytes = ConvPlainWeightsScratchBytes<T>(shape, slices);
  out.kernel =
      MakeKernel("conv_grad_weight",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   ConvPlainBackwardWeights<T>(context.threads, shape, p.input<T>(0), p.input<T>(1),
                                               p.output<T>(0), nullptr, slices, p.scratch());
                   return {};
                 });
  return out;
}

int ConversionSlices(const KernelRequest& request) {
  return UsefulSlices(0.3 * static_cast<double>(request.input(0).elements()), request.threads);
}

Result<LoweredKernel> ConvertChannelsLast(const KernelRequest& request, bool to) {
  const Dims& dims = request.input(0).dims;
  const int64_t c = dims[1], plane = ElementCount(std::span(dims).subspan(2));
  const size_t bytes = DTypeSize(request.input(0).dtype);
  const int slices = ConversionSlices(request);
  LoweredKernel out;
  out.kernel = MakeKernel(
      to ? "to_channels_last" : "from_channels_last",
      [=, n = dims[0]](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        ToChannelsLast(context.threads, n, to ? c : plane, to ? plane : c, bytes, p.input(0),
                       p.output(0), slices);
        return {};
      });
  return out;
}

template <typename T>
Result<LoweredKernel> Convert(const KernelRequest& request, bool to_blocked) {
  const Dims& dims = request.input(0).dims;
  int64_t n = dims[0];
  int64_t k = ElementCount(std::span(dims).subspan(1));
  const int slices = ConversionSlices(request);
  LoweredKernel out;
  out.kernel =
      MakeKernel(to_blocked ? "to_batch_blocked" : "from_batch_blocked",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   auto* convert = to_blocked ? ToBatchBlocked<T> : FromBatchBlocked<T>;
                   convert(context.threads, n, k, p.input<T>(0), p.output<T>(0), slices);
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeForward(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return Forward<T>(request); });
}
Result<LoweredKernel> MakeGradWeight(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return GradWeight<T>(request); });
}
Result<LoweredKernel> MakeGradInput(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return GradInput<T>(request); });
}
Result<LoweredKernel> MakePlainForward(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return PlainForward<T>(request); });
}
Result<LoweredKernel> MakePlainGradWeight(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return PlainGradWeight<T>(request); });
}
Result<LoweredKernel> MakePlainGradInput(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return PlainGradInput<T>(request); });
}
Result<LoweredKernel> MakeToBlocked(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return Convert<T>(request, true); });
}
Result<LoweredKernel> MakeFromBlocked(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return Convert<T>(request, false); });
}
Result<LoweredKernel> MakeToChannelsLast(const KernelRequest& request) {
  return ConvertChannelsLast(request, true);
}
Result<LoweredKernel> MakeFromChannelsLast(const KernelRequest& request) {
  return ConvertChannelsLast(request, false);
}

constexpr KernelEntry kConvKernels[] = {
    {"", "Conv", MakePlainForward},
    {"headrace.grad", "ConvGradWeight", MakePlainGradWeight},
    {"headrace.grad", "ConvGradInput", MakePlainGradInput},
    {lowering::kLowered, "PlainConv", MakePlainForward},
    {lowering::kLowered, "ChannelsLastConv", MakePlainForward},
    {lowering::kLowered, "Conv", MakeForward, true},
    {lowering::kLowered, "ConvGradWeight", MakeGradWeight, true},
    {lowering::kLowered, "ConvGradInput", MakeGradInput, true},
    {lowering::kLowered, "ToBatchBlocked", MakeToBlocked},
    {lowering::kLowered, "FromBatchBlocked", MakeFromBlocked},
    {lowering::kLowered, "ToChannelsLast", MakeToChannelsLast},
    {lowering::kLowered, "FromChannelsLast", MakeFromChannelsLast},
};

}  // namespace

KernelPart ConvFamily() { return ChosenKernels<kConvKernels>(); }

}  // namespace hr::cpu
