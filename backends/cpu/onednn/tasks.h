// Parts of a kernel on the threads of a run, each of them serial inside.
#pragma once

#include <algorithm>
#include <atomic>

#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/onednn/library.h"
#include "runtime/base/executor.h"

namespace hr::cpu::onednn {

// Channels and columns are cut at whole blocks: the widest vectors' floats.
inline constexpr int64_t kBlock = 16;

inline int64_t BlocksOf(int64_t total) { return CeilDiv(total, kBlock); }
// Part `index` of `total` elements cut at whole blocks.
inline Range PartAtBlocks(int64_t total, int64_t parts, int64_t index) {
  const Range blocks = PartOf(BlocksOf(total), parts, index);
  return {blocks.begin * kBlock, std::min(total, blocks.end * kBlock)};
}

// Bytes in whole cache lines.
inline size_t AlignedBytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The scratch memory of a task, where each has `bytes`.
inline char* ScratchOf(void* scratch, size_t bytes, int task) {
  return static_cast<char*>(scratch) + bytes * static_cast<size_t>(task);
}

// Status body(task) for each task in [0, tasks); one of the failures where there are any.
template <typename Body>
Status ForTasks(const Library& library, const Lease& threads, int tasks, Body&& body) {
  std::atomic<bool> failed = false;
  Status failure;
  threads.ParallelFor(tasks, [&](int task) {
    SerialScope scope(library);
    Status status = body(task);
    if (!status.ok() && !failed.exchange(true)) failure = std::move(status);
  });
  return failure;
}

// Applies the activation to rows of `columns` elements, `stride` apart. oneDNN's own ReLU turns NaN
// into 0; ours keeps it.
inline void Activate(Activation activation, int64_t rows, int64_t columns, int64_t stride,
                     float* values) {
  if (activation == Activation::kNone) return;
  KernelsForGemm<float>().finish({.rows = rows,
                                  .columns = columns,
                                  .tile = values,
                                  .tile_stride = stride,
                                  .c = values,
                                  .ldc = stride,
                                  .epilogue = {.activation = activation}});
}

}  // namespace hr::cpu::onednn
