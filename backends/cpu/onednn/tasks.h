// Parts of a kernel on the threads of a run, each of them serial inside.
#pragma once

#include <atomic>

#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/onednn/library.h"
#include "runtime/base/executor.h"

namespace hr::cpu::onednn {

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
