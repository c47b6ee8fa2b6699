#include "backends/cpu/kernels/conv_gradient.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_tiles.h"

namespace hr::cpu {
namespace {

constexpr int64_t kB = kBatchBlock<float>;
// Channels of either side whose sums a task keeps: more of them make the transforms cheaper, sums
// that leave the L2 cache make everything slower.
constexpr int64_t kTaskChannels = 32;

// dw = G^T (sum over tiles of (A dy A^T) . (B^T x B)) G. A task is some output and some input
// channels over a part of the batch.
class WeightsPass {
 public:
  WeightsPass(const ConvShape& shape, const ConvFusion& fusion, const ConvGradient<float>& gradient,
              int slices)
      : s_(shape), fusion_(fusion), source_(shape, fusion, gradient), grid_(s_) {
    input_chunks_ = CeilDiv(s_.ic, kTaskChannels);
    output_chunks_ = std::max(
        CeilDiv(s_.oc, kTaskChannels),
        std::min<int64_t>(CeilDiv(slices, input_chunks_), CeilDiv(s_.oc, conv_.weights_outputs)));
    parts_ = std::min(BatchBlocks<float>(s_.n), CeilDiv(slices, Units()));
    inputs_ = CeilDiv(s_.ic, input_chunks_);
    outputs_ = CeilDiv(s_.oc, output_chunks_);
    const int64_t rows = CeilDiv(BatchBlocks<float>(s_.n), parts_) * grid_.rows;
    group_rows_ = grid_.RowsAtOnce(std::max(inputs_, outputs_), rows);
  }

  int64_t parts() const { return parts_; }
  int64_t Units() const { return input_chunks_ * output_chunks_; }
  int64_t Weights() const { return s_.oc * s_.Taps(); }
  // dw and db of a part of the batch.
  int64_t PartElements() const { return parts_ > 1 ? RoundUp(Weights() + s_.oc, kB) : 0; }
  int64_t TaskElements() const {
    return kB * (grid_.column_axis.tile *
                     ((inputs_ + outputs_) * GroupTiles() + inputs_ * outputs_) +
                 grid_.x_columns + grid_.y_columns + 1) +
           (grid_.column_axis.tile + s_.kh * s_.kw) * PlaneElements() + ExpandedElements();
  }

  void Run(int64_t unit, int64_t part, const float* x, float* dw, float* db, float* scratch) const {
    const Task task = MakeTask(unit, part, scratch);
    std::fill_n(task.row, (grid_.x_columns + grid_.y_columns) * kB, 0.0F);
    std::fill_n(task.lanes, (grid_.column_axis.tile + s_.kh * s_.kw) * PlaneElements(), 0.0F);
    const int64_t sums = task.outputs.size() * task.inputs.size();
    for (int i = 0; i < grid_.row_axis.tile; ++i) {
      std::fill_n(task.sums, grid_.column_axis.tile * sums * kB, 0.0F);
      for (int64_t row = task.rows.begin; row < task.rows.end; row += group_rows_) {
        const Range rows{row, std::min(task.rows.end, row + group_rows_)};
        TransformInput(task, rows, i, x);
        TransformGradient(task, rows, i);
        Products(task, rows.size() * grid_.columns);
      }
      for (int j = 0; j < grid_.column_axis.tile; ++j) {
        conv_.sum_lanes(task.sums + j * sums * kB, sums, task.lanes + j * PlaneElements());
      }
      kernels_.filter_gradient(
          {i, task.lanes, PlaneElements(), PlaneElements(), s_.kh, s_.kw, task.taps});
    }
    Store(task, dw);
    if (db != nullptr && task.inputs.begin == 0) SumBias(task, db);
  }

 private:
  struct Task {
    Range outputs, inputs;
    Range rows;          // of tiles, block after block
    float* frequencies;  // of the input: [column tile][inputs][tiles]
    float* gradients;    // [column tile][outputs][tiles]
    float* sums;         // [column tile][outputs][inputs], lane by lane
    float* row;          // [x_columns], zero outside of the image
    float* line;         // [y_columns], zero outside of the output
    float* bias;         // sums of one output
    float* lanes;        // [column tile][plane]: sums, over the lanes too
    float* taps;         // [kh][kw][plane]
    float* expanded;
  };

  int64_t GroupTiles() const { return group_rows_ * grid_.columns; }
  int64_t PlaneElements() const { return RoundUp(outputs_ * inputs_, kB); }
  // Rows whose bias gradients are summed together: whole windows.
  int64_t BiasRows() const { return RoundUp(grid_.row_outputs, fusion_.pool_h); }
  int64_t ExpandedElements() const {
    return GradientSource<float>::BufferElements(s_, fusion_, BiasRows());
  }

  Task MakeTask(int64_t unit, int64_t part, float* scratch) const {
    Task task;
    task.outputs = PartOf(s_.oc, output_chunks_, unit / input_chunks_);
    task.inputs = PartOf(s_.ic, input_chunks_, unit % input_chunks_);
    const Range blocks = PartOf(BatchBlocks<float>(s_.n), parts_, part);
    task.rows = {blocks.begin * grid_.rows, blocks.end * grid_.rows};
    task.frequencies = scratch;
    task.gradients = task.frequencies + grid_.column_axis.tile * inputs_ * GroupTiles() * kB;
    task.sums = task.gradients + grid_.column_axis.tile * outputs_ * GroupTiles() * kB;
    task.row = task.sums + grid_.column_axis.tile * outputs_ * inputs_ * kB;
    task.line = task.row + grid_.x_columns * kB;
    task.bias = task.line + grid_.y_columns * kB;
    task.lanes = task.bias + kB;
    task.taps = task.lanes + grid_.column_axis.tile * PlaneElements();
    task.expanded = task.taps + s_.kh * s_.kw * PlaneElements();
    return task;
  }

  // Calls body(block, tile row of the image, first tile in the group).
  template <typename Body>
  void ForTileRows(Range rows, const Body& body) const {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      body(row / grid_.rows, row % grid_.rows, (row - rows.begin) * grid_.columns);
    }
  }

  void TransformInput(const Task& task, Range rows, int i, const float* x) const {
    const int64_t count = rows.size() * grid_.columns;
    const WinogradTiles tiles{grid_.columns, grid_.column_outputs, task.inputs.size() * count * kB};
    ForTileRows(rows, [&](int64_t block, int64_t row, int64_t tile) {
      for (int64_t c = 0; c < task.inputs.size(); ++c) {
        const float* plane = x + (block * s_.ic + task.inputs.begin + c) * s_.InputPlane() * kB;
        kernels_.combine(grid_.InputRows(plane, row, i), grid_.inside.size(),
                         task.row + grid_.inside.begin * kB);
        row_.input(tiles, task.row, task.frequencies + (c * count + tile) * kB);
      }
    });
  }

  void TransformGradient(const Task& task, Range rows, int i) const {
    const int64_t count = rows.size() * grid_.columns;
    const WinogradTiles tiles{grid_.columns, grid_.column_outputs,
                              task.outputs.size() * count * kB};
    ForTileRows(rows, [&](int64_t block, int64_t row, int64_t tile) {
      const Range span{row * grid_.row_outputs, std::min(s_.oh, (row + 1) * grid_.row_outputs)};
      for (int64_t o = 0; o < task.outputs.size(); ++o) {
        const int64_t output = task.outputs.begin + o;
        const auto dy = source_.Rows(block, {output, output + 1}, span, task.expanded, nullptr);
        kernels_.combine(grid_.OutputRows(dy.data, dy.first_row, s_.oh, s_.ow, row, i), s_.ow,
                         task.line);
        row_.output_gradient(tiles, task.line, task.gradients + (o * count + tile) * kB);
      }
    });
  }

  // Adds the products of all pairs of channels.
  void Products(const Task& task, int64_t tiles) const {
    const int64_t groups = CeilDiv(task.outputs.size(), conv_.weights_outputs);
    for (int j = 0; j < grid_.column_axis.tile; ++j) {
      for (int64_t group = 0; group < groups; ++group) {
        const Range outputs = PartOf(task.outputs.size(), groups, group);
        const int64_t first = j * task.outputs.size() + outputs.begin;
        WeightsCall<float> call{};
        call.x = task.frequencies + j * task.inputs.size() * tiles * kB;
        call.x_column = kB;
        call.dy = task.gradients + first * tiles * kB;
        call.dy_output = tiles * kB;
        call.rows = 1;
        call.columns = tiles;
        call.sums = task.sums + first * task.inputs.size() * kB;
        call.sums_output = task.inputs.size() * kB;
        Inputs(static_cast<int>(outputs.size()), task.inputs.size(), tiles, call);
      }
    }
  }

  // Input channels stand where direct convolution has the taps of a kernel.
  void Inputs(int outputs, int64_t inputs, int64_t tiles, WeightsCall<float> call) const {
    int64_t offsets[ConvKernels<float>::kTaps[0]];
    call.taps = offsets;
    int64_t c = 0;
    for (int size = 0; c < inputs; ++size) {
      const int count = ConvKernels<float>::kTaps[size];
      for (; c + count <= inputs; c += count, call.sums += count * kB) {
        for (int k = 0; k < count; ++k) offsets[k] = (c + k) * tiles * kB;
        conv_.weights[outputs - 1][size](call);
      }
    }
  }

  void Store(const Task& task, float* dw) const {
    const int64_t taps = s_.kh * s_.kw, inputs = task.inputs.size();
    for (int64_t o = 0; o < task.outputs.size(); ++o) {
      float* to = dw + ((task.outputs.begin + o) * s_.ic + task.inputs.begin) * taps;
      for (int64_t c = 0; c < inputs; ++c) {
        const float* from = task.taps + o * inputs + c;
        for (int64_t tap = 0; tap < taps; ++tap) *to++ = from[tap * PlaneElements()];
      }
    }
  }

  void SumBias(const Task& task, float* db) const {
    for (int64_t o = task.outputs.begin; o < task.outputs.end; ++o) {
      std::fill_n(task.bias, kB, 0.0F);
      for (int64_t block = task.rows.begin / grid_.rows; block < task.rows.end / grid_.rows;
           ++block) {
        for (int64_t row = 0; row < s_.oh; row += BiasRows()) {
          source_.Rows(block, {o, o + 1}, {row, std::min(s_.oh, row + BiasRows())}, task.expanded,
                       task.bias);
        }
      }
      conv_.sum_lanes(task.bias, 1, db + o);
    }
  }

  const ConvKernels<float>& conv_ = KernelsForConv<float>();
  const WinogradKernels& kernels_ = KernelsForWinograd();
  const ConvShape& s_;
  const WinogradRowKernels& row_ = kernels_.row[s_.kw];
  const ConvFusion& fusion_;
  const GradientSource<float> source_;
  const WinogradGrid grid_;
  int64_t input_chunks_, output_chunks_, parts_;
  int64_t inputs_, outputs_;  // channels of a task, at most
  int64_t group_rows_;        // tile rows that are transformed before they are multiplied
};

}  // namespace

size_t WinogradBackwardWeightsScratchBytes(const ConvShape& shape, const ConvFusion& fusion,
                                           int slices) {
  const ConvGradient<float> none;
  const WeightsPass pass(shape, fusion, none, slices);
  return (pass.parts() * pass.PartElements() + slices * pass.TaskElements()) * sizeof(float);
}

void WinogradBackwardWeights(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                             const ConvGradient<float>& gradient, const float* x, float* dw,
                             float* db, int slices, void* scratch) {
  const WeightsPass pass(shape, fusion, gradient, slices);
  auto* const partial = static_cast<float*>(scratch);
  float* const tasks = partial + pass.parts() * pass.PartElements();
  const int64_t stride = pass.PartElements(), units = pass.Units();
  threads.ParallelFor(slices, [&](int slice) {
    const Range own = PartOf(units * pass.parts(), slices, slice);
    for (int64_t task = own.begin; task < own.end; ++task) {
      const int64_t part = task / units;
      float* const to = pass.parts() > 1 ? partial + part * stride : dw;
      float* to_bias = db;
      if (db != nullptr && pass.parts() > 1) to_bias = to + pass.Weights();
      pass.Run(task % units, part, x, to, to_bias, tasks + slice * pass.TaskElements());
    }
  });
  if (pass.parts() == 1) return;
  AddParts(partial, stride, pass.parts(), pass.Weights(), dw);
  if (db != nullptr) AddParts(partial + pass.Weights(), stride, pass.parts(), shape.oc, db);
}

}  // namespace hr::cpu
