#include "backends/cpu/ops/conv_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/conv_chain.h"
#include "backends/cpu/kernels/conv_few_channels.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "backends/cpu/kernels/grouped_channels_last.h"
#include "backends/cpu/kernels/split_conv.h"
#include "backends/cpu/kernels/split_conv_weights.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_line.h"
#include "backends/cpu/kernels/winograd_method.h"
#include "backends/cpu/kernels/winograd_tiles.h"
#include "backends/cpu/ops/useful_slices.h"

namespace hr::cpu {
namespace {

using onednn::ConvPass, onednn::ConvPays;

// All costs are nanoseconds of one thread with AVX-512 and float32. Rates are multiply-adds per
// nanosecond.

double Products(const ConvShape& s, int64_t images) {
  return static_cast<double>(images * s.OutputPlane()) * static_cast<double>(s.oc * s.Taps());
}
double Weights(const ConvShape& s) { return static_cast<double>(s.oc * s.Taps()); }

int64_t WholeBlocks(const ConvShape& s) { return RoundUp(s.n, kBatchBlock<float>); }

// The lanes of each weight's gradient are added at the end, whatever the number of pixels.
constexpr double kLaneSum = 2.2;

double Direct(const ConvShape& s, ConvPass pass) {
  // Rows of a group have few sums for what they read.
  const double full = s.kh * s.kw == 1 ? 76 : s.groups > 1 ? 75 : 112;
  // Of its tiles; those of a single output wait for what they read.
  const double share = IsDepthwise(s) ? 0.19 : static_cast<double>(s.GroupOut()) / 4;
  const double rate = full * std::min(1.0, share);
  const double sums = pass == ConvPass::kBackwardWeights ? kLaneSum * Weights(s) : 0;
  return Products(s, WholeBlocks(s)) / rate + sums;
}

double Winograd(const ConvShape& s, ConvPass pass) {
  constexpr double kTransform = 20;  // multiplications for each pixel of a tile
  constexpr double kFilter = 13;
  const WinogradGrid grid(s);
  const auto area = static_cast<double>(grid.row_axis.tile * grid.column_axis.tile);
  const double pixels = area * static_cast<double>(grid.rows * grid.columns * WholeBlocks(s));
  const auto filters = static_cast<double>(s.ic * s.oc);
  const double work = pixels * (1.2 * filters + kTransform * static_cast<double>(s.ic + s.oc));
  if (pass == ConvPass::kBackwardWeights) return work / 97 + kLaneSum * area * filters;
  return work / 143 + kFilter * filters;
}

// Copies of so many images to the layout and back. `takes_plain`: the convolution itself needs none
// of x.
double Copies(const ConvShape& s, const ConvUse& use, int64_t count, bool takes_plain) {
  constexpr double kElement = 0.3;
  const auto images = static_cast<double>(count);
  const double x = images * static_cast<double>(s.ic * s.InputPlane());
  const double y = images * static_cast<double>(s.oc * s.OutputPlane());
  const bool x_once = !takes_plain || use.backward_weights;
  const int x_times = (x_once ? 1 : 0) + (use.backward_data ? 1 : 0);
  const int y_times = 1 + (use.backward_weights ? 1 : 0);
  return kElement * ((use.x_is_plain ? x_times * x : 0) + (use.y_is_plain ? y_times * y : 0));
}

// The image's columns are made a matrix, which is multiplied by the weights. The weights are
// ordered anew for each image, which counts if it has few pixels; so does what a product costs
// whatever its size, if there are many groups.
double Portable(const ConvShape& s, ConvPass pass) {
  const auto images = static_cast<double>(s.n);
  const auto plane = static_cast<double>(s.OutputPlane());
  const bool in_place = s.kh * s.kw * s.sh * s.sw == 1;
  const double columns =
      in_place ? 0 : images * plane * static_cast<double>(s.Taps() * s.groups) * 0.2;
  const double order = images * Weights(s) / plane * (pass == ConvPass::kForward ? 1 : 0.4);
  const double groups = s.groups > 1 ? 700 * images * static_cast<double>(s.groups) : 0;
  return Products(s, s.n) / 100 + columns + order + groups;
}

double OneDnn(const ConvShape& s, ConvPass pass, bool kept) {
  if (s.groups > 1) return Products(s, s.n) / (s.GroupIn() >= 16 ? 66 : s.sh * s.sw > 1 ? 5 : 10);
  ConvShape padded = s;  // channels fill whole vectors
  if (s.ic > 3) padded.ic = RoundUp(s.ic, kBatchBlock<float>);
  padded.oc = RoundUp(s.oc, kBatchBlock<float>);
  constexpr double kOrder[] = {0.45, 0.33, 0.75}, kRate[] = {88, 80, 58};  // by passes
  const auto p = static_cast<size_t>(pass);
  return Products(padded, s.n) / kRate[p] + (kept ? 0 : kOrder[p] * Weights(s));
}

constexpr double kChannelsLastRate = 120;

// By how much longer vectors take on processors with a matrix unit (Sapphire Rapids) than the
// model, whose figures of vectors are those of a Zen 5, says beside those of the unit.
double LongerOnUnitMachines(const ConvUse& use, double factor) {
  return use.wide || SplitKernelsInUse() == nullptr ? 1 : factor;
}
double DirectLonger(const ConvUse& use) { return LongerOnUnitMachines(use, 1.2); }
double WinogradLonger(const ConvUse& use) { return LongerOnUnitMachines(use, 1.5); }

// Pixels that lie apart are gathered, or written, one by one in plain images.
double Strided(const ConvShape& s) {
  constexpr double kPixel = 1.95;
  if (s.KernelSize() > 1 || s.sh * s.sw == 1) return 0;
  return kPixel * static_cast<double>(s.n * s.OutputPlane() * s.ic);
}

// Elements of images that a pass makes.
double ResultsOf(const ConvShape& s, ConvPass pass) {
  if (pass == ConvPass::kBackwardWeights) return 0;
  const bool data = pass == ConvPass::kBackwardData;
  return static_cast<double>(s.n) *
         static_cast<double>(data ? s.ic * s.InputPlane() : s.oc * s.OutputPlane());
}

// Depthwise, of plain images: lanes are columns, and a channel of an image takes some time by
// itself.
double DepthwisePlainCost(const ConvShape& s, ConvPass pass) {
  constexpr double kRate = 45, kChannel = 120, kElement = 0.1;
  const bool phases = pass == ConvPass::kBackwardData && s.sh * s.sw > 1;
  const int64_t columns = RoundUp(s.ow, kBatchBlock<float>);
  const auto channels = static_cast<double>(s.n * s.ic);
  const auto sums = static_cast<double>(s.oh * columns * s.KernelSize());
  const auto touched = static_cast<double>(s.InputPlane() + s.OutputPlane());
  return channels * (sums / kRate + (phases ? 3 : 1) * kChannel + kElement * touched);
}

// Products of groups, whose lanes may be channels of several. What is read is first copied for each
// lane of a vector, or for each group; phases of strides have few taps for that.
double Grouped(const ConvShape& s, ConvPass pass, bool kept) {
  constexpr int64_t kVector = kBatchBlock<float>;
  const bool data = pass == ConvPass::kBackwardData;
  const int64_t out = data ? s.GroupIn() : s.GroupOut();
  const bool spread = SpreadsLanes(s.groups, out, s.KernelSize(), kVector);
  const int64_t lanes =
      spread ? RoundUp(s.groups * out, kVector) : s.groups * RoundUp(out, kVector);
  const auto sums = static_cast<double>(s.n * s.OutputPlane() * lanes);
  const auto terms = static_cast<double>(data ? s.GroupOut() : s.GroupIn());
  const double copies = spread ? 2 * (data ? static_cast<double>(s.sh * s.sw) : 1) : 1;
  const double order = kept ? 0 : 0.2 * Weights(s);
  return sums * terms * (static_cast<double>(s.KernelSize()) + copies) / 84 + order;
}

// What a direct sum computes of all taps: those of small images that read padding are left out.
double TapsInside(const ConvShape& s) {
  const auto inside = [](int64_t positions, const auto& taps_of) {
    int64_t taps = 0;
    for (int64_t i = 0; i < positions; ++i) taps += taps_of(i).size();
    return static_cast<double>(taps);
  };
  const double rows = inside(s.oh, [&](int64_t i) { return ValidRows(s, i); });
  const double columns = inside(s.ow, [&](int64_t i) { return ValidColumns(s, i); });
  const double share =
      rows * columns / static_cast<double>(std::max<int64_t>(1, s.OutputPlane() * s.KernelSize()));
  return share < 0.9 ? share : 1;
}

// Products of gathered pixels. Lanes are channels of the result; weights are ordered on each run
// unless they are kept.
double ChannelsLast(const ConvShape& s, ConvPass pass, const ConvUse& use) {
  const bool kept = !use.backward_weights;
  constexpr double kOrder[] = {0.15, 0.12, 0.25}, kResult = 0.2;
  const bool few = pass == ConvPass::kForward && HasFewChannels(s);
  // Of an element; runs that fill no whole vectors take longer.
  const bool whole = few || s.GroupIn() % kBatchBlock<float> == 0;
  const double gather = whole ? 0.01 : 0.25;
  if (IsDepthwise(s)) {
    const bool phases = pass == ConvPass::kBackwardData && s.sh * s.sw > 1;
    return Products(s, s.n) / (phases ? 18 : 36);
  }
  // Lanes of a group's result are whole vectors.
  const int64_t lanes = pass == ConvPass::kBackwardData ? s.GroupIn() : s.GroupOut();
  if (RunsGrouped(s, lanes, kBatchBlock<float>)) return Grouped(s, pass, kept);
  ConvShape padded = s;
  padded.oc = s.oc * RoundUp(lanes, kBatchBlock<float>) / std::max<int64_t>(1, lanes);
  const auto pixels = static_cast<double>(s.n * s.OutputPlane());
  const double gathered = s.kh * s.kw == 1 ? 0 : gather * pixels * static_cast<double>(s.Taps());
  const double order = kept ? 0 : kOrder[static_cast<size_t>(pass)] * Weights(s);
  const double written = kResult * ResultsOf(s, pass);
  const double products = DirectLonger(use) * TapsInside(s) * Products(padded, s.n);
  return products / kChannelsLastRate + gathered + order + written;
}

// The same along one axis, of channels-last images.
double Lines(const ConvShape& s) {
  constexpr double kTransform = 40;  // multiplications for each pixel of a tile
  const WinogradLine line(s, 1);
  const auto pixels = static_cast<double>(line.tiles() * line.tile());
  return pixels *
         static_cast<double>(s.ic * s.oc + static_cast<int64_t>(kTransform) * (s.ic + s.oc)) / 110;
}

// Of channels-last images by Winograd's algorithm; nothing if that does not pay.
std::optional<double> WinogradChannelsLastNanoseconds(const ConvShape& s, ConvPass pass,
                                                      bool kept) {
  if (pass == ConvPass::kBackwardWeights) {
    if (!WinogradChannelsLastWeightsPays(s)) return std::nullopt;
    return WinogradChannelsLastWeightsCost(s) / kChannelsLastRate;
  }
  const auto image = pass == ConvPass::kForward ? ImagePass::kForward : ImagePass::kBackwardData;
  if (!WinogradChannelsLastPays(s, image, kept)) return std::nullopt;
  return WinogradChannelsLastCost(s, image, kept) / kChannelsLastRate;
}

// Whether an inference goes through winograd_line.h.
bool RunsLines(const ConvShape& s, const ConvUse& use) {
  return !use.exact_sums && !use.backward_weights && WinogradLinePays(s);
}

// What one pass costs, by which method.
struct PassCost {
  double nanoseconds;
  std::string_view method;
};

// What a pass costs beside reading the weights, if not by Winograd's algorithm channels-last.
PassCost CostWithoutWeights(const ConvShape& s, ConvPass pass, const ConvUse& use, Layout layout,
                            const ConvCosts& costs) {
  // Weights that are not trained mostly stay the same, and are then ordered once.
  const bool kept = !use.backward_weights;
  if (layout == kChannelsLastLayout) {
    if (pass == ConvPass::kForward && RunsLines(s, use))
      return {costs.channels_last * Lines(s), "winograd"};
    const double cost = ChannelsLast(s, pass, use);
    if (IsDepthwise(s)) return {costs.depthwise * cost, "depthwise"};
    if (RunsGrouped(s, s.GroupOut(), kBatchBlock<float>)) {
      return {costs.channels_last * cost, "grouped"};
    }
    return {costs.channels_last * cost, "channels_last"};
  }
  if (layout == Layout::kPlain) {
    if (IsDepthwise(s)) return {costs.depthwise * DepthwisePlainCost(s, pass), "depthwise"};
    if (use.onednn && ConvPays(s, pass, kept)) {
      return {costs.onednn * (OneDnn(s, pass, kept) + Strided(s)), "onednn"};
    }
    return {costs.portable * (Portable(s, pass) + Strided(s)), "portable"};
  }
  if (!use.exact_sums && WinogradPays(s)) {
    return {costs.winograd * WinogradLonger(use) * Winograd(s, pass), "winograd"};
  }
  if (s.kh * s.kw == 1) return {costs.direct_1x1 * Direct(s, pass), "direct_1x1"};
  return {costs.direct * Direct(s, pass), "direct"};
}

// The cheapest one of vectors.
PassCost CostOnVectors(const ConvShape& s, ConvPass pass, const ConvUse& use, Layout layout,
                       const ConvCosts& costs) {
  const bool kept = !use.backward_weights;
  const bool lines = pass == ConvPass::kForward && RunsLines(s, use);
  if (layout == kChannelsLastLayout && !use.exact_sums && !lines) {
    const auto winograd = WinogradChannelsLastNanoseconds(s, pass, kept);
    if (winograd) return {costs.channels_last * WinogradLonger(use) * *winograd, "winograd"};
  }
  PassCost out = CostWithoutWeights(s, pass, use, layout, costs);
  // Those of all layers fill no cache. (Winograd's cost has those of its frequencies.)
  if (kept) out.nanoseconds += kReadWeight / kChannelsLastRate * Weights(s);
  return out;
}

ImagePass ImageOf(ConvPass pass) {
  return pass == ConvPass::kForward ? ImagePass::kForward : ImagePass::kBackwardData;
}

double MatrixUnitCost(const ConvShape& s, ConvPass pass, bool kept) {
  if (pass == ConvPass::kBackwardWeights) return SplitConvWeightsCost(s);
  return SplitConvCost(s, ImageOf(pass), kept);
}

PassCost CostOfPass(const ConvShape& s, ConvPass pass, const ConvUse& use, Layout layout,
                    const ConvCosts& costs) {
  const bool kept = !use.backward_weights;
  if (layout == kChannelsLastLayout && !use.wide &&
      RunsOnMatrixUnit(s, pass, kept, use.exact_sums)) {
    const double cost = costs.channels_last * MatrixUnitCost(s, pass, kept) / kChannelsLastRate;
    const double vectors = CostOnVectors(s, pass, use, layout, costs).nanoseconds;
    return {std::min(cost, vectors), "matrix_unit"};
  }
  return CostOnVectors(s, pass, use, layout, costs);
}

// What the gradient of weights takes on vectors beside the matrix unit, where more counts than in
// the model, which compares layouts: the sums of Winograd's frequencies pass through the cache,
// tiles of a single vector of channels read as much as they multiply, and channels that fill no
// whole vectors are gathered one by one.
double WeightsOnVectors(const ConvShape& s, const PassCost& cost) {
  constexpr double kOneVectorLonger = 2, kWinogradLonger = 1.35, kGather = 0.25;
  if (cost.method == "winograd") return kWinogradLonger * cost.nanoseconds;
  const bool one_vector = s.oc <= kBatchBlock<float>;
  const bool gathers = s.KernelSize() > 1 && s.ic % kBatchBlock<float> != 0;
  const double gathered =
      static_cast<double>(s.n * s.OutputPlane()) * static_cast<double>(s.Taps());
  return (one_vector ? kOneVectorLonger : 1) * cost.nanoseconds +
         (gathers ? kGather * gathered : 0);
}

}  // namespace

bool RunsOnMatrixUnit(const ConvShape& s, ConvPass pass, bool kept, bool exact_sums) {
  const bool forward = pass == ConvPass::kForward;
  if (SplitKernelsInUse() == nullptr) return false;
  if (!SplitConvTakes(s) || IsDepthwise(s) || (forward && HasFewChannels(s))) return false;
  const ConvUse use{.backward_weights = !kept, .exact_sums = exact_sums};
  PassCost vectors = CostOnVectors(s, pass, use, kChannelsLastLayout, {});
  if (pass == ConvPass::kBackwardWeights) {
    vectors.nanoseconds = WeightsOnVectors(s, vectors);
  }
  return MatrixUnitCost(s, pass, kept) < kChannelsLastRate * vectors.nanoseconds;
}

int ChainSlices(std::span<const ConvShape> convs, int threads) {
  double nanoseconds = 0;
  for (const ConvShape& s : convs) nanoseconds += Products(s, s.n) / (s.groups > 1 ? 36 : 90);
  return UsefulSlices(nanoseconds, threads);
}

bool ConvChainPays(std::span<const ConvShape> convs, int threads) {
  const int window = ChainWindow(convs);
  if (window < 0 || convs[0].n == 0) return false;
  const int slices = ChainSlices(convs, threads);
  const ChainBands bands(convs, static_cast<size_t>(window), slices);
  const auto tasks = static_cast<double>(slices), count = static_cast<double>(bands.count());
  if (count < tasks) return false;
  // Of a number that is handed on by way of memory, or of a cache behind that of a core; of one
  // that is kept for the next band; of a step that threads end together; of a weight that is read
  // from memory, and from the cache.
  constexpr double kFar = 0.5, kNear = 0.1, kKeep = 0.1, kStep = 1000, kRead = 0.2,
                   kReadAgain = 0.02;
  constexpr double kNearBytes = 1 << 20, kKeptWeights = 512 << 10;
  double saved = 0, weights = 0;
  for (size_t i = 0; i < convs.size(); ++i) {
    weights += Weights(convs[i]);
    if (i + 1 == convs.size()) break;
    const double numbers = static_cast<double>(convs[i].n * convs[i].OutputPlane() * convs[i].oc);
    saved += numbers * (4 * numbers > tasks * kNearBytes ? kFar : kNear) + kStep * tasks;
  }
  const ConvShape& s = convs[static_cast<size_t>(window)];
  const double again = 4 * weights > kKeptWeights ? kRead : kReadAgain;
  double cost = kRead * weights * (tasks - 1) + again * weights * (count - tasks);
  if (window > 0) {
    const auto row = static_cast<double>(s.iw * s.ic);
    const auto more = static_cast<double>(bands.fresh_rows() - s.n * s.ih);
    for (int i = 0; i < window; ++i) {
      cost += more * static_cast<double>(s.iw) * Weights(convs[static_cast<size_t>(i)]) /
              kChannelsLastRate;
    }
    cost += kKeep * row * static_cast<double>(bands.kept_rows());
  }
  return saved > cost;
}

ConvEstimate EstimateConv(const ConvShape& s, const ConvUse& use, Layout layout,
                          const ConvCosts& costs) {
  if (layout == kChannelsLastLayout && s.HasDepth()) return {.passes = HUGE_VAL};
  // oneDNN takes a column for a row, along which its kernels go.
  const bool is_column = s.iw == 1 && s.ow == 1 && s.kw == 1 && s.kh > 1;
  if (layout == kChannelsLastLayout && use.onednn && is_column && !RunsLines(s, use))
    return {.passes = HUGE_VAL};
  const PassCost forward = CostOfPass(s, ConvPass::kForward, use, layout, costs);
  ConvEstimate out{.passes = forward.nanoseconds, .method = forward.method};
  const auto add = [&](ConvPass pass) {
    out.passes += CostOfPass(s, pass, use, layout, costs).nanoseconds;
  };
  if (use.backward_data) add(ConvPass::kBackwardData);
  if (use.backward_weights) add(ConvPass::kBackwardWeights);
  if (layout == kChannelsLastLayout)
    out.copies = costs.copies * Copies(s, use, s.n, HasFewChannels(s));
  if (layout == kBatchBlockedLayout)
    out.copies = costs.copies * Copies(s, use, WholeBlocks(s), false);
  return out;
}

}  // namespace hr::cpu
