#include "backends/cpu/kernels/conv_gradient.h"

namespace hr::cpu {
namespace {

// What a task walks over again and again should stay in the caches: gradient rows in L1, the sums
// of a tile and the padded input rows in L2.
constexpr int64_t kGradientBytes = 32 << 10;
constexpr int64_t kSumsBytes = 96 << 10;
constexpr int64_t kPaddedBytes = 192 << 10;
// Tiles that a task takes through the input together.
constexpr int64_t kRunTiles = 4;

// dw is cut into tiles of output channels and chunks of input channels; where that gives too few
// tasks, also into parts of the batch whose sums are added in order.
template <typename T>
struct WeightsPlan {
  static constexpr int64_t kB = kBatchBlock<T>;
  bool padded;
  int64_t rows, chunk_channels, chunks, tiles, parts;
  int64_t x_rows, x_columns, sums, gradient;  // sizes of a task's buffers; x_… of padded input

  WeightsPlan(const ConvShape& s, const ConvFusion& fusion, int slices) {
    const int outputs = KernelsForConv<T>().weights_outputs;
    tiles = CeilDiv(s.GroupOut(), outputs);
    x_columns = (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1;
    padded = s.pad_top > 0 || s.pad_left > 0 || x_columns > s.iw ||
             (s.oh - 1) * s.sh + (s.kh - 1) * s.dh + 1 > s.ih;
    const int64_t row_bytes = outputs * s.ow * 64;
    const int64_t windows = CeilDiv(s.oh, fusion.pool_h);
    rows = std::clamp<int64_t>(kGradientBytes / (row_bytes * fusion.pool_h), 1, windows) *
           fusion.pool_h;
    x_rows = (rows - 1) * s.sh + (s.kh - 1) * s.dh + 1;
    chunk_channels = kSumsBytes / (outputs * s.kh * s.kw * 64);
    if (padded) chunk_channels = std::min(chunk_channels, kPaddedBytes / (x_rows * x_columns * 64));
    chunk_channels = std::clamp<int64_t>(chunk_channels, 1, s.GroupIn());
    chunks = CeilDiv(s.GroupIn(), chunk_channels);
    chunk_channels = CeilDiv(s.GroupIn(), chunks);
    const int64_t units = s.groups * tiles * chunks;
    parts = std::min(BatchBlocks<T>(s.n), CeilDiv(slices, units));
    sums = outputs * chunk_channels * s.kh * s.kw * kB;
    gradient = outputs * GradientSource<T>::BufferElements(s, fusion, rows);
  }

  int64_t PaddedElements() const { return padded ? chunk_channels * x_rows * x_columns * kB : 0; }
  // Sums of a tile, those of the bias included.
  int64_t TileElements() const { return sums + ConvKernels<T>::kMaxOutputs * kB; }
  int64_t TaskElements() const {
    return std::min(kRunTiles, tiles) * TileElements() + gradient + PaddedElements();
  }
  // dw and db of every part of the batch.
  int64_t PartElements(const ConvShape& s) const {
    return parts > 1 ? CeilDiv(s.oc * (s.Taps() + 1), kB) * kB : 0;
  }
};

template <typename T>
class WeightsPass {
 public:
  WeightsPass(const ConvShape& shape, const ConvFusion& fusion, const ConvGradient<T>& gradient,
              const T* x, int slices)
      : plan_(shape, fusion, slices), s_(shape), source_(shape, fusion, gradient), x_(x) {}

  const WeightsPlan<T>& plan() const { return plan_; }
  int64_t Units() const { return s_.groups * plan_.tiles * plan_.chunks; }

  // Works through units, each a tile of outputs of a chunk of channels, over one part of the batch.
  void Run(Range units, int64_t part, T* dw, T* db, T* scratch) const {
    while (units.begin < units.end) {
      const Task task = MakeTask(units, scratch);
      std::fill_n(task.sums, task.tiles.size() * plan_.TileElements(), T{0});
      const Range blocks = PartOf(BatchBlocks<T>(s_.n), plan_.parts, part);
      for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        for (int64_t oh = 0; oh < s_.oh; oh += plan_.rows) {
          Rows(task, block, {oh, std::min(s_.oh, oh + plan_.rows)});
        }
      }
      for (int64_t t = task.tiles.begin; t < task.tiles.end; ++t) Finish(task, t, dw, db);
      units.begin += task.tiles.size();
    }
  }

 private:
  static constexpr int64_t kB = kBatchBlock<T>;

  // Neighbouring tiles that read the same channels of the input.
  struct Task {
    int64_t group;
    Range tiles;     // of the group
    Range channels;  // of the group
    T *sums, *gradient, *padded;
  };

  Task MakeTask(Range units, T* scratch) const {
    Task task;
    task.group = units.begin / (plan_.chunks * plan_.tiles);
    const int64_t chunk = units.begin / plan_.tiles % plan_.chunks;
    task.channels = PartOf(s_.GroupIn(), plan_.chunks, chunk);
    const int64_t tile = units.begin % plan_.tiles;
    task.tiles = {tile, std::min({tile + units.size(), tile + kRunTiles, plan_.tiles})};
    task.sums = scratch;
    task.gradient = task.sums + std::min(kRunTiles, plan_.tiles) * plan_.TileElements();
    task.padded = task.gradient + plan_.gradient;
    return task;
  }

  Range Outputs(const Task& task, int64_t tile) const {
    const Range outputs = PartOf(s_.GroupOut(), plan_.tiles, tile);
    return {task.group * s_.GroupOut() + outputs.begin, task.group * s_.GroupOut() + outputs.end};
  }
  T* Sums(const Task& task, int64_t tile) const {
    return task.sums + (tile - task.tiles.begin) * plan_.TileElements();
  }

  void Rows(const Task& task, int64_t block, Range rows) const {
    const int64_t channel = block * s_.ic + task.group * s_.GroupIn() + task.channels.begin;
    const T* x = x_ + channel * s_.InputPlane() * kB;
    if (plan_.padded) CopyPadded(x, task.channels.size(), rows, task.padded);
    WeightsCall<T> call;
    call.x = plan_.padded ? task.padded : x + rows.begin * s_.sh * s_.iw * kB;
    call.x_row = s_.sh * (plan_.padded ? plan_.x_columns : s_.iw) * kB;
    call.x_column = s_.sw * kB;
    call.dy_row = s_.ow * kB;
    call.rows = rows.size();
    call.sums_output = task.channels.size() * s_.kh * s_.kw * kB;
    for (int64_t tile = task.tiles.begin; tile < task.tiles.end; ++tile) {
      const Range outputs = Outputs(task, tile);
      T* const bias = task.channels.begin == 0 ? Sums(task, tile) + plan_.sums : nullptr;
      const GradientRows<T> gradient = source_.Rows(block, outputs, rows, task.gradient, bias);
      call.dy = gradient.Row(rows.begin, s_.ow);
      call.dy_output = gradient.channel;
      call.sums = Sums(task, tile);
      const T* const first = call.x;
      for (int64_t column = 0; column < s_.ow; column += call.columns) {
        call.columns = TermsOfPart(s_.ow - column);
        call.x = first + column * call.x_column;
        Taps(task, static_cast<int>(outputs.size()), call);
        call.dy += call.columns * kB;
      }
      call.x = first;
    }
  }

  void Finish(const Task& task, int64_t tile, T* dw, T* db) const {
    const int64_t taps = task.channels.size() * s_.kh * s_.kw;
    const Range outputs = Outputs(task, tile);
    const T* const sums = Sums(task, tile);
    for (int64_t o = 0; o < outputs.size(); ++o) {
      T* to = dw + (outputs.begin + o) * s_.Taps() + task.channels.begin * s_.kh * s_.kw;
      kernels_.sum_lanes(sums + o * taps * kB, taps, to);
    }
    if (db == nullptr || task.channels.begin != 0) return;
    kernels_.sum_lanes(sums + plan_.sums, outputs.size(), db + outputs.begin);
  }

  // The input rows behind some gradient rows, with their padding.
  void CopyPadded(const T* x, int64_t channels, Range rows, T* to) const {
    const int64_t columns = plan_.x_columns;
    const int64_t exist = std::clamp<int64_t>(columns - s_.pad_left, 0, s_.iw);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t r = 0; r < plan_.x_rows; ++r, to += columns * kB) {
        const int64_t ih = rows.begin * s_.sh - s_.pad_top + r;
        std::fill_n(to, columns * kB, T{0});
        if (ih < 0 || ih >= s_.ih) continue;
        std::copy_n(x + (c * s_.ih + ih) * s_.iw * kB, exist * kB, to + s_.pad_left * kB);
      }
    }
  }

  // Taps are numbered as dw is, over the channels of the chunk; tiles take up to five neighbours.
  void Taps(const Task& task, int outputs, WeightsCall<T> call) const {
    const int64_t columns = plan_.padded ? plan_.x_columns : s_.iw;
    const int64_t plane = plan_.padded ? plan_.x_rows * plan_.x_columns : s_.InputPlane();
    const int64_t taps = task.channels.size() * s_.kh * s_.kw;
    int64_t offsets[5];
    call.taps = offsets;
    int64_t c = 0, r = 0, s = 0;
    for (int64_t k = 0; k < taps;) {
      const int size = taps - k >= 5 ? 0 : taps - k >= 3 ? 1 : 2;
      const int count = ConvKernels<T>::kTaps[size];
      for (int i = 0; i < count; ++i) {
        offsets[i] = (c * plane + r * s_.dh * columns + s * s_.dw) * kB;
        if (++s == s_.kw) s = 0, ++r;
        if (r == s_.kh) r = 0, ++c;
      }
      kernels_.weights[outputs - 1][size](call);
      call.sums += count * kB;
      k += count;
    }
  }

  const ConvKernels<T>& kernels_ = KernelsForConv<T>();
  const WeightsPlan<T> plan_;
  const ConvShape& s_;
  const GradientSource<T> source_;
  const T* x_;
};

}  // namespace

template <typename T>
size_t ConvBackwardWeightsScratchBytes(const ConvShape& shape, const ConvFusion& fusion,
                                       int slices) {
  const WeightsPlan<T> plan(shape, fusion, slices);
  return (plan.parts * plan.PartElements(shape) + slices * plan.TaskElements()) * sizeof(T);
}

template <typename T>
void ConvBackwardWeights(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                         const ConvGradient<T>& gradient, const T* x, T* dw, T* db, int slices,
                         void* scratch) {
  const WeightsPass<T> pass(shape, fusion, gradient, x, slices);
  const WeightsPlan<T>& plan = pass.plan();
  const int64_t stride = plan.PartElements(shape);
  const int64_t weights = shape.oc * shape.Taps();
  T* const partial = static_cast<T*>(scratch);
  T* const buffers = partial + plan.parts * stride;
  const int64_t units = pass.Units();
  threads.ParallelFor(slices, [&](int slice) {
    const Range tasks = PartOf(units * plan.parts, slices, slice);
    for (int64_t task = tasks.begin; task < tasks.end;) {
      const int64_t part = task / units;
      const int64_t end = std::min(tasks.end, (part + 1) * units);
      T* const to = plan.parts > 1 ? partial + part * stride : dw;
      T* const to_bias = plan.parts > 1 ? to + weights : db;
      pass.Run({task - part * units, end - part * units}, part, to, to_bias,
               buffers + slice * plan.TaskElements());
      task = end;
    }
  });
  if (plan.parts == 1) return;
  AddParts(partial, stride, plan.parts, weights, dw);
  if (db != nullptr) AddParts(partial + weights, stride, plan.parts, shape.oc, db);
}

#define HR_INSTANTIATE(T)                                                                       \
  template size_t ConvBackwardWeightsScratchBytes<T>(const ConvShape&, const ConvFusion&, int); \
  template void ConvBackwardWeights(const Lease&, const ConvShape&, const ConvFusion&,          \
                                    const ConvGradient<T>&, const T*, T*, T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
