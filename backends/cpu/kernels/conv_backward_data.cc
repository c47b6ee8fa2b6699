#include <numeric>

#include "backends/cpu/kernels/conv_gradient.h"

namespace hr::cpu {
namespace {

// Expanded gradients that a chunk of rows needs should stay in the L2 cache.
constexpr int64_t kExpandedBytes = 256 << 10;

// dx is made in chunks of rows of a block; a unit of work is one chunk.
template <typename T>
struct DataPlan {
  int64_t chunk_rows, chunks, expanded, row;

  DataPlan(const ConvShape& s, const ConvFusion& fusion, int slices) {
    const int64_t blocks = BatchBlocks<T>(s.n);
    chunk_rows = CeilDiv(s.ih, std::min(s.ih, CeilDiv(slices, blocks)));
    while (chunk_rows > 1 && Expanded(s, fusion) * int64_t{sizeof(T)} > kExpandedBytes) {
      chunk_rows = CeilDiv(chunk_rows, 2);
    }
    chunks = CeilDiv(s.ih, chunk_rows);
    expanded = Expanded(s, fusion);
    row = ConvKernels<T>::kMaxChannels * ReachedColumns(s) * kBatchBlock<T>;
  }

  // Columns that the gradient of a row reaches, padding included.
  static int64_t ReachedColumns(const ConvShape& s) {
    return (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1;
  }
  // Gradient rows that reach dx rows.
  static Range Reaching(const ConvShape& s, Range rows) {
    const int64_t first = rows.begin + s.pad_top - (s.kh - 1) * s.dh;
    const int64_t last = rows.end - 1 + s.pad_top;
    const Range reach{first > 0 ? CeilDiv(first, s.sh) : 0, std::min(s.oh, last / s.sh + 1)};
    return {std::min(reach.begin, reach.end), reach.end};
  }
  int64_t Expanded(const ConvShape& s, const ConvFusion& fusion) const {
    const int64_t rows = std::min(s.oh, (chunk_rows - 1 + (s.kh - 1) * s.dh) / s.sh + 1);
    return s.oc * GradientSource<T>::BufferElements(s, fusion, rows);
  }
  int64_t TaskElements() const { return expanded + row; }
};

template <typename T>
class DataPass {
 public:
  DataPass(const ConvShape& shape, const ConvFusion& fusion, const ConvGradient<T>& gradient,
           const T* w, T* dx, int slices)
      : plan_(shape, fusion, slices), s_(shape), source_(shape, fusion, gradient), w_(w), dx_(dx) {}

  const DataPlan<T>& plan() const { return plan_; }
  int64_t Units() const { return BatchBlocks<T>(s_.n) * plan_.chunks; }

  void Run(int64_t unit, T* scratch) const {
    const int64_t block = unit / plan_.chunks;
    const int64_t begin = unit % plan_.chunks * plan_.chunk_rows;
    const Range rows{begin, std::min(s_.ih, begin + plan_.chunk_rows)};
    const GradientRows<T> gradient =
        source_.Rows(block, {0, s_.oc}, plan_.Reaching(s_, rows), scratch, nullptr);
    const int64_t tiles = CeilDiv(s_.GroupIn(), kernels_.data_channels[WidestTaps()]);
    // Tiles come before rows: the gradient rows they share stay in the cache.
    for (int64_t ih = rows.begin; ih < rows.end; ++ih) {
      for (int64_t tile = 0; tile < s_.groups * tiles; ++tile) {
        const Range channels = PartOf(s_.GroupIn(), tiles, tile % tiles);
        ComputeRow({block, tile / tiles, channels, ih}, gradient, scratch + plan_.expanded);
      }
    }
  }

 private:
  static constexpr int64_t kB = kBatchBlock<T>;

  struct Place {
    int64_t block, group;
    Range channels;  // in the group
    int64_t ih;
  };

  // Index of the number of taps that the tiles of this kernel begin with. Adjacent taps share a
  // tile where they reach adjacent columns.
  int WidestTaps() const {
    if (s_.sw != 1 || s_.dw != 1) return 2;
    return s_.kw >= 5 ? 0 : s_.kw >= 3 ? 1 : 2;
  }

  // One row of dx. Where padding cuts columns off, sums are kept in `buffer`, that has them all.
  void ComputeRow(const Place& at, const GradientRows<T>& gradient, T* buffer) const {
    const int64_t span = plan_.ReachedColumns(s_);
    const int64_t channel = (at.block * s_.ic + at.group * s_.GroupIn() + at.channels.begin);
    T* dx = dx_ + (channel * s_.ih + at.ih) * s_.iw * kB;
    const int64_t plane = s_.InputPlane() * kB;
    const bool direct = s_.pad_left == 0 && span <= s_.iw;
    const int64_t count = (direct ? s_.iw : span) * kB;
    T* sums = direct ? dx : buffer;
    const int64_t sums_channel = direct ? plane : span * kB;
    for (int64_t c = 0; c < at.channels.size(); ++c)
      std::fill_n(sums + c * sums_channel, count, T{0});
    AddGradientRows(at, gradient, sums, sums_channel);
    if (direct) return;
    for (int64_t c = 0; c < at.channels.size(); ++c) {
      CopyColumns(buffer + c * sums_channel, span, dx + c * plane);
    }
  }

  void CopyColumns(const T* from, int64_t span, T* to) const {
    const int64_t exist = std::clamp<int64_t>(span - s_.pad_left, 0, s_.iw);
    std::copy_n(from + s_.pad_left * kB, exist * kB, to);
    std::fill_n(to + exist * kB, (s_.iw - exist) * kB, T{0});
  }

  void AddGradientRows(const Place& at, const GradientRows<T>& gradient, T* sums,
                       int64_t sums_channel) const {
    // The rows r of the kernel that reach this row are `step` apart.
    const int64_t step = s_.sh / std::gcd(s_.sh, s_.dh);
    int64_t first = -1, count = 0, oh = 0;
    for (int64_t r = 0; r < s_.kh; ++r) {
      const int64_t from = at.ih + s_.pad_top - r * s_.dh;
      if (from < 0 || from % s_.sh != 0 || from / s_.sh >= s_.oh) continue;
      if (count++ == 0) first = r, oh = from / s_.sh;
    }
    if (count == 0) return;
    DataCall<T> call{};
    call.dy = gradient.Row(oh, s_.ow) + at.group * s_.GroupOut() * gradient.channel;
    call.dy_output = gradient.channel;
    call.dy_row = -(step * s_.dh / s_.sh) * s_.ow * kB;
    call.rows = count;
    call.w = w_ + (at.group * s_.GroupOut() * s_.GroupIn() + at.channels.begin) * s_.kh * s_.kw +
             first * s_.kw;
    call.w_output = s_.Taps();
    call.w_row = step * s_.kw;
    call.w_channel = s_.kh * s_.kw;
    call.dx = sums;
    call.dx_channel = sums_channel;
    call.dx_column = s_.sw * kB;
    const int64_t taps = ConvKernels<T>::kTaps[WidestTaps()];
    const int64_t chains = CeilDiv(s_.GroupOut(), ChannelsOfPart(count * taps));
    for (int64_t chain = 0; chain < chains; ++chain) {
      const Range outputs = PartOf(s_.GroupOut(), chains, chain);
      call.outputs = outputs.size();
      AddTaps(static_cast<int>(at.channels.size()), call);
      call.dy += outputs.size() * call.dy_output;
      call.w += outputs.size() * call.w_output;
    }
  }

  void AddTaps(int channels, DataCall<T> call) const {
    const T* w = call.w;
    T* dx = call.dx;
    int64_t s = 0;
    for (int taps = WidestTaps(); s < s_.kw; ++taps) {
      for (; s + ConvKernels<T>::kTaps[taps] <= s_.kw; s += ConvKernels<T>::kTaps[taps]) {
        call.w = w + s;
        call.dx = dx + s * s_.dw * kB;
        AddColumns(taps, channels, call);
      }
    }
  }

  void AddColumns(int taps, int channels, DataCall<T> call) const {
    int64_t columns = s_.ow;
    for (int width = 0; columns > 0; ++width) {
      const int64_t step = ConvKernels<T>::kWidths[width];
      for (; columns >= step; columns -= step) {
        kernels_.data[taps][channels - 1][width](call);
        call.dy += step * kB;
        call.dx += step * call.dx_column;
      }
    }
  }

  const ConvKernels<T>& kernels_ = KernelsForConv<T>();
  const DataPlan<T> plan_;
  const ConvShape& s_;
  const GradientSource<T> source_;
  const T* w_;
  T* dx_;
};

}  // namespace

template <typename T>
size_t ConvBackwardDataScratchBytes(const ConvShape& shape, const ConvFusion& fusion, int slices) {
  return slices * DataPlan<T>(shape, fusion, slices).TaskElements() * sizeof(T);
}

template <typename T>
void ConvBackwardData(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                      const ConvGradient<T>& gradient, const T* w, T* dx, int slices,
                      void* scratch) {
  const DataPass<T> pass(shape, fusion, gradient, w, dx, slices);
  threads.ParallelFor(slices, [&](int slice) {
    T* own = static_cast<T*>(scratch) + slice * pass.plan().TaskElements();
    const Range units = PartOf(pass.Units(), slices, slice);
    for (int64_t unit = units.begin; unit < units.end; ++unit) pass.Run(unit, own);
  });
}

#define HR_INSTANTIATE(T)                                                                    \
  template size_t ConvBackwardDataScratchBytes<T>(const ConvShape&, const ConvFusion&, int); \
  template void ConvBackwardData(const Lease&, const ConvShape&, const ConvFusion&,          \
                                 const ConvGradient<T>&, const T*, T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
