// What kernels of channels-last convolutions have in common: what is done to their results, and how
// their weights are prepared.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/conv_phases.h"

namespace hr::cpu {

// Operands of a convolution behind its image: w, bias?, norm's scale?, bias, mean, variance,
// residual?.
inline constexpr size_t kConvOperands = 7;

// What is done to the result of (image, w, bias?, norm's scale?, bias, mean, variance, residual?).
template <typename T>
class ImageEnd {
 public:
  ImageEnd(const KernelRequest& request, int64_t channels)
      : channels_(channels),
        norm_(request.input(3).present),
        bias_(request.op.name.ends_with("Conv") && request.input(2).present),
        residual_(request.input(7).present),
        relu_(request.node.Int("relu", 0) != 0),
        epsilon_(static_cast<T>(request.node.Float("epsilon", 1e-5))),
        low_(relu_ ? T(0) : static_cast<T>(request.node.Float("low", -kInfinity))),
        high_(static_cast<T>(request.node.Float("high", kInfinity))) {}

  // As plans write it.
  std::string name() const {
    const bool clip = !relu_ && (low_ > -kInfinity || high_ < kInfinity);
    return Cat(norm_ ? "+batch_normalization" : "", residual_ ? "+add" : "", relu_ ? "+relu" : "",
               clip ? "+clip" : "");
  }
  // `before`: operands that stand before the image's place. `memory` has room for two numbers a
  // channel.
  ConvEpilogue<T> Of(const engine::Operands& p, size_t before, T* memory) const {
    const auto input = [&](size_t i) { return p.input<T>(before + i); };
    ConvEpilogue<T> out{.bias = bias_ ? input(2) : nullptr,
                        .residual = residual_ ? input(7) : nullptr,
                        .low = low_,
                        .high = high_};
    if (!norm_) return out;
    // BatchNormalization with given statistics, as factors and summands of channels.
    const T *scale = input(3), *bias = input(4), *mean = input(5), *variance = input(6);
    T *const factors = memory, *const summands = memory + channels_;
    for (int64_t c = 0; c < channels_; ++c)
      factors[c] = scale[c] / std::sqrt(variance[c] + epsilon_);
    for (int64_t c = 0; c < channels_; ++c) {
      const T from = bias_ ? out.bias[c] - mean[c] : -mean[c];
      summands[c] = bias[c] + from * factors[c];
    }
    out.scale = factors;
    out.bias = summands;
    return out;
  }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  int64_t channels_;
  bool norm_, bias_, residual_, relu_;
  T epsilon_, low_, high_;
};

// Weights that are packed once, of input `input`.
template <typename T, typename Conv>
Preparation PackImageWeights(size_t input, std::shared_ptr<const Conv> conv) {
  constexpr bool kScratch = requires { conv->pack_scratch_bytes(); };
  Preparation out{
      .input = input,
      .bytes = conv->packed_bytes(),
      .format = Cat("channels_last ", conv->packed_format()),
      .kernel = MakeKernel(
          "pack_channels_last",
          [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
            if constexpr (kScratch) {
              conv->Pack(context.threads, p.input<T>(0), p.output<T>(0), p.scratch());
            } else {
              conv->Pack(context.threads, p.input<T>(0), p.output<T>(0));
            }
            return {};
          })};
  if constexpr (kScratch) out.scratch_bytes = conv->pack_scratch_bytes();
  return out;
}

}  // namespace hr::cpu
