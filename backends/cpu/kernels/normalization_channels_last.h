// BatchNormalization of channels-last images, or of the columns of any matrix [rows, channels], and
// its gradient: Ioffe and Szegedy, "Batch Normalization" (2015). float and double.
//
// Variances are of the population, and added up of those of some rows, each about their own mean
// (moments.h); sums are made of sums over some rows in double. Nothing is allocated; results depend
// on the shapes and on `tasks` (from NormTasks of the rows), never on how many threads the lease
// has. An output may be the memory of an input of its shape.
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
// With those of x: as TrainChannels and NormalizeChannelsGrad.
template <typename T>
void TrainColumns(const Lease& threads, const ColumnShape& shape, double epsilon, const T* x,
                  const T* scale, const T* bias, const ChannelTail<T>& tail, T* y,
                  const TrainingStatistics<T>& statistics, int tasks, void* scratch);
template <typename T>
void NormalizeColumnsGrad(const Lease& threads, const ColumnShape& shape, double epsilon,
                          const T* dy, const T* x, const T* scale, const ChannelsBefore<T>& before,
                          T* dx, T* dscale, T* dbias, int tasks, void* scratch);

}  // namespace hr::cpu
