// What the kernels of attention share: how queries are cut into blocks, and what is done to a block
// of scores.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/kernels/softmax_kernels.h"

namespace hr::cpu {

constexpr int64_t kScoreBytes = 128 << 10;  // of a block: a share of a small second-level cache

// How the queries of each head are cut: evenly, so blocks have one of two heights.
template <typename T>
int64_t QueryBlocks(const AttentionShape& s, int64_t least) {
  const int64_t row_bytes = std::max<int64_t>(s.keys, 1) * static_cast<int64_t>(sizeof(T));
  const int64_t rows = std::max<int64_t>(kScoreBytes / row_bytes, 8);
  return std::clamp<int64_t>(std::max(CeilDiv(s.queries, rows), least), 1,
                             std::max<int64_t>(s.queries, 1));
}

// Calls body(head, part of its queries' blocks, task, whether the task has just come to the head)
// so that the tasks together do all blocks.
struct AttentionCut {
  int64_t heads, blocks;
  int tasks;

  template <typename Body>
  void Run(const Lease& threads, const Body& body) const {
    threads.ParallelFor(tasks, [&](int task) {
      const Range part = PartOf(heads * blocks, tasks, task);
      for (int64_t i = part.begin; i < part.end; ++i) {
        body(i / blocks, i % blocks, task, i == part.begin || i % blocks == 0);
      }
    });
  }
};

// Heads, and if these are too few their queries, are shared among the tasks.
template <typename T>
AttentionCut CutQueries(const AttentionShape& s, int slices) {
  const int64_t heads = s.all_heads();
  const int64_t least = heads == 0 ? 1 : CeilDiv(slices, heads);
  const int64_t blocks = QueryBlocks<T>(s, least);
  return {heads, blocks, static_cast<int>(std::min<int64_t>(slices, heads * blocks))};
}

inline int64_t OffsetOfHead(const HeadStrides& strides, const AttentionShape& s, int64_t head) {
  const int64_t outer = head / s.groups;
  return outer / s.heads * strides.batch + outer % s.heads * strides.head +
         head % s.groups * strides.group;
}

inline AttentionMaskData MasksOfHead(const AttentionShape& s, const AttentionMaskData& masks,
                                     int64_t head) {
  AttentionMaskData out = {};
  for (size_t i = 0; i < s.mask_count; ++i) {
    out[i] = static_cast<const char*>(masks[i]) +
             OffsetOfHead(s.masks[i].strides, s, head) * s.masks[i].element;
  }
  return out;
}

template <typename T>
void AddMaskRow(const AttentionMask& mask, const void* row, int64_t keys, T* to) {
  constexpr int64_t kWidened = 256;  // numbers of 16 bits at a time
  T wide[kWidened];
  if (mask.column == 0) {
    const T* number = static_cast<const T*>(row);
    if (mask.load != nullptr) {
      mask.load(row, wide, 1);
      number = wide;
    }
    for (int64_t j = 0; j < keys; ++j) to[j] += *number;
  } else if (mask.load == nullptr) {
    KernelsForGemm<T>().add(static_cast<const T*>(row), keys, to);
  } else {
    for (int64_t j = 0; j < keys; j += kWidened) {
      const int64_t count = std::min(kWidened, keys - j);
      mask.load(static_cast<const char*>(row) + j * mask.element, wide, count);
      KernelsForGemm<T>().add(wide, count, to + j);
    }
  }
}

template <typename T>
void FillMaskRow(const AttentionMask& mask, const uint8_t* row, int64_t keys, T* to) {
  const bool filled = mask.kind == AttentionMask::Kind::kFillTrue;
  const T number = static_cast<T>(mask.number);
  if (mask.column == 1) {
    for (int64_t j = 0; j < keys; ++j) to[j] = (row[j] != 0) == filled ? number : to[j];
  } else if ((*row != 0) == filled) {
    std::fill_n(to, keys, number);
  }
}

// Makes probabilities of the scores of queries from `first` on. `masks` are those of the head.
template <typename T>
void MakeProbabilities(const AttentionShape& s, const AttentionMaskData& masks, int64_t first,
                       int64_t rows, T* scores) {
  for (size_t m = 0; m < s.mask_count; ++m) {
    const AttentionMask& mask = s.masks[m];
    for (int64_t i = 0; i < rows; ++i) {
      const auto* const row =
          static_cast<const uint8_t*>(masks[m]) + (first + i) * mask.strides.row * mask.element;
      if (mask.kind == AttentionMask::Kind::kAdd) {
        AddMaskRow(mask, row, s.keys, scores + i * s.keys);
      } else {
        FillMaskRow(mask, row, s.keys, scores + i * s.keys);
      }
    }
  }
  const LineShape lines{rows, s.keys, 1};
  KernelsForLines<T>().softmax(lines, scores, scores, 0, LineGroups<T>(lines));
  if (!s.nan || s.keys == 0) return;
  // A softmax makes NaN of all of a row or of none.
  for (int64_t i = 0; i < rows; ++i) {
    T* const row = scores + i * s.keys;
    if (std::isnan(*row)) std::fill_n(row, s.keys, static_cast<T>(*s.nan));
  }
}

}  // namespace hr::cpu
