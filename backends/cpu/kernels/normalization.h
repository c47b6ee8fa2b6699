// Normalization of rows (LayerNormalization), of channels (BatchNormalization) and of groups of
// channels (GroupNormalization), and their gradients, for float and double: Ba, Kiros and Hinton,
// "Layer Normalization" (2016); Ioffe and Szegedy, "Batch Normalization" (2015); Wu and He, "Group
// Normalization" (2018).
//
// Variances are of the population. Those of rows are taken about the mean, in a second pass; those
// of channels and groups are added up of parts, each about its own mean (moments.h), which takes
// one pass over memory. Nothing is allocated; results depend on the shapes and on `tasks` (from
// NormTasks), never on how many threads the lease has. An output may be the memory of an input of
// its shape.
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

// x is [batch, channels, inner], as are dy, y and residuals; everything else has one element a
// channel.
struct ChannelShape {
  int64_t batch = 0, channels = 0, inner = 0;

  int64_t count() const { return batch * inner; }
};
// What is done to normalized channels while they are in the cache.
template <typename T>
struct ChannelTail {
  const T* residual = nullptr;  // not null: is added
  bool relu = false;            // then
};
// With the given statistics.
template <typename T>
void NormalizeChannels(const Lease& threads, const ChannelShape& shape, double epsilon, const T* x,
                       const T* scale, const T* bias, const T* mean, const T* variance, T* y,
                       int tasks);
// Those of x go to mean and variance, for the gradient, if not null; old * momentum + new *
// (1 - momentum) goes to the running ones, if not null.
template <typename T>
struct TrainingStatistics {
  double momentum = 0.9;
  const T* old_mean = nullptr;
  const T* old_variance = nullptr;
  T* running_mean = nullptr;
  T* running_variance = nullptr;
  T* mean = nullptr;
  T* variance = nullptr;

  // Of channel c.
  void Put(int64_t c, double now_mean, double now_variance) const {
    const auto mix = [&](T old, double now) {
      return static_cast<T>(momentum * old + (1 - momentum) * now);
    };
    if (running_mean != nullptr) running_mean[c] = mix(old_mean[c], now_mean);
    if (running_variance != nullptr) running_variance[c] = mix(old_variance[c], now_variance);
    if (mean != nullptr) mean[c] = static_cast<T>(now_mean);
    if (variance != nullptr) variance[c] = static_cast<T>(now_variance);
  }
};
// With those of x.
template <typename T>
void TrainChannels(const Lease& threads, const ChannelShape& shape, double epsilon, const T* x,
                   const T* scale, const T* bias, const ChannelTail<T>& tail, T* y,
                   const TrainingStatistics<T>& statistics, int tasks);
// What a gradient knows of the normalization.
template <typename T>
struct ChannelsBefore {
  const T *mean = nullptr, *variance = nullptr;  // null: those of x
  bool given = false;                            // they are not those of x, and do not depend on it
  const T* bias = nullptr;  // not null: a ReLU followed, which dy has not passed yet
};
template <typename T>
void NormalizeChannelsGrad(const Lease& threads, const ChannelShape& shape, double epsilon,
                           const T* dy, const T* x, const T* scale, const ChannelsBefore<T>& before,
                           T* dx, T* dscale, T* dbias, int tasks);

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
