#include "backends/cpu/kernels/conv_batch_blocked.h"
#include "backends/cpu/kernels/winograd.h"

namespace hr::cpu {
namespace {

template <typename T>
constexpr ConvPasses<T> kDirect = {
    .name = "direct",
    .forward_scratch_bytes = [](const ConvShape&, const ConvFusion&, int) { return size_t{0}; },
    .forward = [](const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                  const ConvForwardArgs<T>& args, int slices,
                  void*) { ConvForward(threads, shape, fusion, args, slices); },
    .backward_data_scratch_bytes = &ConvBackwardDataScratchBytes<T>,
    .backward_data = &ConvBackwardData<T>,
    .backward_weights_scratch_bytes = &ConvBackwardWeightsScratchBytes<T>,
    .backward_weights = &ConvBackwardWeights<T>,
};

constexpr ConvPasses<float> kWinograd = {
    .name = "winograd",
    .forward_scratch_bytes = &WinogradForwardScratchBytes,
    .forward = &WinogradForward,
    .backward_data_scratch_bytes = &WinogradBackwardDataScratchBytes,
    .backward_data = &WinogradBackwardData,
    .backward_weights_scratch_bytes = &WinogradBackwardWeightsScratchBytes,
    .backward_weights = &WinogradBackwardWeights,
};

}  // namespace

template <>
const ConvPasses<float>& DirectConvPasses() {
  return kDirect<float>;
}
template <>
const ConvPasses<double>& DirectConvPasses() {
  return kDirect<double>;
}
const ConvPasses<float>& WinogradConvPasses() { return kWinograd; }

template <>
const ConvPasses<float>& ConvPassesFor(const ConvShape& shape) {
  return WinogradPays(shape) ? kWinograd : kDirect<float>;
}
template <>
const ConvPasses<double>& ConvPassesFor(const ConvShape&) {
  return kDirect<double>;
}

}  // namespace hr::cpu
