// Which library runs a node of float32. The rules are drawn from measurements of both on AVX-512
// (tests/kernels/onednn_bench.cc; docs/benchmarks.md has the figures), never from timing in a run:
// the same model takes the same kernels everywhere.
#pragma once

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm.h"

namespace hr::cpu::onednn {

enum class ConvPass : uint8_t { kForward, kBackwardData, kBackwardWeights };

// oneDNN is 2 to 10 % faster from some 30 million multiply-adds on, more where B is large for the
// rows that read it; below that the difference is not worth its fixed cost. Thin products are ours.
inline bool GemmPays(const GemmShape& s) {
  const double work = static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  return s.m >= 64 && s.n >= 64 && s.k >= 16 && work >= 1 << 25;
}

// For plain images. Kernels that copy their weights on every run (`kept`: they do not) need enough
// pixels to make up for it; ours copy them once for each image.
inline bool ConvPays(const ConvShape& s, ConvPass pass, bool kept) {
  const int64_t pixels = s.n * s.OutputPlane();
  if (static_cast<double>(pixels * s.oc) * static_cast<double>(s.Taps()) < 1 << 17) return false;
  if (s.groups > 1) {
    // Groups that fill no vector are products of matrices there, too, but a part with a single
    // group is not, and sums all places one after the other.
    const bool vectors = s.GroupIn() % 8 == 0 && s.GroupOut() % 8 == 0;
    const bool depthwise = s.GroupIn() == 1 && s.GroupOut() == 1;
    return pass != ConvPass::kBackwardWeights || vectors || depthwise;
  }
  const bool one_tap = s.kh * s.kw == 1;
  switch (pass) {
    case ConvPass::kForward:  // one tap is a product of matrices without any copy
      if (one_tap) return kept && s.OutputPlane() < 128;
      return s.ic >= 3 && (kept || s.n > 1 || pixels >= 64);
    case ConvPass::kBackwardData:
      if (one_tap) return s.ic >= 16 && s.sh * s.sw == 1;
      return s.ic >= 16 && (kept || pixels >= 16 * s.sh * s.sw);
    case ConvPass::kBackwardWeights: return !one_tap && s.ic >= 3 && pixels >= 128;
  }
  return false;
}

}  // namespace hr::cpu::onednn
