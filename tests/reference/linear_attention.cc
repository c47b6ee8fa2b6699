// LinearAttention step by step, and backward with all states kept.
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

struct Attention {
  const Call& call;
  const Array &q, &k, &v;
  int64_t q_heads, heads, batch, steps, keys, values;

  explicit Attention(const Call& c)
      : call(c),
        q(c.In(0)),
        k(c.In(1)),
        v(c.In(2)),
        q_heads(c.Int("q_num_heads", 1)),
        heads(c.Int("kv_num_heads", 1)),
        batch(q.dims[0]),
        steps(q.dims[1]),
        keys(q.dims[2] / q_heads),
        values(v.dims[2] / heads) {}

  Number Scale() const {
    const Number scale = call.Float("scale", 0);
    return scale != 0 ? scale : 1 / std::sqrt(static_cast<Number>(keys));
  }
  Dims StateDims() const { return {batch, heads, keys, values}; }
  Dims K(int64_t n, int64_t t, int64_t h, int64_t d) const { return {n, t, h * keys + d}; }
  Dims V(int64_t n, int64_t t, int64_t h, int64_t m) const { return {n, t, h * values + m}; }
  Dims Decay(int64_t n, int64_t t, int64_t h, int64_t d) const {
    return {n, t, call.In(4).dims[2] == heads ? h : h * keys + d};
  }
  Dims Beta(int64_t n, int64_t t, int64_t h) const {
    return {n, t, call.In(5).dims[2] == 1 ? 0 : h};
  }
  Array Past(DType dtype) const { return call.Has(3) ? call.In(3) : Array(dtype, StateDims()); }
  // S' of S before step t.
  Array Faded(Array state, int64_t t) const {
    if (!call.Has(4)) return state;
    ForEach(state.dims,
            [&](const Dims& i) { state[i] *= std::exp(call.In(4)[Decay(i[0], t, i[1], i[2])]); });
    return state;
  }
  // v - S'ᵀ k, or v.
  Number Rest(const Array& faded, int64_t n, int64_t t, int64_t h, int64_t m) const {
    Number rest = v[V(n, t, h, m)];
    for (int64_t d = 0; call.Has(5) && d < keys; ++d) {
      rest -= faded[{n, h, d, m}] * k[K(n, t, h, d)];
    }
    return rest;
  }
  Number BetaOf(int64_t n, int64_t t, int64_t h) const {
    return call.Has(5) ? call.In(5)[Beta(n, t, h)] : 1;
  }
  Array After(const Array& faded, int64_t t) const {
    Array state = faded;
    ForEach(state.dims, [&](const Dims& i) {
      state[i] +=
          k[K(i[0], t, i[1], i[2])] * BetaOf(i[0], t, i[1]) * Rest(faded, i[0], t, i[1], i[3]);
    });
    return state;
  }
};

void LinearAttention(Call& call) {
  const Attention a(call);
  Array state = a.Past(a.q.dtype), y(a.q.dtype, {a.batch, a.steps, a.q_heads * a.values});
  const int64_t group = a.q_heads / a.heads;
  for (int64_t t = 0; t < a.steps; ++t) {
    state = a.After(a.Faded(state, t), t);
    ForEach({a.batch, a.q_heads, a.values, a.keys}, [&](const Dims& i) {
      y[a.V(i[0], t, i[1], i[2])] +=
          a.Scale() * a.q[a.K(i[0], t, i[1], i[3])] * state[{i[0], i[1] / group, i[3], i[2]}];
    });
  }
  call.Out(0, std::move(y));
  call.Out(1, std::move(state));
}

void LinearAttentionGrad(Call& call) {
  const Attention a(call);
  const int64_t group = a.q_heads / a.heads;
  std::vector<Array> faded, after;
  Array state = a.Past(a.q.dtype);
  for (int64_t t = 0; t < a.steps; ++t) {
    faded.push_back(a.Faded(state, t));
    state = a.After(faded.back(), t);
    after.push_back(state);
  }
  const auto zeros = [&](size_t i) {
    return call.Has(i) ? Array(call.In(i).dtype, call.In(i).dims) : Array(a.q.dtype, {0});
  };
  Array dq = zeros(0), dk = zeros(1), dv = zeros(2), d_decay = zeros(4), d_beta = zeros(5);
  Array ds = call.Has(7) ? call.In(7) : Array(state.dtype, a.StateDims());
  ds.dtype = state.dtype;
  for (int64_t t = a.steps - 1; t >= 0; --t) {
    const Array &s = after[static_cast<size_t>(t)], &before = faded[static_cast<size_t>(t)];
    ForEach({a.batch, a.q_heads, a.keys, a.values}, [&](const Dims& i) {
      if (!call.Has(6)) return;
      const Number dy = a.Scale() * call.In(6)[a.V(i[0], t, i[1], i[3])];
      const Dims at = {i[0], i[1] / group, i[2], i[3]};
      dq[a.K(i[0], t, i[1], i[2])] += dy * s[at];
      ds[at] += dy * a.q[a.K(i[0], t, i[1], i[2])];
    });
    // s = before + k (beta rest)ᵀ; rest = v - beforeᵀ k with a beta
    Array d_before = ds;
    ForEach({a.batch, a.heads, a.values}, [&](const Dims& i) {
      const int64_t n = i[0], h = i[1], m = i[2];
      const Number beta = a.BetaOf(n, t, h), rest = a.Rest(before, n, t, h, m);
      Number d_update = 0;
      for (int64_t d = 0; d < a.keys; ++d) {
        d_update += ds[{n, h, d, m}] * a.k[a.K(n, t, h, d)];
        dk[a.K(n, t, h, d)] += ds[{n, h, d, m}] * beta * rest;
      }
      dv[a.V(n, t, h, m)] += d_update * beta;
      if (!call.Has(5)) return;
      d_beta[a.Beta(n, t, h)] += d_update * rest;
      for (int64_t d = 0; d < a.keys; ++d) {
        dk[a.K(n, t, h, d)] -= d_update * beta * before[{n, h, d, m}];
        d_before[{n, h, d, m}] -= d_update * beta * a.k[a.K(n, t, h, d)];
      }
    });
    ds = d_before;
    if (!call.Has(4)) continue;
    ForEach(ds.dims, [&](const Dims& i) {
      const Dims at = a.Decay(i[0], t, i[1], i[2]);
      d_decay[at] += ds[i] * before[i];
      ds[i] *= std::exp(call.In(4)[at]);
    });
  }
  call.Out(0, std::move(dq));
  call.Out(1, std::move(dk));
  call.Out(2, std::move(dv));
  call.Out(3, std::move(ds));
  call.Out(4, std::move(d_decay));
  call.Out(5, std::move(d_beta));
}

const Entry kLinearAttentionEntries[] = {
    {"", "LinearAttention", LinearAttention},
    {"headrace.grad", "LinearAttentionGrad", LinearAttentionGrad},
};

}  // namespace

std::span<const Entry> LinearAttentionFunctions() { return kLinearAttentionEntries; }

}  // namespace hr::reference
