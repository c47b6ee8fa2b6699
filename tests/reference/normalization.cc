#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// Mean and variance of groups of elements; `group` maps an index of x to its group's index.
struct Moments {
  Array mean;
  Array variance;  // of the population

  Moments(const Array& x, const Dims& groups, const std::function<Dims(const Dims&)>& group)
      : mean(x.dtype, groups), variance(x.dtype, groups) {
    Number count = static_cast<Number>(x.size()) / static_cast<Number>(mean.size());
    ForEach(x.dims, [&](const Dims& i) { mean[group(i)] += x[i] / count; });
    ForEach(x.dims, [&](const Dims& i) {
      Number away = x[i] - mean[group(i)];
      variance[group(i)] += away * away / count;
    });
  }
};

Dims Channel(const Dims& i) { return {i[1]}; }

// The statistics that a BatchNormalization uses: of x in training, else those given at `first`.
Moments BatchMoments(const Call& call, const Array& x, size_t first) {
  Moments moments(x, {x.dims[1]}, Channel);
  if (call.Int("training_mode", 0) == 0) {
    moments.mean = call.In(first);
    moments.variance = call.In(first + 1);
  }
  return moments;
}

void BatchNormalization(Call& call) {
  const Array& x = call.In(0);
  Moments used = BatchMoments(call, x, 3);
  Array y = x;
  ForEach(x.dims, [&](const Dims& i) {
    Dims c = Channel(i);
    Number deviation = std::sqrt(used.variance[c] + call.Float("epsilon", 1e-5));
    y[i] = call.In(1)[c] * (x[i] - used.mean[c]) / deviation + call.In(2)[c];
  });
  auto running = [&](const Array& old, const Array& now) {
    Number momentum = call.Float("momentum", 0.9);
    Array out = old;
    for (size_t c = 0; c < out.size(); ++c) {
      out.data[c] = momentum * old.data[c] + (1 - momentum) * now.data[c];
    }
    return out;
  };
  call.Out(0, std::move(y));
  call.Out(1, running(call.In(3), used.mean));
  call.Out(2, running(call.In(4), used.variance));
}

// dx of y = (x - mean) / deviation, where mean and deviation depend on the group's x:
// (d - mean(d) - xhat mean(d xhat)) / deviation with d the gradient of xhat.
struct NormalizedGrad {
  Array dx;

  NormalizedGrad(const Array& d, const Array& xhat, const Dims& groups,
                 const std::function<Dims(const Dims&)>& group,
                 const std::function<Number(const Dims&)>& inverse_deviation)
      : dx(d) {
    Array mean(d.dtype, groups);
    Array projection(d.dtype, groups);
    Number count = static_cast<Number>(d.size()) / static_cast<Number>(mean.size());
    ForEach(d.dims, [&](const Dims& i) {
      mean[group(i)] += d[i] / count;
      projection[group(i)] += d[i] * xhat[i] / count;
    });
    ForEach(d.dims, [&](const Dims& i) {
      dx[i] = (d[i] - mean[group(i)] - xhat[i] * projection[group(i)]) * inverse_deviation(i);
    });
  }
};

void BatchNormalizationGrad(Call& call) {
  const Array& dy = call.In(0);
  const Array& x = call.In(1);
  const Array& scale = call.In(2);
  Moments used = BatchMoments(call, x, 3);
  auto inverse = [&](const Dims& i) {
    return 1 / std::sqrt(used.variance[Channel(i)] + call.Float("epsilon", 1e-5));
  };
  Array xhat = x;
  Array d = dy;
  Array dscale(scale.dtype, scale.dims);
  Array dbias = dscale;
  ForEach(x.dims, [&](const Dims& i) {
    Dims c = Channel(i);
    xhat[i] = (x[i] - used.mean[c]) * inverse(i);
    d[i] = dy[i] * scale[c];
    dscale[c] += dy[i] * xhat[i];
    dbias[c] += dy[i];
  });
  if (call.Int("training_mode", 0) != 0) {
    call.Out(0, NormalizedGrad(d, xhat, {x.dims[1]}, Channel, inverse).dx);
  } else {
    ForEach(d.dims, [&](const Dims& i) { d[i] *= inverse(i); });
    call.Out(0, std::move(d));
  }
  call.Out(1, std::move(dscale));
  call.Out(2, std::move(dbias));
}

// Fails unless the input broadcasts to x.
void ExpectBroadcast(const Call& call, size_t input, const Dims& x) {
  if (!call.Has(input)) return;
  auto dims = BroadcastDims(x, call.In(input).dims);
  if (!dims.ok() || *dims != x) Fail("input ", input, " does not broadcast to the first");
}

// Groups of a LayerNormalization: 1 from the axis on.
Dims LayerGroups(Dims dims, size_t axis) {
  for (size_t d = axis; d < dims.size(); ++d) dims[d] = 1;
  return dims;
}
Dims LayerGroup(Dims index, size_t axis) {
  for (size_t d = axis; d < index.size(); ++d) index[d] = 0;
  return index;
}

void LayerNormalization(Call& call) {
  const Array& x = call.In(0);
  size_t axis = call.Axis(-1, x.rank());
  auto group = [&](const Dims& i) { return LayerGroup(i, axis); };
  for (size_t i : {1, 2}) ExpectBroadcast(call, i, x.dims);
  Moments moments(x, LayerGroups(x.dims, axis), group);
  Array inverse = moments.variance;
  for (Number& v : inverse.data) v = 1 / std::sqrt(v + call.Float("epsilon", 1e-5));
  Array y = x;
  ForEach(x.dims, [&](const Dims& i) {
    y[i] = (x[i] - moments.mean[group(i)]) * inverse[group(i)] * call.In(1).Broadcast(i);
    if (call.Has(2)) y[i] += call.In(2).Broadcast(i);
  });
  if (x.dtype != DType::kFloat64) {
    moments.mean.dtype = inverse.dtype = static_cast<DType>(call.Int("stash_type", 1));
  }
  call.Out(0, std::move(y));
  call.Out(1, std::move(moments.mean));
  call.Out(2, std::move(inverse));
}

void LayerNormalizationGrad(Call& call) {
  const Array& dy = call.In(0);
  const Array& x = call.In(1);
  const Array& mean = call.In(3);
  const Array& inverse = call.In(4);
  ExpectBroadcast(call, 2, x.dims);
  size_t axis = call.Axis(-1, x.rank());
  auto group = [&](const Dims& i) { return LayerGroup(i, axis); };
  Array xhat = x;
  Array d = dy;
  Array product = dy;
  ForEach(x.dims, [&](const Dims& i) {
    xhat[i] = (x[i] - mean[group(i)]) * inverse[group(i)];
    d[i] = dy[i] * call.In(2).Broadcast(i);
    product[i] = dy[i] * xhat[i];
  });
  auto inverse_of = [&](const Dims& i) { return inverse[group(i)]; };
  call.Out(0, NormalizedGrad(d, xhat, mean.dims, group, inverse_of).dx);
  call.Out(1, SumTo(product, call.In(2).dims));
}

// The group of a GroupNormalization that an index of x [N, C, …] belongs to, in [N, groups].
struct ChannelGroups {
  int64_t groups, channels;  // channels of each

  ChannelGroups(const Call& call, const Array& x)
      : groups(call.Int("num_groups", 0)), channels(groups > 0 ? x.dims[1] / groups : 0) {
    if (groups < 1 || x.dims[1] % groups != 0) Fail(groups, " groups of ", x.dims[1], " channels");
  }
  Dims Of(const Dims& i) const { return {i[0], i[1] / channels}; }
};

void GroupNormalization(Call& call) {
  const Array& x = call.In(0);
  ChannelGroups groups(call, x);
  auto group = [&](const Dims& i) { return groups.Of(i); };
  Moments moments(x, {x.dims[0], groups.groups}, group);
  Array y = x;
  ForEach(x.dims, [&](const Dims& i) {
    Number deviation = std::sqrt(moments.variance[group(i)] + call.Float("epsilon", 1e-5));
    Number xhat = (x[i] - moments.mean[group(i)]) / deviation;
    y[i] = xhat * call.In(1)[Channel(i)] + call.In(2)[Channel(i)];
  });
  call.Out(0, std::move(y));
}

void GroupNormalizationGrad(Call& call) {
  const Array& dy = call.In(0);
  const Array& x = call.In(1);
  const Array& scale = call.In(2);
  ChannelGroups groups(call, x);
  auto group = [&](const Dims& i) { return groups.Of(i); };
  const Dims group_dims = {x.dims[0], groups.groups};
  Moments moments(x, group_dims, group);
  auto inverse = [&](const Dims& i) {
    return 1 / std::sqrt(moments.variance[group(i)] + call.Float("epsilon", 1e-5));
  };
  Array xhat = x;
  Array d = dy;
  Array dscale(scale.dtype, scale.dims);
  Array dbias = dscale;
  ForEach(x.dims, [&](const Dims& i) {
    xhat[i] = (x[i] - moments.mean[group(i)]) * inverse(i);
    d[i] = dy[i] * scale[Channel(i)];
    dscale[Channel(i)] += dy[i] * xhat[i];
    dbias[Channel(i)] += dy[i];
  });
  call.Out(0, NormalizedGrad(d, xhat, group_dims, group, inverse).dx);
  call.Out(1, std::move(dscale));
  call.Out(2, std::move(dbias));
}

const Entry kNormalizationEntries[] = {
    {"", "BatchNormalization", BatchNormalization},
    {"", "LayerNormalization", LayerNormalization},
    {"", "GroupNormalization", GroupNormalization},
    {"headrace.grad", "BatchNormalizationGrad", BatchNormalizationGrad},
    {"headrace.grad", "LayerNormalizationGrad", LayerNormalizationGrad},
    {"headrace.grad", "GroupNormalizationGrad", GroupNormalizationGrad},
};

}  // namespace

std::span<const Entry> NormalizationFunctions() { return kNormalizationEntries; }

}  // namespace hr::reference
