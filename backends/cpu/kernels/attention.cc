#include "backends/cpu/kernels/attention.h"

#include <algorithm>

#include "backends/cpu/kernels/attention_parts.h"

namespace hr::cpu {
namespace {

constexpr int64_t kLine = 64;  // bytes

// The products of a block of `rows` queries; Q is a dense copy.
GemmShape ScoresOf(const AttentionShape& s, int64_t rows) {
  return {rows, s.keys, s.size, false, !s.turned_k, s.size, s.k.row, s.keys};
}
GemmShape OutputOf(const AttentionShape& s, int64_t rows) {
  return {rows, s.value_size, s.keys, false, false, s.keys, s.v.row, s.out.row};
}
GemmShape ProbabilityGradOf(const AttentionShape& s, int64_t rows) {
  return {rows, s.keys, s.value_size, false, true, s.out.row, s.v.row, s.keys};
}
GemmShape ValueGradOf(const AttentionShape& s, int64_t rows) {
  return {s.keys, s.value_size, rows, true, false, s.keys, s.out.row, s.dv.row};
}
GemmShape QueryGradOf(const AttentionShape& s, int64_t rows) {
  return {rows, s.size, s.keys, false, s.turned_k, s.keys, s.k.row, s.dq.row};
}
GemmShape KeyGradOf(const AttentionShape& s, int64_t rows) {
  if (s.turned_dk) return {s.size, s.keys, rows, true, false, s.size, s.keys, s.dk.row};
  return {s.keys, s.size, rows, true, false, s.keys, s.size, s.dk.row};
}

// The memory of one task, in elements: queries, one or two blocks of scores, that of products.
template <typename T>
struct TaskMemory {
  int64_t q = 0, scores = 0, grads = 0;
  size_t product_bytes = 0;

  static int64_t Whole(int64_t elements) {
    return RoundUp(elements, kLine / static_cast<int64_t>(sizeof(T)));
  }
  TaskMemory(const AttentionShape& s, int64_t blocks, bool backward) {
    const int64_t rows = CeilDiv(s.queries, blocks);
    q = Whole(rows * s.size);
    scores = Whole(rows * s.keys);
    grads = backward ? scores : 0;
    for (int64_t height : {rows, s.queries / blocks}) {
      Need(ScoresOf(s, height));
      if (!backward) Need(OutputOf(s, height));
      if (!backward) continue;
      for (const auto& product : {ProbabilityGradOf, ValueGradOf, QueryGradOf, KeyGradOf}) {
        Need(product(s, height));
      }
    }
  }
  void Need(const GemmShape& shape) {
    product_bytes = std::max(product_bytes, GemmScratchBytes<T>(shape, 1));
  }
  size_t bytes() const {
    return static_cast<size_t>(RoundUp((q + scores + grads) * static_cast<int64_t>(sizeof(T)) +
                                           static_cast<int64_t>(product_bytes),
                                       kLine));
  }
};

// What one task does, a block of queries of one head at a time.
template <typename T>
class Task {
 public:
  Task(const AttentionShape& shape, const TaskMemory<T>& memory, void* scratch)
      : s_(shape),
        q_(static_cast<T*>(scratch)),
        scores_(q_ + memory.q),
        grads_(scores_ + memory.scores),
        product_(memory.product_bytes == 0 ? nullptr : grads_ + memory.grads) {}

  // The probabilities of the queries from `first` on, and a scaled copy of these. `masks` are those
  // of the head.
  void Softmax(const T* q, const T* k, const AttentionMaskData& masks, int64_t first,
               int64_t rows) {
    const T scale = static_cast<T>(s_.scale);
    for (int64_t i = 0; i < rows; ++i) {
      const T* from = q + (first + i) * s_.q.row;
      for (int64_t j = 0; j < s_.size; ++j) q_[i * s_.size + j] = scale * from[j];
    }
    Multiply(ScoresOf(s_, rows), q_, k, scores_);
    MakeProbabilities(s_, masks, first, rows, scores_);
  }

  void Output(const T* v, T* out, int64_t first, int64_t rows) {
    Multiply(OutputOf(s_, rows), scores_, v, out + first * s_.out.row);
  }

  // The gradients of a block; dk and dv are sums over all blocks.
  void Gradients(const T* dout, const T* k, const T* v, T* dq, T* dk, T* dv, int64_t first,
                 int64_t rows) {
    const GemmEpilogue<T> sum{.beta = static_cast<T>(first == 0 ? 0 : 1)};
    dout += first * s_.out.row;
    Multiply(ValueGradOf(s_, rows), scores_, dout, dv, sum);
    Multiply(ProbabilityGradOf(s_, rows), dout, v, grads_);
    const LineShape lines{rows, s_.keys, 1};
    KernelsForLines<T>().softmax_grad(lines, grads_, scores_, grads_, 0, LineGroups<T>(lines));
    Multiply(QueryGradOf(s_, rows), grads_, k, dq + first * s_.dq.row,
             {.alpha = static_cast<T>(s_.scale)});
    Multiply(KeyGradOf(s_, rows), s_.turned_dk ? q_ : grads_, s_.turned_dk ? grads_ : q_, dk, sum);
  }

 private:
  void Multiply(const GemmShape& shape, const T* a, const T* b, T* c,
                const GemmEpilogue<T>& epilogue = {}) {
    Gemm(Lease(), shape, a, b, c, epilogue, 1, product_);
  }

  const AttentionShape& s_;
  T* const q_;
  T* const scores_;
  T* const grads_;
  T* const product_;
};

// The keys' gradients are sums over queries, so a head stays with one task.
template <typename T>
AttentionCut BackwardCut(const AttentionShape& s, int slices) {
  return {s.all_heads(), 1, static_cast<int>(std::min<int64_t>(slices, s.all_heads()))};
}

}  // namespace

template <typename T>
size_t AttentionScratchBytes(const AttentionShape& shape, int slices) {
  const AttentionCut cut = CutQueries<T>(shape, slices);
  return TaskMemory<T>(shape, cut.blocks, false).bytes() * static_cast<size_t>(cut.tasks);
}

template <typename T>
void Attention(const Lease& threads, const AttentionShape& s, const T* q, const T* k, const T* v,
               const AttentionMaskData& masks, T* out, int slices, void* scratch) {
  const AttentionCut cut = CutQueries<T>(s, slices);
  const TaskMemory<T> memory(s, cut.blocks, false);
  cut.Run(threads, [&](int64_t head, int64_t block, int number, bool) {
    const Range rows = PartOf(s.queries, cut.blocks, block);
    Task<T> task(s, memory,
                 static_cast<char*>(scratch) + memory.bytes() * static_cast<size_t>(number));
    task.Softmax(q + OffsetOfHead(s.q, s, head), k + OffsetOfHead(s.k, s, head),
                 MasksOfHead(s, masks, head), rows.begin, rows.size());
    task.Output(v + OffsetOfHead(s.v, s, head), out + OffsetOfHead(s.out, s, head), rows.begin,
                rows.size());
  });
}

template <typename T>
size_t AttentionGradScratchBytes(const AttentionShape& shape, int slices) {
  const AttentionCut cut = BackwardCut<T>(shape, slices);
  return TaskMemory<T>(shape, QueryBlocks<T>(shape, 1), true).bytes() *
         static_cast<size_t>(cut.tasks);
}

template <typename T>
void AttentionGrad(const Lease& threads, const AttentionShape& s, const T* dout, const T* q,
                   const T* k, const T* v, const AttentionMaskData& masks, T* dq, T* dk, T* dv,
                   int slices, void* scratch) {
  const AttentionCut cut = BackwardCut<T>(s, slices);
  const int64_t blocks = QueryBlocks<T>(s, 1);
  const TaskMemory<T> memory(s, blocks, true);
  cut.Run(threads, [&](int64_t head, int64_t, int number, bool) {
    Task<T> task(s, memory,
                 static_cast<char*>(scratch) + memory.bytes() * static_cast<size_t>(number));
    for (int64_t block = 0; block < blocks; ++block) {
      const Range rows = PartOf(s.queries, blocks, block);
      task.Softmax(q + OffsetOfHead(s.q, s, head), k + OffsetOfHead(s.k, s, head),
                   MasksOfHead(s, masks, head), rows.begin, rows.size());
      task.Gradients(dout + OffsetOfHead(s.out, s, head), k + OffsetOfHead(s.k, s, head),
                     v + OffsetOfHead(s.v, s, head), dq + OffsetOfHead(s.dq, s, head),
                     dk + OffsetOfHead(s.dk, s, head), dv + OffsetOfHead(s.dv, s, head), rows.begin,
                     rows.size());
    }
  });
}

#define HR_INSTANTIATE(T)                                                                        \
  template size_t AttentionScratchBytes<T>(const AttentionShape&, int);                          \
  template void Attention(const Lease&, const AttentionShape&, const T*, const T*, const T*,     \
                          const AttentionMaskData&, T*, int, void*);                             \
  template size_t AttentionGradScratchBytes<T>(const AttentionShape&, int);                      \
  template void AttentionGrad(const Lease&, const AttentionShape&, const T*, const T*, const T*, \
                              const T*, const AttentionMaskData&, T*, T*, T*, int, void*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
