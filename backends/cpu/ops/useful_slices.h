// Into how many slices a kernel's work is cut.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// At most `slices`, each with so much to do that waking a thread for it pays. `nanoseconds`: what
// one thread needs for all of it, roughly.
inline int UsefulSlices(double nanoseconds, int slices) {
  constexpr double kWorthWaking = 1500;
  return std::max(1, static_cast<int>(std::min<double>(slices, nanoseconds / kWorthWaking)));
}

// Of a convolution, or of one of its gradients.
inline int UsefulSlices(const ConvShape& s, int slices) {
  const double products =
      static_cast<double>(s.n * s.OutputPlane()) * static_cast<double>(s.oc * s.Taps());
  return UsefulSlices(products / (s.groups > 1 ? 36 : 90), slices);  // a nanosecond
}

// Of a pool, or of its gradient.
inline int UsefulSlices(const PoolShape& s, int slices) {
  const double touched = static_cast<double>(s.n * s.c) *
                         static_cast<double>(s.InputPlane() + s.OutputPlane() * s.KernelSize());
  return UsefulSlices(touched / 8, slices);
}

}  // namespace hr::cpu
