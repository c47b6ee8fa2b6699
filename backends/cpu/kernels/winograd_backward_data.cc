#include "backends/cpu/kernels/conv_gradient.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_tiles.h"

namespace hr::cpu {
namespace {

constexpr int64_t kB = kBatchBlock<float>;

// The transposed algorithm: dx = B (U^T (A dy A^T)) B^T, overlapping tiles added. A unit is some
// input channels of one block.
class DataPass {
 public:
  DataPass(const ConvShape& shape, const ConvFusion& fusion, const ConvGradient<float>& gradient,
           int slices)
      : s_(shape),
        fusion_(fusion),
        source_(shape, fusion, gradient),
        grid_(s_),
        bank_(s_, WinogradFilterBank::Order::kInputsFirst) {
    const int64_t most = CeilDiv(s_.ic, conv_.forward_outputs);
    parts_ = std::min(most, CeilDiv(slices, BatchBlocks<float>(s_.n)));
    chunk_rows_ = grid_.RowsAtOnce(s_.oc, grid_.rows);
  }

  const WinogradFilterBank& bank() const { return bank_; }
  int64_t Units() const { return BatchBlocks<float>(s_.n) * parts_; }
  int64_t TaskElements() const {
    return Expanded() + kB * (Frequencies() + Products() + grid_.y_columns + grid_.x_columns);
  }

  void Run(int64_t unit, const float* filters, float* dx, float* scratch) const {
    const Task task = MakeTask(unit, dx, scratch);
    std::fill_n(task.dx, task.channels.size() * s_.InputPlane() * kB, 0.0F);
    std::fill_n(task.line, grid_.y_columns * kB, 0.0F);
    for (int64_t row = 0; row < grid_.rows; row += chunk_rows_) {
      const Range rows{row, std::min(grid_.rows, row + chunk_rows_)};
      const Range outputs{row * grid_.row_outputs, std::min(s_.oh, rows.end * grid_.row_outputs)};
      const auto gradient = source_.Rows(task.block, {0, s_.oc}, outputs, task.expanded, nullptr);
      for (int i = 0; i < grid_.row_axis.tile; ++i) {
        Transform(task, rows, i, gradient);
        Products(task, rows, i, filters);
      }
    }
  }

 private:
  struct Task {
    int64_t block;
    Range channels;
    float* dx;           // of the first channel
    float* expanded;     // gradient before what was fused
    float* frequencies;  // [column tile][oc][tiles]
    float* products;     // [column tile][channels of a group][tiles]
    float* line;         // [y_columns], zero outside of the output
    float* row;          // [x_columns]
  };

  Task MakeTask(int64_t unit, float* dx, float* scratch) const {
    Task task{.block = unit / parts_, .channels = PartOf(s_.ic, parts_, unit % parts_)};
    task.dx = dx + (task.block * s_.ic + task.channels.begin) * s_.InputPlane() * kB;
    task.expanded = scratch;
    task.frequencies = task.expanded + Expanded();
    task.products = task.frequencies + Frequencies() * kB;
    task.line = task.products + Products() * kB;
    task.row = task.line + grid_.y_columns * kB;
    return task;
  }

  int64_t Expanded() const {
    const int64_t rows = std::min(s_.oh, chunk_rows_ * grid_.row_outputs);
    return s_.oc * GradientSource<float>::BufferElements(s_, fusion_, rows);
  }
  // Sizes in pixels.
  int64_t Frequencies() const {
    return grid_.column_axis.tile * s_.oc * chunk_rows_ * grid_.columns;
  }
  int64_t Products() const {
    return grid_.column_axis.tile * conv_.forward_outputs * chunk_rows_ * grid_.columns;
  }

  void Transform(const Task& task, Range rows, int i, const GradientRows<float>& gradient) const {
    const int64_t count = rows.size() * grid_.columns;
    const WinogradTiles tiles{grid_.columns, grid_.column_outputs, s_.oc * count * kB};
    float* to = task.frequencies;
    for (int64_t o = 0; o < s_.oc; ++o) {
      const float* dy = gradient.data + o * gradient.channel;
      for (int64_t row = rows.begin; row < rows.end; ++row, to += grid_.columns * kB) {
        kernels_.combine(grid_.OutputRows(dy, gradient.first_row, s_.oh, s_.ow, row, i), s_.ow,
                         task.line);
        row_.output_gradient(tiles, task.line, to);
      }
    }
  }

  void Products(const Task& task, Range rows, int i, const float* filters) const {
    const int64_t groups = CeilDiv(task.channels.size(), conv_.forward_outputs);
    for (int64_t group = 0; group < groups; ++group) {
      const Range part = PartOf(task.channels.size(), groups, group);
      const Range channels{task.channels.begin + part.begin, task.channels.begin + part.end};
      bank_.Multiply(filters, i, channels, task.frequencies, rows.size() * grid_.columns,
                     task.products);
      Collect(task, rows, i, part);
    }
  }

  void Collect(const Task& task, Range rows, int i, Range channels) const {
    const int64_t count = rows.size() * grid_.columns;
    const WinogradTiles tiles{grid_.columns, grid_.column_outputs, channels.size() * count * kB};
    const float* from = task.products;
    for (int64_t c = channels.begin; c < channels.end; ++c) {
      const float* dx = task.dx + c * s_.InputPlane() * kB;
      for (int64_t row = rows.begin; row < rows.end; ++row, from += grid_.columns * kB) {
        std::fill_n(task.row, grid_.x_columns * kB, 0.0F);
        row_.input_gradient(tiles, from, task.row);
        kernels_.spread(task.row + grid_.inside.begin * kB, grid_.inside.size(),
                        grid_.InputRows(dx, row, i));
      }
    }
  }

  const ConvKernels<float>& conv_ = KernelsForConv<float>();
  const WinogradKernels& kernels_ = KernelsForWinograd();
  const ConvShape& s_;
  const WinogradRowKernels& row_ = kernels_.row[s_.kw];
  const ConvFusion& fusion_;
  const GradientSource<float> source_;
  const WinogradGrid grid_;
  const WinogradFilterBank bank_;
  int64_t parts_, chunk_rows_;
};

}  // namespace

size_t WinogradBackwardDataScratchBytes(const ConvShape& shape, const ConvFusion& fusion,
                                        int slices) {
  const ConvGradient<float> none;
  const DataPass pass(shape, fusion, none, slices);
  return (pass.bank().Elements() + slices * pass.TaskElements()) * sizeof(float);
}

void WinogradBackwardData(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                          const ConvGradient<float>& gradient, const float* w, float* dx,
                          int slices, void* scratch) {
  const DataPass pass(shape, fusion, gradient, slices);
  auto* const filters = static_cast<float*>(scratch);
  float* const tasks = filters + pass.bank().Elements();
  pass.bank().Transform(threads, w, slices, filters);
  threads.ParallelFor(slices, [&](int slice) {
    const Range units = PartOf(pass.Units(), slices, slice);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      pass.Run(unit, filters, dx, tasks + slice * pass.TaskElements());
    }
  });
}

}  // namespace hr::cpu
