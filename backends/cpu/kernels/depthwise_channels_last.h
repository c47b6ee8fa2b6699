// Depthwise convolution (a group for each channel) of channels-last images, forward and both
// gradients: vector lanes are channels, and each weight is read once for several pixels.
//
// float and double. Weights are in ONNX's layout [c][1][kh][kw]. Results depend on the shape alone.
// Nothing is allocated by a run; memory is aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

inline bool IsDepthwise(const ConvShape& s) {
  return s.groups > 1 && s.groups == s.ic && s.groups == s.oc && !s.HasDepth();
}

struct DepthwisePhase : ConvPhase {
  explicit DepthwisePhase(ConvPhase phase);

  std::vector<TapRun> runs;  // of columns
};
std::vector<DepthwisePhase> DepthwisePhasesOf(const ConvShape& shape, ImagePass pass);

// One pass that makes an image. Immutable.
template <typename T>
class DepthwiseChannelsLast {
 public:
  // `packed`: the weights come from Pack.
  DepthwiseChannelsLast(const ConvShape& shape, ImagePass pass, bool packed, int slices)
      : s_(shape), packed_(packed), slices_(slices), phases_(DepthwisePhasesOf(shape, pass)) {}

  size_t scratch_bytes() const { return packed_ ? 0 : packed_bytes(); }
  void Run(const Lease& threads, const ConvImageMemory<T>& memory, void* scratch) const;

  size_t packed_bytes() const { return static_cast<size_t>(s_.ic * s_.KernelSize()) * sizeof(T); }
  // Equal if the weights that another one has packed serve as well.
  std::string packed_format() const;
  // For each phase: [tap][channel].
  void Pack(const Lease& threads, const T* weights, T* packed) const;

 private:
  void RunPart(const DepthwisePhase& phase, const ConvImageMemory<T>& memory, const T* weights,
               Range rows, Range channels) const;

  const ConvShape s_;
  const bool packed_;
  const int slices_;
  const std::vector<DepthwisePhase> phases_;
};

// The gradient of the weights. Immutable.
template <typename T>
class DepthwiseChannelsLastWeights {
 public:
  DepthwiseChannelsLastWeights(const ConvShape& shape, int slices)
      : s_(shape), slices_(slices), phase_(PhasesOf(shape, ImagePass::kForward)[0]) {}

  size_t scratch_bytes() const { return static_cast<size_t>(s_.ic * s_.KernelSize()) * sizeof(T); }
  // All of dw is written.
  void Run(const Lease& threads, const T* x, const T* dy, T* dw, void* scratch) const;

 private:
  const ConvShape s_;
  const int slices_;
  const DepthwisePhase phase_;
};

}  // namespace hr::cpu
