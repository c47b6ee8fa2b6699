#include "backends/cpu/kernels/winograd_method.h"

#include <utility>

#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_tiles.h"

namespace hr::cpu {
namespace {

// Costs are multiply-adds of a direct sum in the same time, on one thread of a Zen 5
// (tests/kernels/conv_bench.cc).
constexpr double kTransform = 7;  // of a frequency of a channel
constexpr double kMost = 0.9;     // of what a direct sum costs

// What a weight costs beside those of the tiles.
struct WeightCost {
  double frequency;  // for each
  double filter = 0;
};
constexpr WeightCost kOrdered = {3, 200}, kGradient = {11, 230};
constexpr double kTapOrdered = 23, kTapGradient = 20;  // of a direct sum, by taps

double Weights(const ConvShape& s) { return static_cast<double>(s.ic * s.oc); }

double CostOf(const WinogradGrid& grid, const WeightCost& each) {
  const ConvShape& s = grid.s;
  const auto tiles = static_cast<double>(s.n * grid.rows * grid.columns);
  const auto frequencies = static_cast<double>(grid.frequencies());
  const double channels = kTransform * static_cast<double>(s.ic + s.oc);
  return frequencies * tiles * (Weights(s) + channels) +
         Weights(s) * (frequencies * each.frequency + each.filter);
}

// While a weight is read again, of a layer that has so many for each filter: those of a small layer
// stay in a cache, others come from memory.
double ReadCost(const ConvShape& s, int64_t each) {
  constexpr double kCachedBytes = 1 << 20;
  return sizeof(float) * static_cast<double>(each) * Weights(s) <= kCachedBytes ? 5 : kReadWeight;
}

// `steady`: weights that are ordered in each run are read again, too.
double CostOf(const ConvShape& s, const WinogradMethod& method, bool steady) {
  const WinogradGrid grid(s, method.tiling);
  if (method.packed) return CostOf(grid, {ReadCost(s, grid.frequencies())});
  WeightCost each = kOrdered;
  const int64_t taps = s.KernelSize();
  if (steady) each.filter += static_cast<double>(taps) * ReadCost(s, taps);
  return CostOf(grid, each);
}

// Of a forward pass.
WinogradMethod BestMethod(const ConvShape& s, bool steady) {
  WinogradMethod best;
  for (const WinogradTiling tiling : {WinogradTiling::kLarge, WinogradTiling::kSmall}) {
    if (tiling == WinogradTiling::kSmall && !WinogradHasSmallTiles(s)) continue;
    for (const bool packed : {false, true}) {
      const WinogradMethod method{tiling, packed};
      if (packed && !steady) continue;
      if (CostOf(s, method, steady) < CostOf(s, best, steady)) best = method;
    }
  }
  return best;
}

// The taps inside an axis, of all positions.
int64_t TapsOf(int64_t positions, int64_t pad, int64_t kernel, int64_t size) {
  int64_t taps = 0;
  for (int64_t i = 0; i < positions; ++i) taps += ValidTaps(i, 1, pad, 1, kernel, size).size();
  return taps;
}

// What a direct sum costs, which leaves out the padding of small images. `each`: multiply-adds for
// a weight beside those of the pixels.
double DirectCost(const ConvShape& s, double each) {
  const int64_t all = s.KernelSize() * s.OutputPlane();
  const int64_t inside = TapsOf(s.oh, s.pad_top, s.kh, s.ih) * TapsOf(s.ow, s.pad_left, s.kw, s.iw);
  const int64_t taps = 10 * inside < 9 * all ? inside : all;
  return Weights(s) *
         (static_cast<double>(s.n * taps) + each * static_cast<double>(s.KernelSize()));
}

double CostOfWeights(const ConvShape& s, WinogradTiling tiling) {
  return CostOf(WinogradGrid(s, tiling), kGradient);
}

}  // namespace

ConvShape AsForward(ConvShape s, ImagePass pass) {
  if (pass == ImagePass::kForward) return s;
  std::swap(s.ic, s.oc);
  std::swap(s.ih, s.oh);
  std::swap(s.iw, s.ow);
  s.pad_top = s.kh - 1 - s.pad_top;
  s.pad_left = s.kw - 1 - s.pad_left;
  return s;
}

bool WinogradHasEightPixels(const ConvShape& s) {
  const auto has = [](int64_t taps) { return &WinogradAxisFor(taps) == &kWinogradEight; };
  return has(s.kh) || has(s.kw);
}

bool WinogradFillsTaps(const ConvShape& s) {
  const auto fills = [](int64_t inside, int64_t all) { return 5 * inside >= 4 * all; };
  return !WinogradHasEightPixels(s) || (fills(TapsOf(s.oh, s.pad_top, s.kh, s.ih), s.oh * s.kh) &&
                                        fills(TapsOf(s.ow, s.pad_left, s.kw, s.iw), s.ow * s.kw));
}

bool WinogradFillsWeightSums(const ConvShape& s) {
  constexpr int64_t kFewestPixels = 1024;
  const bool many = s.n * s.OutputPlane() >= kFewestPixels;
  return !WinogradHasEightPixels(s) || (many && WinogradFillsTaps(s));
}

bool WinogradTakesChannelsLast(const ConvShape& s) {
  constexpr int64_t kUnit = kBatchBlock<float>;
  return !s.HasDepth() && WinogradIsAccurate(s) && s.ic % kUnit == 0 && s.oc % kUnit == 0 &&
         s.pad_top >= 0 && s.pad_left >= 0 && s.pad_top < s.kh && s.pad_left < s.kw;
}

bool WinogradHasSmallTiles(const ConvShape& s) {
  return s.kh == kWinogradSmallKernel && s.kw == kWinogradSmallKernel;
}

WinogradMethod WinogradMethodFor(const ConvShape& shape, ImagePass pass, bool steady) {
  return BestMethod(AsForward(shape, pass), steady);
}

double WinogradChannelsLastCost(const ConvShape& shape, ImagePass pass, bool steady) {
  const ConvShape s = AsForward(shape, pass);
  return CostOf(s, BestMethod(s, steady), steady);
}

bool WinogradChannelsLastPays(const ConvShape& shape, ImagePass pass, bool steady) {
  if (!WinogradTakesChannelsLast(shape) || !WinogradFillsTaps(shape)) return false;
  const ConvShape s = AsForward(shape, pass);
  const double each = steady ? ReadCost(s, s.KernelSize()) : kTapOrdered;
  return CostOf(s, BestMethod(s, steady), steady) < kMost * DirectCost(s, each);
}

WinogradTiling WinogradWeightsTiling(const ConvShape& s) {
  constexpr auto kLarge = WinogradTiling::kLarge, kSmall = WinogradTiling::kSmall;
  const bool small =
      WinogradHasSmallTiles(s) && CostOfWeights(s, kSmall) < CostOfWeights(s, kLarge);
  return small ? kSmall : kLarge;
}

double WinogradChannelsLastWeightsCost(const ConvShape& s) {
  return CostOfWeights(s, WinogradWeightsTiling(s));
}

bool WinogradChannelsLastWeightsPays(const ConvShape& s) {
  if (!WinogradTakesChannelsLast(s) || !WinogradFillsWeightSums(s)) return false;
  return WinogradChannelsLastWeightsCost(s) < kMost * DirectCost(s, kTapGradient);
}

}  // namespace hr::cpu
