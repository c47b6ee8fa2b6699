// Normalization of rows (LayerNormalization), of channels (BatchNormalization) and of groups of
// channels (GroupNormalization), and their gradients, for float and double: Ba, Kiros and Hinton,
// "Layer Normalization" (2016); Ioffe and Szegedy, "Batch Normalization" (2015); Wu and He, "Group
// Normalization" (2018).
//
// Variances are of the population and taken about the mean, in a second pass. Nothing is allocated;
// results depend on the shapes and on `tasks` (from NormTasks), never on how many threads the lease
// has. An output may be the memory of an input of its shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

// Into how many tasks `groups` (rows, channels or groups of these) of `length` elements are cut.
int NormTasks(int64_t groups, int64_t length, int slices);

// x is [rows, length]; scale and bias (null: 0) have `length` elements, mean and inverse (of the
// standard deviation) one a row. Those may be null where they are outputs.
struct RowShape {
  int64_t rows = 0, length = 0;
};
template <typename T>
void NormalizeRows(const Lease& threads, const RowShape& shape, double epsilon, const T* x,
                   const T* scale, const T* bias, T* y, T* mean, T* inverse, int tasks);
// dscale has `length` elements; scratch is for `tasks` times as many.
template <typename T>
void NormalizeRowsGrad(const Lease& threads, const RowShape& shape, const T* dy, const T* x,
                       const T* scale, const T* mean, const T* inverse, T* dx, T* dscale, int tasks,
                       T* scratch);

// x is [batch, channels, inner]; everything else has one element a channel.
struct ChannelShape {
  int64_t batch = 0, channels = 0, inner = 0;

  int64_t count() const { return batch * inner; }
};
// With the given statistics.
template <typename T>
void NormalizeChannels(const Lease& threads, const ChannelShape& shape, double epsilon, const T* x,
                       const T* scale, const T* bias, const T* mean, const T* variance, T* y,
                       int tasks);
// With those of x; old * momentum + new * (1 - momentum) goes to the running ones, if not null.
template <typename T>
struct RunningStatistics {
  double momentum = 0.9;
  const T* old_mean = nullptr;
  const T* old_variance = nullptr;
  T* mean = nullptr;
  T* variance = nullptr;
};
template <typename T>
void TrainChannels(const Lease& threads, const ChannelShape& shape, double epsilon, const T* x,
                   const T* scale, const T* bias, T* y, const RunningStatistics<T>& running,
                   int tasks);
// `mean` and `variance` are what the forward pass used, or null where those were of x.
template <typename T>
void NormalizeChannelsGrad(const Lease& threads, const ChannelShape& shape, double epsilon,
                           const T* dy, const T* x, const T* scale, const T* mean,
                           const T* variance, T* dx, T* dscale, T* dbias, int tasks);

// x is [batch, groups, channels, inner], `channels` of each group; scale and bias have one element
// a channel of all groups.
struct GroupShape {
  int64_t batch = 0, groups = 0, channels = 0, inner = 0;

  int64_t rows() const { return batch * groups; }
  int64_t all_channels() const { return groups * channels; }
  int64_t length() const { return channels * inner; }  // of the row that is one group
};
template <typename T>
void NormalizeGroups(const Lease& threads, const GroupShape& shape, double epsilon, const T* x,
                     const T* scale, const T* bias, T* y, int tasks);
// dx, dscale and dbias may be null; scratch is for two elements a channel of each batch.
template <typename T>
void NormalizeGroupsGrad(const Lease& threads, const GroupShape& shape, double epsilon, const T* dy,
                         const T* x, const T* scale, T* dx, T* dscale, T* dbias, int tasks,
                         T* scratch);

}  // namespace hr::cpu
