#include "backends/cpu/kernels/split_weights_plan.h"

#include <algorithm>

namespace hr::cpu {
namespace {

constexpr int64_t kPlaces = 512;                // of a unit, about
constexpr int64_t kMostPlaces = 640;            // of images that are not cut
constexpr int64_t kBytesOfRows = 1344 << 10;    // of the second-level cache, with some columns
constexpr int64_t kBytesOfColumns = 512 << 10;  // the same

// The positions of one of x's numbers that taps read, by their remainders by the strides.
int64_t Phases(int64_t kernel, int64_t stride, int64_t dilation) {
  std::vector<int64_t> phases;
  for (int64_t tap = 0; tap < kernel; ++tap) phases.push_back(tap * dilation % stride);
  std::sort(phases.begin(), phases.end());
  return std::unique(phases.begin(), phases.end()) - phases.begin();
}

ConvFrame FrameOf(const ConvShape& shape, const SplitWeightsCut& cut) {
  ConvShape s = shape;
  if (cut.by_taps) s.kh = s.kw = 1;  // whose windows are where they are
  const int64_t phases = Phases(s.kh, s.sh, s.dh) * (Phases(s.kw, s.sw, s.dw) > 1 ? s.sw : 1);
  // Of positions alone.
  const FrameLimits limits{.channels = 1,
                           .bytes = kMostPlaces * phases * static_cast<int64_t>(sizeof(uint16_t)),
                           .places = kPlaces,
                           .cut = true};
  return {s, ImagePass::kForward, limits, cut.places};
}

int64_t Some(int64_t all, int64_t bytes, int64_t each) {
  const int64_t most = std::clamp<int64_t>(bytes / each, 1, kMostSplitBlocks);
  return CeilDiv(all, CeilDiv(all, most));
}

}  // namespace

std::vector<WeightTaps> SplitWeightsPlan::GroupsOf(const ConvShape& s, const ConvFrame& frame,
                                                   bool by_taps) {
  std::vector<WeightTaps> groups;
  for (int64_t tap = 0; tap < s.KernelSize(); ++tap) {
    const int64_t row = tap / s.kw * s.dh, column = tap % s.kw * s.dw;
    WeightTaps own{by_taps ? row : row % s.sh, by_taps ? column : column % s.sw, {}};
    const auto same = [&](const WeightTaps& g) {
      return g.row == own.row && g.column == own.column;
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), own);
    const int64_t lines = (row - own.row) / s.sh, places = (column - own.column) / s.sw;
    group->taps.push_back({tap, row, column, lines * frame.columns() + places});
  }
  return groups;
}

SplitWeightsPlan::SplitWeightsPlan(const ConvShape& shape, const SplitWeightsCut& cut)
    : s_(shape),
      cut_(cut),
      frame_(FrameOf(shape, cut)),
      groups_(GroupsOf(shape, frame_, cut.by_taps)) {
  if (frame_.count() == 0) return;
  terms_ = RoundUp(frame_.PlacesOf(frame_.At(0)), kSplitTerms);
  int64_t offset = 0;
  bool odd = false;
  for (const WeightTaps& group : groups_) {
    for (const WeightTap& tap : group.taps) {
      offset = std::max(offset, tap.offset), odd = odd || tap.offset % 2 != 0;
    }
  }
  column_terms_ = RoundUp(terms_ + offset, kSplitTerms);
  pairs_ = SplitPairs(column_terms_, odd);
  const int64_t rows = kBytesOfRows - 2 * pairs_.block();
  some_blocks_ = Some(CeilDiv(blocks(), cut.rows), rows, SplitBlockBytes(terms_));
  some_panels_ = Some(CeilDiv(panels(), cut.panels), kBytesOfColumns, pairs_.block());
}

double SplitWeightsPlan::Cost() const {
  // Of a product of the unit, of a number of dy and of x that is split, of a sum that is added to
  // another, of one that is brought in order, and of one that is made by another thread.
  constexpr double kProduct = 0.5, kRow = 30, kColumn = 24, kAdd = 6, kOrder = 40, kPart = 60;
  if (frame_.count() == 0) return 0;
  const int64_t units = CeilDiv(frame_.count(), cut_.places);
  const int64_t own_blocks = CeilDiv(blocks(), cut_.rows);
  const auto terms = static_cast<double>(units * terms_);
  const auto rows = static_cast<double>(RoundUp(CeilDiv(s_.oc, cut_.rows), kSplitSide));
  const auto columns = static_cast<double>(CeilDiv(panels(), cut_.panels) * kSplitWidth);
  const auto passes = static_cast<double>(CeilDiv(own_blocks, some_blocks_));
  const auto sums = static_cast<double>(s_.KernelSize()) * rows * columns;
  const double column_terms =
      static_cast<double>(units * column_terms_) * static_cast<double>(groups_.size());
  return kProduct * terms * sums + kRow * terms * static_cast<double>(own_blocks * kSplitWidth) +
         kColumn * column_terms * passes * columns + kAdd * static_cast<double>(units) * sums +
         (cut_.places > 1 ? kOrder / cut_.places + kPart : kOrder) * sums;
}

SplitWeightsCut SplitWeightsCutFor(const ConvShape& s, int slices) {
  SplitWeightsCut best;
  double least = 0;
  for (const bool by_taps : {false, true}) {
    for (int places = 1; places <= slices; ++places) {
      for (int rows = 1; places * rows <= slices; ++rows) {
        const SplitWeightsCut cut{places, rows, slices / (places * rows), by_taps};
        const SplitWeightsPlan plan(s, cut);
        if (cut.rows > plan.blocks() || cut.places > std::max<int64_t>(1, plan.frame().count())) {
          continue;
        }
        SplitWeightsCut fits = cut;
        fits.panels = static_cast<int>(std::min<int64_t>(cut.panels, plan.panels()));
        const double cost = SplitWeightsPlan(s, fits).Cost();
        if (least == 0 || cost < least) best = fits, least = cost;
      }
    }
  }
  return best;
}

}  // namespace hr::cpu
