#include "backends/cpu/kernels/normalization.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/channel_kernels.h"
#include "backends/cpu/kernels/normalization_kernels.h"
#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {
namespace {

constexpr int64_t kTaskElements = 1 << 13;  // worth waking a thread

// Calls body(group) for each of `groups`, cut into tasks.
template <typename Body>
void ForGroups(const Lease& threads, int64_t groups, int tasks, const Body& body) {
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(groups, tasks, task);
    for (int64_t group = part.begin; group < part.end; ++group) body(group);
  });
}

// Elements that are added up in T, which stay in the L1 cache.
constexpr int64_t kPart = 2048;

// One channel: its elements in runs.
template <typename T>
struct Channel {
  const ChannelShape& shape;
  int64_t channel;

  // Calls body(offset, runs) for parts of kPart elements at most, or for one run of as many.
  template <typename Body>
  void ForParts(const Body& body) const {
    const int64_t inner = shape.inner, stride = shape.channels * inner;
    const int64_t runs = std::max<int64_t>(1, kPart / std::max<int64_t>(1, inner));
    for (int64_t n = 0; n < shape.batch; n += runs) {
      const int64_t first = (n * shape.channels + channel) * inner;
      for (int64_t at = 0; at < inner; at += kPart) {
        body(first + at,
             ChannelRuns{std::min(runs, shape.batch - n), stride, std::min(kPart, inner - at)});
      }
    }
  }
  Moments MomentsOf(const T* x) const {
    Moments out;
    ForParts([&](int64_t at, const ChannelRuns& runs) {
      out.Add(KernelsForChannels<T>().moments(x + at, runs));
    });
    return out;
  }
};

// The statistics as the gradient gets them, and the gradient's ReLU must meet the very same
// numbers: so they are rounded before they are used.
template <typename T>
ChannelLine<T> LineOf(T mean, T variance, double epsilon, T scale, T bias) {
  return {mean, static_cast<T>(scale * InverseDeviation(variance, epsilon)), bias};
}

template <typename T>
void NormalizeChannel(const Channel<T>& channel, const ChannelLine<T>& line, const T* x,
                      const ChannelTail<T>& tail, T* y) {
  const auto normalize = KernelsForChannels<T>().normalize[tail.relu ? 1 : 0];
  channel.ForParts([&](int64_t at, const ChannelRuns& runs) {
    normalize(x + at, runs, line, tail.residual == nullptr ? nullptr : tail.residual + at, y + at);
  });
}

// Row `row` of GroupShape: one group of one batch, whose channels lie one behind the other.
template <typename T>
struct Group {
  const GroupShape& shape;
  int64_t row;

  int64_t begin() const { return row * shape.length(); }
  int64_t first_channel() const { return row % shape.groups * shape.channels; }
  // As one channel: the same sums.
  Moments MomentsOf(const T* x) const {
    const ChannelShape all{1, 1, shape.length()};
    return Channel<T>{all, 0}.MomentsOf(x + begin());
  }
  // Calls body(channel, offset) for each of its channels.
  template <typename Body>
  void ForChannels(const Body& body) const {
    for (int64_t c = 0; c < shape.channels; ++c)
      body(first_channel() + c, begin() + c * shape.inner);
  }
};

// The gradient of one group; `sums` and `products` get those of dy and of dy xhat, one a channel of
// all groups.
template <typename T>
void NormalizeGroupGrad(const Group<T>& group, double epsilon, const T* dy, const T* x,
                        const T* scale, T* dx, T* sums, T* products) {
  const NormKernels<T>& kernels = KernelsForNormalization<T>();
  const int64_t inner = group.shape.inner;
  const Moments moments = group.MomentsOf(x);
  const auto m = static_cast<T>(moments.mean);
  const double inverse = InverseDeviation(moments.variance(), epsilon);
  double sum = 0, product = 0;
  group.ForChannels([&](int64_t c, int64_t at) {
    T both[2];
    kernels.dots(dy + at, nullptr, x + at, inner, m, static_cast<T>(inverse), both);
    sums[c] = both[0];
    products[c] = both[1];
    sum += static_cast<double>(scale[c]) * static_cast<double>(both[0]);
    product += static_cast<double>(scale[c]) * static_cast<double>(both[1]);
  });
  if (dx == nullptr) return;
  const double share = inverse / static_cast<double>(group.shape.length());
  group.ForChannels([&](int64_t c, int64_t at) {
    kernels.combine(dy + at, x + at, inner, static_cast<T>(scale[c] * inverse),
                    static_cast<T>(sum * share), m, static_cast<T>(inverse * product * share),
                    dx + at);
  });
}

}  // namespace

int NormTasks(int64_t groups, int64_t length, int slices) {
  const int64_t useful = std::min(groups, groups * length / kTaskElements);
  return static_cast<int>(std::clamp<int64_t>(useful, 1, slices));
}

template <typename T>
void NormalizeRows(const Lease& threads, const RowShape& shape, double epsilon, const T* x,
                   const T* scale, const T* bias, T* y, T* mean, T* inverse, int tasks) {
  const NormKernels<T>& kernels = KernelsForNormalization<T>();
  const int64_t n = shape.length;
  ForGroups(threads, shape.rows, tasks, [&](int64_t row) {
    const T* from = x + row * n;
    const T m = kernels.sum(from, n) / static_cast<T>(n);
    const double variance = kernels.squares(from, n, m) / static_cast<double>(n);
    const auto i = static_cast<T>(InverseDeviation(variance, epsilon));
    kernels.normalize_each(from, n, m, i, scale, bias, y + row * n);
    if (mean != nullptr) mean[row] = m;
    if (inverse != nullptr) inverse[row] = i;
  });
}

template <typename T>
void NormalizeRowsGrad(const Lease& threads, const RowShape& shape, const T* dy, const T* x,
                       const T* scale, const T* mean, const T* inverse, T* dx, T* dscale, int tasks,
                       T* scratch) {
  const NormKernels<T>& kernels = KernelsForNormalization<T>();
  const int64_t n = shape.length;
  threads.ParallelFor(tasks, [&](int task) {
    T* partial = scratch + task * n;
    std::fill_n(partial, n, T(0));
    const Range part = PartOf(shape.rows, tasks, task);
    for (int64_t row = part.begin; row < part.end; ++row) {
      const int64_t at = row * n;
      const T i = inverse[row];
      T sums[2];
      kernels.dots(dy + at, scale, x + at, n, mean[row], i, sums);
      kernels.accumulate(dy + at, x + at, n, mean[row], i, partial);
      const auto count = static_cast<T>(n);
      kernels.gradient(dy + at, scale, x + at, n, i, sums[0] / count, mean[row],
                       i * sums[1] / count, dx + at);
    }
  });
  AddParts(scratch, n, tasks, n, dscale);
}

template <typename T>
void NormalizeChannels(const Lease& threads, const ChannelShape& shape, double epsilon, const T* x,
                       const T* scale, const T* bias, const T* mean, const T* variance, T* y,
                       int tasks) {
  ForGroups(threads, shape.channels, tasks, [&](int64_t c) {
    NormalizeChannel<T>({shape, c}, LineOf(mean[c], variance[c], epsilon, scale[c], bias[c]), x, {},
                        y);
  });
}

template <typename T>
void TrainChannels(const Lease& threads, const ChannelShape& shape, double epsilon, const T* x,
                   const T* scale, const T* bias, const ChannelTail<T>& tail, T* y,
                   const TrainingStatistics<T>& statistics, int tasks) {
  ForGroups(threads, shape.channels, tasks, [&](int64_t c) {
    const Channel<T> channel{shape, c};
    const Moments moments = channel.MomentsOf(x);
    const auto mean = static_cast<T>(moments.mean), variance = static_cast<T>(moments.variance());
    NormalizeChannel(channel, LineOf(mean, variance, epsilon, scale[c], bias[c]), x, tail, y);
    statistics.Put(c, moments.mean, moments.variance());
  });
}

template <typename T>
void NormalizeChannelsGrad(const Lease& threads, const ChannelShape& shape, double epsilon,
                           const T* dy, const T* x, const T* scale, const ChannelsBefore<T>& before,
                           T* dx, T* dscale, T* dbias, int tasks) {
  const ChannelKernels<T>& kernels = KernelsForChannels<T>();
  const int relu = before.bias == nullptr ? 0 : 1;
  ForGroups(threads, shape.channels, tasks, [&](int64_t c) {
    const Channel<T> channel{shape, c};
    T mean, variance;
    if (before.mean == nullptr) {
      const Moments moments = channel.MomentsOf(x);
      mean = static_cast<T>(moments.mean), variance = static_cast<T>(moments.variance());
    } else {
      mean = before.mean[c], variance = before.variance[c];
    }
    const ChannelLine<T> line =
        LineOf(mean, variance, epsilon, scale[c], relu == 0 ? T(0) : before.bias[c]);
    double sum = 0, product = 0;
    channel.ForParts([&](int64_t at, const ChannelRuns& runs) {
      T sums[2];
      kernels.dots[relu](dy + at, x + at, runs, line, sums);
      sum += static_cast<double>(sums[0]);
      product += static_cast<double>(sums[1]);
    });
    const double inverse = shape.count() == 0 ? 0 : InverseDeviation(variance, epsilon);
    // Statistics that were given do not depend on x.
    const double share = before.given ? 0 : 1 / static_cast<double>(shape.count());
    channel.ForParts([&](int64_t at, const ChannelRuns& runs) {
      kernels.gradient[relu](dy + at, x + at, runs, line, static_cast<T>(sum * share),
                             static_cast<T>(inverse * inverse * product * share), dx + at);
    });
    dscale[c] = static_cast<T>(product * inverse);
    dbias[c] = static_cast<T>(sum);
  });
}

template <typename T>
void NormalizeGroups(const Lease& threads, const GroupShape& shape, double epsilon, const T* x,
                     const T* scale, const T* bias, T* y, int tasks) {
  const ChannelRuns run{1, 0, shape.inner};
  ForGroups(threads, shape.rows(), tasks, [&](int64_t row) {
    const Group<T> group{shape, row};
    const Moments moments = group.MomentsOf(x);
    const double inverse = InverseDeviation(moments.variance(), epsilon);
    group.ForChannels([&](int64_t c, int64_t at) {
      const ChannelLine<T> line{static_cast<T>(moments.mean), static_cast<T>(scale[c] * inverse),
                                bias[c]};
      KernelsForChannels<T>().normalize[0](x + at, run, line, nullptr, y + at);
    });
  });
}

template <typename T>
void NormalizeGroupsGrad(const Lease& threads, const GroupShape& shape, double epsilon, const T* dy,
                         const T* x, const T* scale, T* dx, T* dscale, T* dbias, int tasks,
                         T* scratch) {
  const int64_t channels = shape.all_channels();
  T *sums = scratch, *products = scratch + shape.batch * channels;
  ForGroups(threads, shape.rows(), tasks, [&](int64_t row) {
    const int64_t batch = row / shape.groups * channels;
    NormalizeGroupGrad<T>({shape, row}, epsilon, dy, x, scale, dx, sums + batch, products + batch);
  });
  const bool empty = shape.rows() * shape.length() == 0;
  const auto add = [&](const T* parts, T* to) {
    if (to != nullptr && empty) std::fill_n(to, channels, T(0));
    if (to != nullptr && !empty) AddParts(parts, channels, shape.batch, channels, to);
  };
  add(sums, dbias);
  add(products, dscale);
}

#define HR_INSTANTIATE(T)                                                                          \
  template void NormalizeRows(const Lease&, const RowShape&, double, const T*, const T*, const T*, \
                              T*, T*, T*, int);                                                    \
  template void NormalizeRowsGrad(const Lease&, const RowShape&, const T*, const T*, const T*,     \
                                  const T*, const T*, T*, T*, int, T*);                            \
  template void NormalizeChannels(const Lease&, const ChannelShape&, double, const T*, const T*,   \
                                  const T*, const T*, const T*, T*, int);                          \
  template void TrainChannels(const Lease&, const ChannelShape&, double, const T*, const T*,       \
                              const T*, const ChannelTail<T>&, T*, const TrainingStatistics<T>&,   \
                              int);                                                                \
  template void NormalizeChannelsGrad(const Lease&, const ChannelShape&, double, const T*,         \
                                      const T*, const T*, const ChannelsBefore<T>&, T*, T*, T*,    \
                                      int);                                                        \
  template void NormalizeGroups(const Lease&, const GroupShape&, double, const T*, const T*,       \
                                const T*, T*, int);                                                \
  template void NormalizeGroupsGrad(const Lease&, const GroupShape&, double, const T*, const T*,   \
                                    const T*, T*, T*, T*, int, T*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
