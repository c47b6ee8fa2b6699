#include <numeric>

#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_method.h"
#include "backends/cpu/kernels/winograd_tiles.h"

namespace hr::cpu {
namespace {

constexpr int64_t kB = kBatchBlock<float>;

class ForwardPass {
 public:
  ForwardPass(const ConvShape& shape, const ConvFusion& fusion, int slices)
      : s_(shape), fusion_(fusion), grid_(s_), bank_(s_, WinogradFilterBank::Order::kOutputsFirst) {
    // Chunks of tile rows hold whole pooling windows.
    const int64_t whole = fusion_.pool_h / std::gcd(fusion_.pool_h, grid_.row_outputs);
    const int64_t most = CeilDiv(grid_.rows, CeilDiv(slices, BatchBlocks<float>(s_.n)));
    chunk_rows_ = std::max(grid_.RowsAtOnce(s_.ic, most) / whole, int64_t{1}) * whole;
    chunks_ = CeilDiv(grid_.rows, chunk_rows_);
  }

  const WinogradFilterBank& bank() const { return bank_; }
  int64_t Units() const { return BatchBlocks<float>(s_.n) * chunks_; }
  int64_t TaskElements() const {
    return kB * (Frequencies() + Products() + Sums() + grid_.x_columns + grid_.y_columns);
  }

  void Run(int64_t unit, const ConvForwardArgs<float>& args, const float* filters,
           float* scratch) const {
    const int64_t begin = unit % chunks_ * chunk_rows_;
    Chunk chunk{.block = unit / chunks_,
                .rows = {begin, std::min(grid_.rows, begin + chunk_rows_)}};
    chunk.frequencies = scratch;
    chunk.products = chunk.frequencies + Frequencies() * kB;
    chunk.sums = chunk.products + Products() * kB;
    chunk.row = chunk.sums + Sums() * kB;
    chunk.line = chunk.row + grid_.x_columns * kB;
    Begin(chunk, args.bias);
    for (int i = 0; i < grid_.row_axis.tile; ++i) {
      Transform(chunk, i, args.x + chunk.block * s_.ic * s_.InputPlane() * kB);
      const int64_t groups = CeilDiv(s_.oc, conv_.forward_outputs);
      for (int64_t group = 0; group < groups; ++group) {
        const Range outputs = PartOf(s_.oc, groups, group);
        bank_.Multiply(filters, i, outputs, chunk.frequencies, Tiles(chunk), chunk.products);
        Collect(chunk, i, outputs);
      }
    }
    for (int64_t o = 0; o < s_.oc; ++o) Finish(chunk, o, args);
  }

 private:
  struct Chunk {
    int64_t block;
    Range rows;          // of tiles
    float* frequencies;  // [column tile][ic][tiles]
    float* products;     // [column tile][outputs of a group][tiles]
    float* sums;         // [oc][chunk_rows_ * row_outputs][y_columns]
    float* row;          // [x_columns], zero outside of the image
    float* line;         // [y_columns]
  };

  // Sizes in pixels.
  int64_t Frequencies() const {
    return grid_.column_axis.tile * s_.ic * chunk_rows_ * grid_.columns;
  }
  int64_t Products() const {
    return grid_.column_axis.tile * conv_.forward_outputs * chunk_rows_ * grid_.columns;
  }
  int64_t SumsOfOutput() const { return chunk_rows_ * grid_.row_outputs * grid_.y_columns; }
  int64_t Sums() const { return s_.oc * SumsOfOutput(); }
  int64_t Tiles(const Chunk& chunk) const { return chunk.rows.size() * grid_.columns; }

  void Begin(const Chunk& chunk, const float* bias) const {
    for (int64_t o = 0; o < s_.oc; ++o) {
      std::fill_n(chunk.sums + o * SumsOfOutput() * kB, SumsOfOutput() * kB,
                  bias != nullptr ? bias[o] : 0.0F);
    }
    std::fill_n(chunk.row, grid_.x_columns * kB, 0.0F);
  }

  void Transform(const Chunk& chunk, int i, const float* x) const {
    const WinogradTiles tiles{grid_.columns, grid_.column_outputs, s_.ic * Tiles(chunk) * kB};
    float* to = chunk.frequencies;
    for (int64_t c = 0; c < s_.ic; ++c) {
      for (int64_t row = chunk.rows.begin; row < chunk.rows.end; ++row, to += grid_.columns * kB) {
        kernels_.combine(grid_.InputRows(x + c * s_.InputPlane() * kB, row, i), grid_.inside.size(),
                         chunk.row + grid_.inside.begin * kB);
        row_.input(tiles, chunk.row, to);
      }
    }
  }

  void Collect(const Chunk& chunk, int i, Range outputs) const {
    const WinogradTiles tiles{grid_.columns, grid_.column_outputs,
                              outputs.size() * Tiles(chunk) * kB};
    const int64_t first = chunk.rows.begin * grid_.row_outputs;
    const float* from = chunk.products;
    for (int64_t o = outputs.begin; o < outputs.end; ++o) {
      const float* sums = chunk.sums + o * SumsOfOutput() * kB;
      for (int64_t row = chunk.rows.begin; row < chunk.rows.end; ++row) {
        row_.output(tiles, from, chunk.line);
        kernels_.spread(chunk.line, grid_.y_columns,
                        grid_.OutputRows(sums, first, s_.oh, grid_.y_columns, row, i));
        from += grid_.columns * kB;
      }
    }
  }

  // ReLU, pooling, and the edges cut off.
  void Finish(const Chunk& chunk, int64_t o, const ConvForwardArgs<float>& args) const {
    const int64_t columns = fusion_.OutputColumns(s_);
    const int64_t outputs = chunk_rows_ * grid_.row_outputs / fusion_.pool_h;
    const int64_t first = chunk.rows.begin * grid_.row_outputs / fusion_.pool_h;
    const int64_t end = std::min(fusion_.OutputRows(s_), first + outputs);
    const float* from = chunk.sums + o * SumsOfOutput() * kB;
    const int64_t images = s_.n - chunk.block * kB;
    for (int64_t row = first; row < end; ++row) {
      const int64_t at =
          (((chunk.block * s_.oc + o) * fusion_.OutputRows(s_)) + row) * columns * kB;
      FinishRow(from + (row - first) * fusion_.pool_h * grid_.y_columns * kB, columns, at, args);
      if (images < kB && args.bias != nullptr) ZeroLanes(images, columns, args.y + at);
    }
  }

  void FinishRow(const float* from, int64_t columns, int64_t at,
                 const ConvForwardArgs<float>& args) const {
    if (!fusion_.Pools()) return kernels_.copy(from, columns, fusion_.relu, args.y + at);
    PoolCall<float> call{};
    call.x = from;
    call.x_row = grid_.y_columns * kB;
    call.x_tap = kB;
    call.x_column = fusion_.pool_w * kB;
    call.rows = fusion_.pool_h;
    call.taps = call.index_row = fusion_.pool_w;
    call.columns = columns;
    call.relu = fusion_.relu;
    call.y = args.y + at;
    call.argmax = args.argmax != nullptr ? args.argmax + at : nullptr;
    conv_.max_pool(call);
  }

  const ConvKernels<float>& conv_ = KernelsForConv<float>();
  const WinogradKernels& kernels_ = KernelsForWinograd();
  const ConvShape& s_;
  const WinogradRowKernels& row_ = kernels_.row[s_.kw];
  const ConvFusion& fusion_;
  const WinogradGrid grid_;
  const WinogradFilterBank bank_;
  int64_t chunk_rows_, chunks_;
};

}  // namespace

bool WinogradTakes(const ConvShape& s) {
  const auto takes = [](int64_t kernel) {
    return kernel >= kWinogradMinKernel && kernel <= kWinogradMaxKernel;
  };
  return s.sh == 1 && s.sw == 1 && s.dh == 1 && s.dw == 1 && s.groups == 1 && takes(s.kh) &&
         takes(s.kw) && s.oh > 0 && s.ow > 0;
}

bool WinogradIsAccurate(const ConvShape& s) {
  if (!WinogradTakes(s)) return false;
  // Sums of few products have small errors, which large tiles would multiply.
  constexpr int64_t kLeastChannels = 16;
  return !WinogradHasEightPixels(s) || std::min(s.ic, s.oc) >= kLeastChannels;
}

bool WinogradPays(const ConvShape& s) {
  if (!WinogradIsAccurate(s) || !WinogradFillsWeightSums(s)) return false;
  // In multiplications of a pixel; a transform costs about this many for each frequency.
  constexpr double kTransform = 12;
  const WinogradGrid grid(s);
  const double frequencies =
      double(grid.row_axis.tile * grid.column_axis.tile * grid.rows * grid.columns);
  const double products = double(s.ic) * double(s.oc);
  const double winograd = frequencies * (1.2 * products + kTransform * double(s.ic + s.oc));
  return winograd < 0.8 * double(s.kh * s.kw * s.oh * s.ow) * products;
}

size_t WinogradForwardScratchBytes(const ConvShape& shape, const ConvFusion& fusion, int slices) {
  const ForwardPass pass(shape, fusion, slices);
  return (pass.bank().Elements() + slices * pass.TaskElements()) * sizeof(float);
}

void WinogradForward(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                     const ConvForwardArgs<float>& args, int slices, void* scratch) {
  const ForwardPass pass(shape, fusion, slices);
  auto* const filters = static_cast<float*>(scratch);
  float* const tasks = filters + pass.bank().Elements();
  pass.bank().Transform(threads, args.w, slices, filters);
  threads.ParallelFor(slices, [&](int slice) {
    const Range units = PartOf(pass.Units(), slices, slice);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      pass.Run(unit, args, filters, tasks + slice * pass.TaskElements());
    }
  });
}

}  // namespace hr::cpu
