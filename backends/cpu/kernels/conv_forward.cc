#include "backends/cpu/kernels/conv_batch_blocked.h"
#include "backends/cpu/kernels/conv_kernels.h"

namespace hr::cpu {
namespace {

// Convolved rows on their way into pooling live in a buffer this large on the stack.
constexpr int64_t kMaxPoolRows = 4;
constexpr int64_t kSegment = 16;

template <typename T>
class ForwardPass {
 public:
  ForwardPass(const ConvShape& shape, const ConvFusion& fusion, const ConvForwardArgs<T>& args)
      : s_(shape), fusion_(fusion), args_(args) {}

  // A unit is one row of one tile of output channels. Tiles come before rows: the input rows they
  // share stay in the cache.
  int64_t Units() const {
    return BatchBlocks<T>(s_.n) * s_.groups * fusion_.OutputRows(s_) * TilesPerGroup();
  }

  void Run(int64_t unit) const {
    const int64_t tiles = TilesPerGroup(), rows = fusion_.OutputRows(s_);
    const int64_t row = unit / tiles % rows;
    const int64_t group = unit / (tiles * rows) % s_.groups;
    const int64_t block = unit / (tiles * rows * s_.groups);
    const Range outputs = PartOf(s_.GroupOut(), tiles, unit % tiles);
    const int64_t first = group * s_.GroupOut() + outputs.begin;
    const Tile tile{args_.x + (block * s_.ic + group * s_.GroupIn()) * s_.InputPlane() * kB, first,
                    static_cast<int>(outputs.size())};
    const int64_t columns = fusion_.OutputColumns(s_), plane = rows * columns * kB;
    const int64_t out = (block * s_.oc + first) * plane + row * columns * kB;
    if (fusion_.Pools()) {
      PooledRow(tile, row, out);
    } else {
      ComputeRow(tile, row, {0, s_.ow}, args_.y + out, plane, fusion_.relu);
    }
    if (const int64_t images = s_.n - block * kB; images < kB && args_.bias != nullptr) {
      for (int o = 0; o < tile.outputs; ++o) ZeroLanes(images, columns, args_.y + out + o * plane);
    }
  }

 private:
  static constexpr int64_t kB = kBatchBlock<T>;

  struct Tile {
    const T* x;  // the group's first channel
    int64_t first;
    int outputs;
  };

  int64_t TilesPerGroup() const { return CeilDiv(s_.GroupOut(), kernels_.forward_outputs); }

  void ComputeRow(const Tile& tile, int64_t oh, Range columns, T* to, int64_t to_output,
                  bool relu) const {
    const Range rows = ValidRows(s_, oh);
    ForEachColumnRun(s_, columns, [&](Range run, Range taps) {
      const int64_t ih = oh * s_.sh - s_.pad_top + rows.begin * s_.dh;
      const int64_t iw = run.begin * s_.sw - s_.pad_left + taps.begin * s_.dw;
      ForwardCall<T> call{};
      call.x = tile.x + (ih * s_.iw + iw) * kB;
      call.x_channel = s_.InputPlane() * kB;
      call.x_row = s_.dh * s_.iw * kB;
      call.x_tap = s_.dw * kB;
      call.x_column = s_.sw * kB;
      call.rows = rows.size();
      call.taps = taps.size();
      call.w = args_.w + tile.first * s_.Taps() + rows.begin * s_.kw + taps.begin;
      call.w_output = s_.Taps();
      call.w_channel = s_.kh * s_.kw;
      call.w_row = s_.kw;
      call.y = to + (run.begin - columns.begin) * kB;
      call.y_output = to_output;
      Channels(tile, call, run.size(), relu);
    });
  }

  void Channels(const Tile& tile, ForwardCall<T>& call, int64_t columns, bool relu) const {
    const T* const x = call.x;
    T* const y = call.y;
    call.bias = args_.bias != nullptr ? args_.bias + tile.first : nullptr;
    const int64_t chain = ChannelsOfPart(call.rows * call.taps);
    for (int64_t left = s_.GroupIn();; left -= chain) {
      call.channels = std::min(left, chain);
      call.relu = relu && left <= chain;
      call.x = x + (s_.GroupIn() - left) * call.x_channel;
      call.y = y;
      ForwardColumns(kernels_, tile.outputs, call, columns);
      if (left <= chain) return;
      call.w += chain * call.w_channel;
      call.bias = nullptr;
      call.add = true;
    }
  }

  void PooledRow(const Tile& tile, int64_t ph, int64_t out) const {
    const int64_t columns = fusion_.OutputColumns(s_);
    const int64_t step = kSegment / fusion_.pool_w;
    for (int64_t pw = 0; pw < columns; pw += step) {
      PooledSegment(tile, ph, {pw, std::min(columns, pw + step)}, out + pw * kB);
    }
  }

  void PooledSegment(const Tile& tile, int64_t ph, Range segment, int64_t out) const {
    alignas(64) T rows[kMaxPoolRows * ConvKernels<T>::kMaxOutputs * kSegment * kB];
    const int64_t row = tile.outputs * kSegment * kB;
    const Range columns{segment.begin * fusion_.pool_w, segment.end * fusion_.pool_w};
    for (int64_t r = 0; r < fusion_.pool_h; ++r) {
      ComputeRow(tile, ph * fusion_.pool_h + r, columns, rows + r * row, kSegment * kB, false);
    }
    PoolCall<T> call{};
    call.x_row = row;
    call.x_tap = kB;
    call.x_column = fusion_.pool_w * kB;
    call.rows = fusion_.pool_h;
    call.taps = call.index_row = fusion_.pool_w;
    call.columns = segment.size();
    call.relu = fusion_.relu;
    const int64_t plane = fusion_.OutputRows(s_) * fusion_.OutputColumns(s_) * kB;
    for (int o = 0; o < tile.outputs; ++o) {
      call.x = rows + o * kSegment * kB;
      call.y = args_.y + out + o * plane;
      call.argmax = args_.argmax != nullptr ? args_.argmax + out + o * plane : nullptr;
      kernels_.max_pool(call);
    }
  }

  const ConvKernels<T>& kernels_ = KernelsForConv<T>();
  const ConvShape& s_;
  const ConvFusion& fusion_;
  const ConvForwardArgs<T>& args_;
};

}  // namespace

bool CanFuseMaxPool(const PoolShape& p) {
  const bool padded = p.pad_top + p.pad_left + p.pad_bottom + p.pad_right > 0;
  const bool dense = p.dh == 1 && p.dw == 1 && p.sh == p.kh && p.sw == p.kw;
  const bool single = p.kh * p.kw == 1;  // a copy, which ConvFusion takes for no pool
  return !padded && dense && !single && p.kh <= kMaxPoolRows && p.kw <= kSegment &&
         p.oh == p.ih / p.kh && p.ow == p.iw / p.kw;
}

template <typename T>
void ConvForward(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                 const ConvForwardArgs<T>& args, int slices) {
  const ForwardPass<T> pass(shape, fusion, args);
  threads.ParallelFor(slices, [&](int slice) {
    const Range units = PartOf(pass.Units(), slices, slice);
    for (int64_t unit = units.begin; unit < units.end; ++unit) pass.Run(unit);
  });
}

template void ConvForward(const Lease&, const ConvShape&, const ConvFusion&,
                          const ConvForwardArgs<float>&, int);
template void ConvForward(const Lease&, const ConvShape&, const ConvFusion&,
                          const ConvForwardArgs<double>&, int);

}  // namespace hr::cpu
