#include "backends/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/kernels/softmax_kernels.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockBytes = 128 << 10;  // of scores: a share of a small second-level cache
constexpr int64_t kLine = 64;               // bytes

// How the queries of each head are cut: evenly, so blocks have one of two heights.
template <typename T>
int64_t QueryBlocks(const AttentionShape& s, int64_t least) {
  const int64_t row_bytes = std::max<int64_t>(s.keys, 1) * static_cast<int64_t>(sizeof(T));
  const int64_t rows = std::max<int64_t>(kBlockBytes / row_bytes, 8);
  return std::clamp<int64_t>(std::max(CeilDiv(s.queries, rows), least), 1,
                             std::max<int64_t>(s.queries, 1));
}

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
    for (size_t i = 0; i < s_.mask_count; ++i) Mask(s_.masks[i], masks[i], first, rows);
    const LineShape lines{rows, s_.keys, 1};
    KernelsForLines<T>().softmax(lines, scores_, scores_, 0, LineGroups<T>(lines));
    if (s_.nan) ReplaceNan(rows);
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

  void Mask(const AttentionMask& mask, const void* data, int64_t first, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      T* const to = scores_ + i * s_.keys;
      const int64_t offset = (first + i) * mask.strides.row;
      if (mask.kind == AttentionMask::Kind::kAdd) {
        AddRow(static_cast<const T*>(data) + offset, mask.column, to);
      } else {
        FillRow(static_cast<const uint8_t*>(data) + offset, mask, to);
      }
    }
  }

  void AddRow(const T* row, int64_t column, T* to) {
    if (column == 1) {
      KernelsForGemm<T>().add(row, s_.keys, to);
    } else {
      for (int64_t j = 0; j < s_.keys; ++j) to[j] += *row;
    }
  }

  void FillRow(const uint8_t* row, const AttentionMask& mask, T* to) {
    const bool filled = mask.kind == AttentionMask::Kind::kFillTrue;
    const T number = static_cast<T>(mask.number);
    if (mask.column == 1) {
      for (int64_t j = 0; j < s_.keys; ++j) to[j] = (row[j] != 0) == filled ? number : to[j];
    } else if ((*row != 0) == filled) {
      std::fill_n(to, s_.keys, number);
    }
  }

  // A softmax makes NaN of all of a row or of none.
  void ReplaceNan(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      T* const row = scores_ + i * s_.keys;
      if (s_.keys > 0 && std::isnan(*row)) std::fill_n(row, s_.keys, static_cast<T>(*s_.nan));
    }
  }

  const AttentionShape& s_;
  T* const q_;
  T* const scores_;
  T* const grads_;
  T* const product_;
};

int64_t Offset(const HeadStrides& strides, const AttentionShape& s, int64_t head) {
  return head / s.heads * strides.batch + head % s.heads * strides.head;
}

AttentionMaskData MasksOf(const AttentionShape& s, const AttentionMaskData& masks, int64_t head,
                          size_t element) {
  AttentionMaskData out = {};
  for (size_t i = 0; i < s.mask_count; ++i) {
    const bool added = s.masks[i].kind == AttentionMask::Kind::kAdd;
    out[i] = static_cast<const char*>(masks[i]) +
             Offset(s.masks[i].strides, s, head) * static_cast<int64_t>(added ? element : 1);
  }
  return out;
}

// Calls body(head, part of its queries' blocks, task) so that the tasks together do all blocks.
struct Cut {
  int64_t heads, blocks;
  int tasks;

  template <typename Body>
  void Run(const Lease& threads, const Body& body) const {
    threads.ParallelFor(tasks, [&](int task) {
      const Range part = PartOf(heads * blocks, tasks, task);
      for (int64_t i = part.begin; i < part.end; ++i) body(i / blocks, i % blocks, task);
    });
  }
};

// Heads, and if these are too few their queries, are shared among the tasks.
template <typename T>
Cut ForwardCut(const AttentionShape& s, int slices) {
  const int64_t heads = s.all_heads();
  const int64_t least = heads == 0 ? 1 : CeilDiv(slices, heads);
  const int64_t blocks = QueryBlocks<T>(s, least);
  return {heads, blocks, static_cast<int>(std::min<int64_t>(slices, heads * blocks))};
}

// The keys' gradients are sums over queries, so a head stays with one task.
template <typename T>
Cut BackwardCut(const AttentionShape& s, int slices) {
  return {s.all_heads(), 1, static_cast<int>(std::min<int64_t>(slices, s.all_heads()))};
}

}  // namespace

template <typename T>
size_t AttentionScratchBytes(const AttentionShape& shape, int slices) {
  const Cut cut = ForwardCut<T>(shape, slices);
  return TaskMemory<T>(shape, cut.blocks, false).bytes() * static_cast<size_t>(cut.tasks);
}

template <typename T>
void Attention(const Lease& threads, const AttentionShape& s, const T* q, const T* k, const T* v,
               const AttentionMaskData& masks, T* out, int slices, void* scratch) {
  const Cut cut = ForwardCut<T>(s, slices);
  const TaskMemory<T> memory(s, cut.blocks, false);
  cut.Run(threads, [&](int64_t head, int64_t block, int number) {
    const Range rows = PartOf(s.queries, cut.blocks, block);
    Task<T> task(s, memory,
                 static_cast<char*>(scratch) + memory.bytes() * static_cast<size_t>(number));
    task.Softmax(q + Offset(s.q, s, head), k + Offset(s.k, s, head),
                 MasksOf(s, masks, head, sizeof(T)), rows.begin, rows.size());
    task.Output(v + Offset(s.v, s, head), out + Offset(s.out, s, head), rows.begin, rows.size());
  });
}

template <typename T>
size_t AttentionGradScratchBytes(const AttentionShape& shape, int slices) {
  const Cut cut = BackwardCut<T>(shape, slices);
  return TaskMemory<T>(shape, QueryBlocks<T>(shape, 1), true).bytes() *
         static_cast<size_t>(cut.tasks);
}

template <typename T>
void AttentionGrad(const Lease& threads, const AttentionShape& s, const T* dout, const T* q,
                   const T* k, const T* v, const AttentionMaskData& masks, T* dq, T* dk, T* dv,
                   int slices, void* scratch) {
  const Cut cut = BackwardCut<T>(s, slices);
  const int64_t blocks = QueryBlocks<T>(s, 1);
  const TaskMemory<T> memory(s, blocks, true);
  cut.Run(threads, [&](int64_t head, int64_t, int number) {
    Task<T> task(s, memory,
                 static_cast<char*>(scratch) + memory.bytes() * static_cast<size_t>(number));
    for (int64_t block = 0; block < blocks; ++block) {
      const Range rows = PartOf(s.queries, blocks, block);
      task.Softmax(q + Offset(s.q, s, head), k + Offset(s.k, s, head),
                   MasksOf(s, masks, head, sizeof(T)), rows.begin, rows.size());
      task.Gradients(dout + Offset(s.out, s, head), k + Offset(s.k, s, head),
                     v + Offset(s.v, s, head), dq + Offset(s.dq, s, head),
                     dk + Offset(s.dk, s, head), dv + Offset(s.dv, s, head), rows.begin,
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
