// Where the rows of sequences lie: what the forward and the backward pass over them share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "backends/cpu/kernels/gemm.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/kernels/recurrent.h"

namespace hr::cpu {

// Rows of `width` elements and more, `stride` apart: one for each sequence of the batch, at one
// step. Null data stands for zeros.
template <typename T>
struct StepRows {
  T* data = nullptr;
  int64_t stride = 0;

  T* operator[](int64_t n) const { return data == nullptr ? nullptr : data + n * stride; }
  StepRows Part(int64_t offset) const {
    return {data == nullptr ? nullptr : data + offset, stride};
  }
  // The rows from sequence `n` on.
  StepRows From(int64_t n) const { return Part(n * stride); }
};

// Sequences of the batch that go through their steps together, and the threads that they have for
// that. Tasks of several such groups run at one time; `task` is the first of this one's.
struct Sequences {
  Range range;
  const Lease& threads;
  int slices;
  int task;
};

class RecurrentLayout {
 public:
  RecurrentLayout(const RecurrentShape& shape, int64_t d)
      : shape_(shape), row_shape_(shape.directions[static_cast<size_t>(d)]), d_(d) {}

  const RecurrentRowShape& row_shape() const { return row_shape_; }
  int64_t hidden() const { return row_shape_.hidden; }
  int64_t parts() const { return ops::RecordParts(row_shape_.cell); }
  bool is(ops::RecurrentCell cell) const { return row_shape_.cell == cell; }
  bool is_gru() const { return is(ops::RecurrentCell::kGru); }
  int64_t gates() const { return is_gru() ? 3 : is(ops::RecurrentCell::kLstm) ? 4 : 1; }
  // The gates of W and R that one product with the state before gives: a GRU's last comes apart.
  int64_t joint_gates() const { return is_gru() ? 2 : gates(); }

  // The step that comes as number `i`.
  int64_t Step(int64_t i) const { return row_shape_.direction.reverse ? shape_.steps - 1 - i : i; }
  bool Active(const int32_t* lengths, int64_t t, int64_t n) const {
    return lengths == nullptr || t < lengths[n];
  }

  // How far the rows of one step, and the rows of one sequence, are apart, counted in rows.
  int64_t batch_stride() const { return shape_.batch_first ? shape_.steps : 1; }
  int64_t step_stride() const { return shape_.batch_first ? 1 : shape_.batch; }
  // The rows of step t in a matrix of rows() rows of `width` elements.
  template <typename T>
  StepRows<T> At(T* matrix, int64_t width, int64_t t) const {
    return {matrix + t * step_stride() * width, batch_stride() * width};
  }
  // This direction's rows of a state [directions, batch, hidden], in the node's layout.
  template <typename T>
  StepRows<T> State(T* state) const {
    if (state == nullptr) return {nullptr, state_stride()};
    return {state + d_ * (shape_.batch_first ? 1 : shape_.batch) * hidden(), state_stride()};
  }
  int64_t state_stride() const {
    return shape_.batch_first ? shape_.direction_count() * hidden() : hidden();
  }
  // This direction's rows of y or dy at step t.
  template <typename T>
  StepRows<T> Output(T* y, int64_t t) const {
    if (y == nullptr) return {};
    const int64_t count = shape_.direction_count(), step = t * count + d_;
    if (shape_.batch_first) return {y + step * hidden(), shape_.steps * count * hidden()};
    return {y + step * shape_.batch * hidden(), hidden()};
  }
  // This direction's part of what has a first axis of directions.
  template <typename T>
  T* Own(T* all, int64_t each) const {
    return all == nullptr ? nullptr : all + d_ * each;
  }

  // Into how many groups the sequences are cut, of which each goes through all steps on a thread of
  // its own, and reads all of R in each. One group, which cuts its products, if others would have
  // too few rows for that, or so many that it does not count how often threads meet.
  int Groups() const {
    constexpr int64_t kLeastRows = 8, kMostRows = 32;
    const int64_t rows = shape_.batch / shape_.slices;
    return rows >= kLeastRows && rows <= kMostRows ? shape_.slices : 1;
  }
  // Calls body(sequences) for each group.
  template <typename Body>
  void ForGroups(const Lease& threads, const Body& body) const {
    const int groups = Groups();
    if (groups == 1) return body(Sequences{{0, shape_.batch}, threads, shape_.slices, 0});
    threads.ParallelFor(groups, [&](int group) {
      const Lease alone;
      body(Sequences{PartOf(shape_.batch, groups, group), alone, 1, group});
    });
  }
  // Calls body(n, memory) for each of some sequences, where `memory` is of the task's own.
  template <typename T, typename Body>
  void ForRows(const Sequences& own, T* scratch, const Body& body) const {
    const int tasks = RowTasks(own);
    own.threads.ParallelFor(tasks, [&](int task) {
      const Range part = PartOf(own.range.size(), tasks, task);
      T* const memory = scratch + (own.task + task) * RowScratch(row_shape_);
      for (int64_t n = part.begin; n < part.end; ++n) body(own.range.begin + n, memory);
    });
  }
  int64_t RowsScratch() const { return RowScratch(row_shape_) * shape_.slices; }

 private:
  // Tasks for the rows of a step: none is so small that starting it costs more.
  int RowTasks(const Sequences& own) const {
    constexpr int64_t kLeast = 2048;
    const int64_t rows = own.range.size(), tasks = rows * hidden() * gates() / kLeast;
    return static_cast<int>(std::max<int64_t>(1, std::min({tasks, int64_t{own.slices}, rows})));
  }

  const RecurrentShape& shape_;
  const RecurrentRowShape& row_shape_;
  int64_t d_;
};

// Parts of scratch memory, one after the other.
class ScratchParts {
 public:
  template <typename T>
  size_t Take(int64_t elements) {
    return TakeBytes(static_cast<size_t>(elements) * sizeof(T));
  }
  size_t TakeBytes(size_t bytes) {
    const size_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// A product of the rows of each step with the same matrix B, which is packed for all of them if
// that pays.
template <typename T>
class StepProduct {
 public:
  StepProduct() = default;
  // `shape.m` is the batch.
  StepProduct(const GemmShape& shape, int64_t steps, ScratchParts* parts)
      : shape_(shape), packed_(steps > 2 && shape.n >= 32) {
    if (packed_) panels_at_ = parts->TakeBytes(PackedBBytes<T>(shape.n, shape.k));
  }
  // Of each group: enough for rows of A at any of these distances.
  size_t gemm_bytes(int groups, int slices, std::initializer_list<int64_t> distances) const {
    size_t most = 0;
    for (int64_t distance : distances) {
      for (int64_t rows : {shape_.m / groups, CeilDiv(shape_.m, groups)}) {
        GemmShape shape = shape_;
        shape.m = rows;
        shape.lda = distance;
        const int cuts = groups == 1 ? slices : 1;
        most = std::max(most, packed_ ? GemmPackedBScratchBytes<T>(shape, cuts)
                                      : GemmScratchBytes<T>(shape, cuts));
      }
    }
    return static_cast<size_t>(RoundUp(static_cast<int64_t>(most), 64));
  }
  // Before the first step.
  void Prepare(const Lease& threads, const T* b, std::byte* scratch, int slices) {
    b_ = b;
    if (!packed_) return;
    T* const panels = reinterpret_cast<T*>(scratch + panels_at_);
    PackB(threads, shape_.n, shape_.k, shape_.transpose_b, b, shape_.ldb, panels, slices);
    b_ = panels;
  }
  // The rows of some sequences; `a` and `c` are those of all.
  void Run(const Sequences& own, StepRows<const T> a, StepRows<T> c,
           const GemmEpilogue<T>& epilogue, void* memory) const {
    GemmShape shape = shape_;
    shape.m = own.range.size();
    shape.lda = a.stride;
    shape.ldc = c.stride;
    (packed_ ? GemmPackedB<T> : Gemm<T>)(own.threads, shape, a.From(own.range.begin).data, b_,
                                         c.From(own.range.begin).data, epilogue, own.slices,
                                         memory);
  }

 private:
  GemmShape shape_;
  bool packed_ = false;
  size_t panels_at_ = 0;
  const T* b_ = nullptr;
};

}  // namespace hr::cpu
