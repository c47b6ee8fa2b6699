#include "backends/cpu/kernels/conv_kernels.h"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/conv_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_tiles-inl.h"
#include "backends/cpu/kernels/pool_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace {

// Tiles as large as the registers allow: sums, inputs and one weight.
inline constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64;
inline constexpr bool kScalar = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;
inline constexpr int kForwardOutputs = kManyRegisters ? 6 : kScalar ? 1 : 3;
inline constexpr int kWeightsOutputs = kManyRegisters ? 5 : kScalar ? 1 : 2;
constexpr int DataChannels(int taps) {
  if (kScalar) return 1;
  if (taps == 5) return kManyRegisters ? 3 : 1;
  if (taps == 3) return kManyRegisters ? 4 : 2;
  return kManyRegisters ? 4 : 3;
}

template <typename T, int... i>
constexpr void FillForward(ConvKernels<T>& table, std::integer_sequence<int, i...>) {
  ((table.forward[i][0] = &Forward<T, i + 1, 4>), ...);
  ((table.forward[i][1] = &Forward<T, i + 1, 1>), ...);
}

template <typename T, int taps, int... i>
constexpr void FillData(ConvKernels<T>& table, int row, std::integer_sequence<int, i...>) {
  table.data_channels[row] = sizeof...(i);
  ((table.data[row][i][0] = &Data<T, taps, i + 1, 4>), ...);
  ((table.data[row][i][1] = &Data<T, taps, i + 1, 1>), ...);
}

template <typename T, int... i>
constexpr void FillWeights(ConvKernels<T>& table, std::integer_sequence<int, i...>) {
  ((table.weights[i][0] = &Weights<T, i + 1, 5>), ...);
  ((table.weights[i][1] = &Weights<T, i + 1, 3>), ...);
  ((table.weights[i][2] = &Weights<T, i + 1, 1>), ...);
}

template <typename T>
constexpr ConvKernels<T> MakeTable() {
  ConvKernels<T> table{};
  table.forward_outputs = kForwardOutputs;
  FillForward<T>(table, std::make_integer_sequence<int, kForwardOutputs>());
  FillData<T, 5>(table, 0, std::make_integer_sequence<int, DataChannels(5)>());
  FillData<T, 3>(table, 1, std::make_integer_sequence<int, DataChannels(3)>());
  FillData<T, 1>(table, 2, std::make_integer_sequence<int, DataChannels(1)>());
  table.weights_outputs = kWeightsOutputs;
  FillWeights<T>(table, std::make_integer_sequence<int, kWeightsOutputs>());
  table.sum_lanes = &SumLanes<T>;
  table.sum_pixels = &SumPixels<T>;
  table.expand = &Expand<T>;
  table.max_pool = &MaxPool<T>;
  table.average_pool = &AveragePool<T>;
  table.max_pool_backward = &MaxPoolBackward<T>;
  table.average_pool_backward = &AveragePoolBackward<T>;
  return table;
}

const ConvKernels<float>& ConvFloatKernels() {
  static constexpr ConvKernels<float> kTable = MakeTable<float>();
  return kTable;
}

const ConvKernels<double>& ConvDoubleKernels() {
  static constexpr ConvKernels<double> kTable = MakeTable<double>();
  return kTable;
}

}  // namespace
}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(ConvFloatKernels);
HWY_EXPORT(ConvDoubleKernels);

template <>
const ConvKernels<float>& KernelsForConv() {
  return HWY_DYNAMIC_DISPATCH(ConvFloatKernels)();
}

template <>
const ConvKernels<double>& KernelsForConv() {
  return HWY_DYNAMIC_DISPATCH(ConvDoubleKernels)();
}

}  // namespace hr::cpu
#endif
