// Depthwise convolution (a group for each channel) of channels-last images, forward and both
// gradients: vector lanes are channels, and each weight is read once for several pixels.
//
// float and double. Weights are in ONNX's layout [c][1][kh][kw]. Results depend on the shape alone.
// Nothing is allocated by a run; memory is aligned to 64 bytes.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/conv_phases.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

inline bool IsDepthwise(const ConvShape& s) {
  return s.groups > 1 && s.groups == s.ic && s.groups == s.oc && !s.HasDepth();
}

// One pass that makes an image, from plain weights. Immutable.
template <typename T>
class DepthwiseChannelsLast {
 public:
  DepthwiseChannelsLast(const ConvShape& shape, ImagePass pass, int slices)
      : s_(shape), slices_(slices), phases_(PhasesOf(shape, pass)) {}

  size_t scratch_bytes() const { return static_cast<size_t>(s_.ic * s_.KernelSize()) * sizeof(T); }
  void Run(const Lease& threads, const ConvImageMemory<T>& memory, void* scratch) const;

 private:
  const ConvShape s_;
  const int slices_;
  const std::vector<ConvPhase> phases_;
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
  const ConvPhase phase_;
};

}  // namespace hr::cpu
