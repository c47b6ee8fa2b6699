// BatchNormalization of channels-last images, or of the columns of any matrix [rows, channels], and
// its gradient: Ioffe and Szegedy, "Batch Normalization" (2015). float and double.
//
// Variances are of the population and taken about the mean, in a second pass. Sums are made of
// sums over some rows in double. Nothing is allocated; results depend on the shapes and on `tasks`
// (from NormTasks of the rows), never on how many threads the lease has. An output may be the
// memory of an input of its shape.
#pragma once

#include "backends/cpu/kernels/normalization.h"

namespace hr::cpu {

struct ColumnShape {
  int64_t rows = 0, channels = 0;
};

// Memory for one call of the functions below.
template <typename T>
size_t ColumnScratchBytes(const ColumnShape& shape, int tasks);

// With the given statistics.
template <typename T>
void NormalizeColumns(const Lease& threads, const ColumnShape& shape, double epsilon, const T* x,
                      const T* scale, const T* bias, const T* mean, const T* variance, T* y,
                      int tasks, void* scratch);
// With those of x.
template <typename T>
void TrainColumns(const Lease& threads, const ColumnShape& shape, double epsilon, const T* x,
                  const T* scale, const T* bias, T* y, const RunningStatistics<T>& running,
                  int tasks, void* scratch);
// `mean` and `variance` are what the forward pass used, or null where those were of x.
template <typename T>
void NormalizeColumnsGrad(const Lease& threads, const ColumnShape& shape, double epsilon,
                          const T* dy, const T* x, const T* scale, const T* mean, const T* variance,
                          T* dx, T* dscale, T* dbias, int tasks, void* scratch);

}  // namespace hr::cpu
