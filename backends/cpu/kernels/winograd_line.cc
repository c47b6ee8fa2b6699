#include "backends/cpu/kernels/winograd_line.h"

#include <algorithm>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockTiles = 128;     // that are multiplied at a time: they stay in L2
constexpr int64_t kBlockChannels = 128;  // summed up at a time: longer sums have larger errors
constexpr int64_t kGroupPanels = 4;
constexpr int64_t kUnit = kBatchBlock<float>;  // channels that the transforms take at once
constexpr int64_t kLeastChannels = 64;

// Rows that lie whole kilobytes apart fall on the same few lines of the cache.
int64_t RowStride(int64_t channels) { return channels % 256 == 0 ? channels + kUnit : channels; }

bool IsAlongRows(const ConvShape& s) { return s.kh > 1; }

}  // namespace

bool WinogradLinePays(const ConvShape& s) {
  const bool plain = !s.HasDepth() && s.groups == 1 && s.sh == 1 && s.sw == 1 && s.dh == 1 &&
                     s.dw == 1 && s.ic % kUnit == 0 && s.oc % kUnit == 0;
  if (!plain || s.ic < kLeastChannels || s.oc < kLeastChannels) return false;
  const bool rows = IsAlongRows(s);
  const int64_t taps = rows ? s.kh : s.kw;
  if (taps < kWinogradMinKernel || taps > kWinogradMaxKernel) return false;
  const int64_t outputs = WinogradAxisFor(taps).Outputs(taps);
  // Half a tile in vain costs what the others gain.
  if ((rows ? s.oh : s.ow) < 2 * outputs) return false;
  return rows ? s.kw == 1 && s.ow == s.iw && s.pad_left == 0 : s.oh == s.ih && s.pad_top == 0;
}

WinogradLine::WinogradLine(const ConvShape& shape, int slices)
    : s_(shape),
      slices_(slices),
      taps_(IsAlongRows(shape) ? shape.kh : shape.kw),
      pad_(IsAlongRows(shape) ? shape.pad_top : shape.pad_left),
      across_(IsAlongRows(shape) ? shape.iw : 1),
      in_(IsAlongRows(shape) ? shape.ih : shape.iw),
      out_(IsAlongRows(shape) ? shape.oh : shape.ow),
      axis_(WinogradAxisFor(taps_)),
      outputs_(axis_.Outputs(taps_)),
      line_tiles_(CeilDiv(out_, outputs_)),
      rows_(s_.n * (s_.OutputPlane() / out_) * line_tiles_),
      width_(2 * gemm_.lanes),
      panels_(CeilDiv(s_.oc, width_)),
      whole_(CeilDiv(kUnit, width_)),
      group_(std::min(panels_, RoundUp(kGroupPanels, whole_))),
      row_stride_(RowStride(s_.ic)) {}

// The first pixel of a line in an image whose lines have `size` pixels.
int64_t WinogradLine::Pixel(int64_t line, int64_t size) const {
  return line / across_ * size * across_ + line % across_;
}

// Many tiles are cut; of few, the channels of the result are, so that no weight is read twice.
bool WinogradLine::CutsTiles() const { return rows_ >= kBlockTiles * slices_; }

int64_t WinogradLine::ProductElements() const {
  return axis_.tile * std::min(rows_, kBlockTiles) * RoundUp(group_ * width_, kUnit);
}

int64_t WinogradLine::ScratchElements() const {
  if (!CutsTiles()) return FrequencyElements(rows_) + slices_ * ProductElements();
  return slices_ * (FrequencyElements(kBlockTiles) + ProductElements());
}

size_t WinogradLine::scratch_bytes() const {
  return static_cast<size_t>(ScratchElements()) * sizeof(float);
}

size_t WinogradLine::packed_bytes() const {
  return static_cast<size_t>(panels_ * axis_.tile * s_.ic * width_) * sizeof(float);
}

std::string WinogradLine::packed_format() const {
  return Cat("winograd line ", WeightsText(s_), " ", width_);
}

float* WinogradLine::PackedAt(float* packed, int64_t panel, int64_t frequency) const {
  return packed + (panel * axis_.tile + frequency) * s_.ic * width_;
}

void WinogradLine::Pack(const Lease& threads, const float* weights, float* packed) const {
  const int tasks = static_cast<int>(panels_);
  threads.ParallelFor(tasks, [&](int panel) {
    for (int64_t f = 0; f < axis_.tile; ++f) {
      float* to = PackedAt(packed, panel, f);
      for (int64_t i = 0; i < s_.ic * width_; ++i) {
        const int64_t lane = panel * width_ + i % width_;
        double sum = 0;
        if (lane < s_.oc) {
          const float* from = weights + (lane * s_.ic + i / width_) * taps_;
          for (int64_t k = 0; k < taps_; ++k)
            sum += static_cast<double>(axis_.Filter(static_cast<int>(f), k, taps_)) * from[k];
        }
        to[i] = static_cast<float>(sum);
      }
    }
  });
}

// The frequencies of tiles, that of tile `first` at the beginning of each plane.
void WinogradLine::Transform(Range tiles, int64_t first, int64_t plane, const float* image,
                             float* to) const {
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const int64_t line = t / line_tiles_, at = t % line_tiles_ * outputs_ - pad_;
    const float* const from = image + Pixel(line, in_) * s_.ic;
    for (int f = 0; f < axis_.tile; ++f) {
      WinogradRows rows;
      const WinogradAxis::Span span = axis_.Pixels(f);
      for (int i = span.begin; i < span.end; i += span.step) {
        if (at + i >= 0 && at + i < in_)
          rows.Add(from + (at + i) * across_ * s_.ic, axis_.input[f][i]);
      }
      kernels_.combine(rows, s_.ic / kUnit, to + f * plane + (t - first) * row_stride_);
    }
  }
}

void WinogradLine::Multiply(Range tiles, Range panels, const float* pixels, int64_t first,
                            int64_t plane, const ConvImageMemory<float>& memory,
                            float* products) const {
  const int64_t lanes = RoundUp(group_ * width_, kUnit);
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const int64_t columns = std::min(width_, s_.oc - panel * width_);
    const size_t vectors = columns > gemm_.lanes ? 1 : 0;
    for (int64_t f = 0; f < axis_.tile; ++f) {
      const float* const weights = PackedAt(const_cast<float*>(memory.weights), panel, f);
      float* const to = products + f * tiles.size() * lanes + (panel - panels.begin) * width_;
      for (int64_t c = 0; c < s_.ic; c += kBlockChannels) {
        const int64_t cuts = CeilDiv(tiles.size(), gemm_.rows);
        for (int64_t cut = 0; cut < cuts; ++cut) {
          const Range rows = PartOf(tiles.size(), cuts, cut);
          gemm_.tile[0][vectors][rows.size() - 1](
              {.k = std::min(kBlockChannels, s_.ic - c),
               .a = pixels + f * plane + (tiles.begin - first + rows.begin) * row_stride_ + c,
               .a_stride = row_stride_,
               .b = weights + c * width_,
               .ldb = width_,
               .columns = columns,
               .c = to + rows.begin * lanes,
               .ldc = lanes,
               .accumulate = c > 0});
        }
      }
    }
  }
  Finish(tiles, panels, memory, products);
}

// Products become outputs.
void WinogradLine::Finish(Range tiles, Range panels, const ConvImageMemory<float>& memory,
                          const float* products) const {
  const int64_t lanes = RoundUp(group_ * width_, kUnit), lane = panels.begin * width_;
  const int64_t channels = std::min(s_.oc - lane, panels.size() * width_);
  ConvEpilogue<float> epilogue = memory.epilogue;
  if (epilogue.scale != nullptr) epilogue.scale += lane;
  if (epilogue.bias != nullptr) epilogue.bias += lane;
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const int64_t first = t % line_tiles_ * outputs_, count = std::min(outputs_, out_ - first);
    const int64_t pixel = Pixel(t / line_tiles_, out_) + first * across_;
    const int64_t at = pixel * s_.oc + lane, stride = across_ * s_.oc;
    for (int64_t j = 0; j < count; ++j) {
      WinogradRows rows;
      for (int f = 0; f < axis_.tile; ++f)
        rows.Add(products + (f * tiles.size() + t - tiles.begin) * lanes,
                 axis_.Output(f, j, outputs_));
      kernels_.combine(rows, channels / kUnit, memory.result + at + j * stride);
    }
    if (epilogue.IsNone()) continue;
    if (memory.epilogue.residual != nullptr) epilogue.residual = memory.epilogue.residual + at;
    float* const y = memory.result + at;
    KernelsForConvChannelsLast<float>().finish(epilogue, count, channels, y, stride, y, stride);
  }
}

void WinogradLine::Run(const Lease& threads, const ConvImageMemory<float>& memory,
                       void* scratch) const {
  auto* const pixels = static_cast<float*>(scratch);
  const auto blocks = [&](Range all, Range panels, auto&& body) {
    for (int64_t at = all.begin; at < all.end; at += kBlockTiles) {
      const Range tiles{at, std::min(all.end, at + kBlockTiles)};
      for (int64_t panel = panels.begin; panel < panels.end; panel += group_)
        body(tiles, Range{panel, std::min(panels.end, panel + group_)});
    }
  };
  if (CutsTiles()) {
    const int64_t plane = kBlockTiles * row_stride_;
    threads.ParallelFor(slices_, [&](int slice) {
      float* const own = pixels + slice * (FrequencyElements(kBlockTiles) + ProductElements());
      blocks(PartOf(rows_, slices_, slice), {0, panels_}, [&](Range tiles, Range panels) {
        if (panels.begin == 0) Transform(tiles, tiles.begin, plane, memory.image, own);
        Multiply(tiles, panels, own, tiles.begin, plane, memory,
                 own + FrequencyElements(kBlockTiles));
      });
    });
    return;
  }
  const int64_t plane = rows_ * row_stride_;
  threads.ParallelFor(slices_, [&](int slice) {
    const Range tiles = PartOf(rows_, slices_, slice);
    Transform(tiles, 0, plane, memory.image, pixels);
  });
  threads.ParallelFor(slices_, [&](int slice) {
    float* const own = pixels + FrequencyElements(rows_) + slice * ProductElements();
    const Range part = PartOf(CeilDiv(panels_, whole_), slices_, slice);
    const Range mine{part.begin * whole_, std::min(panels_, part.end * whole_)};
    blocks({0, rows_}, mine, [&](Range tiles, Range panels) {
      Multiply(tiles, panels, pixels, 0, plane, memory, own);
    });
  });
}

}  // namespace hr::cpu
