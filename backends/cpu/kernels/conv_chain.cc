#include "backends/cpu/kernels/conv_chain.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/depthwise_channels_last.h"

namespace hr::cpu {
namespace {

constexpr int64_t kLine = 64 / sizeof(float);

bool IsPointwise(const ConvShape& s) {
  return s.KernelSize() == 1 && s.groups == 1 && !s.HasDepth() && s.sh == 1 && s.sw == 1 &&
         s.ih == s.oh && s.iw == s.ow && s.pad_top == 0 && s.pad_left == 0;
}

// Whether the window of each row of the result spans some row of the image.
bool ReadsRows(const ConvShape& s) {
  return s.oh > 0 && s.ow > 0 && (s.kh - 1) * s.dh >= s.pad_top &&
         (s.oh - 1) * s.sh - s.pad_top < s.ih;
}

bool Fits(const ConvShape& from, const ConvShape& to) {
  return from.n == to.n && from.oc == to.ic && from.oh == to.ih && from.ow == to.iw;
}

// Rows of the image that rows of the result read: those that are there, and those that are not.
struct Source {
  Range rows;
  int64_t top, bottom;
};
Source SourceOf(const ConvShape& s, Range rows) {
  const int64_t first = rows.begin * s.sh - s.pad_top;
  const int64_t end = (rows.end - 1) * s.sh - s.pad_top + (s.kh - 1) * s.dh + 1;
  return {{std::max<int64_t>(0, first), std::min(s.ih, end)},
          std::max<int64_t>(0, -first),
          std::max<int64_t>(0, end - s.ih)};
}

// Bytes of a row of the window's image, and of its result, that stay in the cache.
struct RowBytes {
  RowBytes(std::span<const ConvShape> convs, size_t window) {
    for (size_t i = 0; i < convs.size(); ++i) {
      const ConvShape& s = convs[i];
      if (i < window) read = std::max(read, s.oc * s.ow);
      if (i >= window && i + 1 < convs.size()) made += s.oc * s.ow;
    }
    read *= sizeof(float), made *= sizeof(float);
  }
  int64_t read = 0, made = 0;
};

}  // namespace

int ChainWindow(std::span<const ConvShape> convs) {
  int window = -1;
  for (size_t i = 0; i < convs.size(); ++i) {
    if (i > 0 && !Fits(convs[i - 1], convs[i])) return -1;
    if (IsPointwise(convs[i])) continue;
    if (window != -1 || !IsDepthwise(convs[i]) || !ReadsRows(convs[i])) return -1;
    window = static_cast<int>(i);
  }
  return window;
}

// ---- Bands ----

ChainBands::ChainBands(std::span<const ConvShape> convs, size_t window, int slices, int64_t bytes) {
  const ConvShape& s = convs[window];
  const RowBytes of(convs, window);
  const int64_t image = s.ih * of.read + s.oh * of.made;
  const bool even = s.n % slices == 0 || s.n >= 8 * slices;
  if (image <= bytes && even) {
    CutImages(s, bytes / std::max<int64_t>(1, image), slices);
    return;
  }
  const int64_t reach = std::max<int64_t>(0, (s.kh - 1) * s.dh + 1 - s.sh) * of.read;
  const int64_t row = std::max<int64_t>(1, s.sh * of.read + of.made);
  const int64_t rows = std::max<int64_t>(1, (bytes - reach) / row);
  int64_t bands = CeilDiv(s.oh, std::min(rows, s.oh));
  if (!even) bands = std::min(RoundUp(bands, slices), s.oh);
  CutRows(s, bands, slices);
}

void ChainBands::CutImages(const ConvShape& s, int64_t at_once, int slices) {
  for (int slice = 0; slice < slices; ++slice) {
    const Range own = PartOf(s.n, slices, slice);
    const int64_t parts = CeilDiv(own.size(), at_once);
    tasks_.emplace_back();
    for (int64_t part = 0; part < parts; ++part) {
      const Range images = PartOf(own.size(), parts, part);
      Add({.image = own.begin + images.begin},
          {.images = images.size(),
           .fresh = s.ih,
           .rows = s.oh,
           .top = s.pad_top,
           .bottom = s.pad_bottom},
          &tasks_.back());
    }
  }
}

void ChainBands::CutRows(const ConvShape& s, int64_t bands, int slices) {
  for (int slice = 0; slice < slices; ++slice) {
    const Range own = PartOf(s.n * bands, slices, slice);
    tasks_.emplace_back();
    Source before{};
    for (int64_t i = own.begin; i < own.end; ++i) {
      const Range rows = PartOf(s.oh, bands, i % bands);
      const Source source = SourceOf(s, rows);
      const bool follows = i > own.begin && i % bands != 0;
      const int64_t kept = follows ? std::max<int64_t>(0, before.rows.end - source.rows.begin) : 0;
      Add({.image = i / bands,
           .row = rows.begin,
           .source = source.rows.begin,
           .overlap = source.rows.begin - before.rows.begin},
          {.images = 1,
           .kept = kept,
           .fresh = source.rows.size() - kept,
           .rows = rows.size(),
           .top = source.top,
           .bottom = source.bottom},
          &tasks_.back());
      before = source;
    }
  }
}

void ChainBands::Add(const Band& band, const Kind& kind, std::vector<Band>* to) {
  const auto known = std::find(kinds_.begin(), kinds_.end(), kind);
  to->push_back(band);
  to->back().kind = static_cast<size_t>(known - kinds_.begin());
  if (known == kinds_.end()) kinds_.push_back(kind);
}

int64_t ChainBands::count() const {
  int64_t count = 0;
  for (const auto& task : tasks_) count += static_cast<int64_t>(task.size());
  return count;
}

int64_t ChainBands::fresh_rows() const {
  int64_t rows = 0;
  for (const auto& task : tasks_) {
    for (const Band& band : task) rows += kinds_[band.kind].images * kinds_[band.kind].fresh;
  }
  return rows;
}

int64_t ChainBands::kept_rows() const {
  int64_t rows = 0;
  for (const auto& task : tasks_) {
    for (const Band& band : task) rows += kinds_[band.kind].kept;
  }
  return rows;
}

// ---- The chain ----

ConvShape BandShape(std::span<const ConvShape> convs, size_t window, size_t member,
                    const ChainBands::Kind& kind) {
  ConvShape s = convs[member];
  s.n = kind.images;
  s.ih = s.oh = member < window ? kind.fresh : kind.rows;
  if (member != window) return s;
  s.ih = kind.read();
  s.pad_top = kind.top;
  s.pad_bottom = kind.bottom;
  return s;
}

ConvChain::ConvChain(std::vector<ConvShape> convs, const Maker& make, int slices, int64_t bytes)
    : convs_(std::move(convs)),
      window_(static_cast<size_t>(ChainWindow(convs_))),
      bands_(convs_, window_, slices, bytes),
      buffers_(convs_.size(), 0) {
  std::vector<int64_t> sizes(convs_.size(), 0);
  for (const ChainBands::Kind& kind : bands_.kinds()) {
    auto& members = kinds_.emplace_back();
    for (size_t i = 0; i < convs_.size(); ++i) {
      const ConvShape shape = BandShape(convs_, window_, i, kind);
      // All that a window reads may be left from the band before.
      members.push_back(shape.oh == 0 ? nullptr : make(i, shape));
      if (shape.oh > 0) conv_scratch_ = std::max(conv_scratch_, members.back()->scratch_bytes());
      const int64_t rows = i + 1 == window_ ? kind.read() : shape.oh;
      sizes[i] = std::max(sizes[i], kind.images * rows * shape.ow * shape.oc);
    }
  }
  conv_scratch_ = static_cast<size_t>(RoundUp(static_cast<int64_t>(conv_scratch_), 64));
  for (size_t i = 0; i + 1 < convs_.size(); ++i) {
    buffers_[i] = buffers_elements_;
    buffers_elements_ += static_cast<size_t>(RoundUp(sizes[i], kLine));
  }
}

void ConvChain::Run(const Lease& threads, std::span<const ConvImageMemory<float>> members,
                    void* scratch) const {
  const auto& tasks = bands_.tasks();
  threads.ParallelFor(static_cast<int>(tasks.size()), [&](int task) {
    const auto index = static_cast<size_t>(task);
    char* const own = static_cast<char*>(scratch) + index * TaskBytes();
    for (const ChainBands::Band& band : tasks[index]) {
      RunBand(band, members, reinterpret_cast<float*>(own + conv_scratch_), own);
    }
  });
}

void ConvChain::RunBand(const ChainBands::Band& band,
                        std::span<const ConvImageMemory<float>> members, float* buffers,
                        void* scratch) const {
  const ChainBands::Kind& kind = bands_.kinds()[band.kind];
  const ConvShape& window = convs_[window_];
  if (kind.kept > 0 && window_ > 0) {
    float* const image = buffers + buffers_[window_ - 1];
    const int64_t row = window.iw * window.ic;
    std::memmove(image, image + band.overlap * row,
                 static_cast<size_t>(kind.kept * row) * sizeof(float));
  }
  const float* from = nullptr;
  for (size_t i = 0; i < convs_.size(); ++i) {
    const ConvShape& s = convs_[i];
    // The first pixel that is read, and the first one that is made, of all images.
    const int64_t source = band.source + (i < window_ ? kind.kept : 0);
    const int64_t read = (band.image * s.ih + (i <= window_ ? source : band.row)) * s.iw;
    const int64_t made = (band.image * s.oh + (i < window_ ? source : band.row)) * s.ow;
    ConvImageMemory<float> memory = members[i];
    memory.image = i == 0 ? memory.image + read * s.ic : from;
    MoveTo(&memory.epilogue, 0, made * s.oc);
    float* const kept = buffers + buffers_[i];
    if (i + 1 == convs_.size()) {
      memory.result += made * s.oc;
    } else {
      memory.result = kept + (i + 1 == window_ ? kind.kept * s.ow * s.oc : 0);
    }
    if (const auto& conv = kinds_[band.kind][i]) conv->Run(memory, scratch);
    from = kept;
  }
}

}  // namespace hr::cpu
