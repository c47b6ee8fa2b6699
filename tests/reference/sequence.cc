#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

void ReverseSequence(Call& call) {
  const Array& x = call.In(0);
  const auto batch = static_cast<size_t>(call.Int("batch_axis", 1));
  const auto time = static_cast<size_t>(call.Int("time_axis", 0));
  Array y = x;
  ForEach(x.dims, [&](const Dims& i) {
    const auto length = static_cast<int64_t>(call.In(1)[{i[batch]}]);
    if (length < 0 || length > x.dims[time]) Fail("a length of ", length);
    Dims from = i;
    if (i[time] < length) from[time] = length - 1 - i[time];
    y[i] = x[from];
  });
  call.Out(0, std::move(y));
}

// Calls visit(place in the update, place in the cache).
void ForWritten(const Call& call, const Dims& cache, const Dims& update,
                const std::function<void(const Dims&, const Dims&)>& visit) {
  const size_t axis = call.Axis(-2, cache.size());
  const bool circular = call.String("mode", "linear") == "circular";
  ForEach(update, [&](const Dims& i) {
    Dims to = i;
    if (call.Has(2)) to[axis] += static_cast<int64_t>(call.In(2)[{i[0]}]);
    if (circular) to[axis] = (to[axis] % cache[axis] + cache[axis]) % cache[axis];
    if (to[axis] < 0 || to[axis] >= cache[axis]) Fail("position ", to[axis], " of the cache");
    visit(i, to);
  });
}

void TensorScatter(Call& call) {
  Array y = call.In(0);
  const Array& update = call.In(1);
  ForWritten(call, y.dims, update.dims,
             [&](const Dims& from, const Dims& to) { y[to] = update[from]; });
  call.Out(0, std::move(y));
}

void TensorScatterGrad(Call& call) {
  const Array& dy = call.In(0);
  Array out(dy.dtype, call.In(1).dims);
  ForWritten(call, dy.dims, out.dims,
             [&](const Dims& from, const Dims& to) { out[from] = dy[to]; });
  call.Out(0, std::move(out));
}

void CausalConvWithState(Call& call) {
  const Array &x = call.In(0), &weight = call.In(1);
  const int64_t back = weight.dims[2] - 1, length = x.dims[2];
  // Position t of the sequence, which begins before 0 with what was carried over.
  const auto at = [&](int64_t n, int64_t c, int64_t t) -> Number {
    if (t >= 0) return x[{n, c, t}];
    return call.Has(3) ? call.In(3)[{n, c, t + back}] : 0;
  };
  Array y = x;
  ForEach(x.dims, [&](const Dims& i) {
    Number sum = call.Has(2) ? call.In(2)[{i[1]}] : 0;
    for (int64_t k = 0; k <= back; ++k) {
      sum += weight[{i[1], 0, k}] * at(i[0], i[1], i[2] + k - back);
    }
    const bool plain = call.String("activation", "none") == "none";
    y[i] = plain ? sum : sum / (1 + std::exp(-sum));
  });
  Array state(x.dtype, {x.dims[0], x.dims[1], back});
  ForEach(state.dims, [&](const Dims& i) { state[i] = at(i[0], i[1], length + i[2] - back); });
  call.Out(0, std::move(y));
  call.Out(1, std::move(state));
}

const Entry kSequenceEntries[] = {
    {"", "CausalConvWithState", CausalConvWithState},
    {"", "ReverseSequence", ReverseSequence},
    {"", "TensorScatter", TensorScatter},
    {"headrace.grad", "TensorScatterGrad", TensorScatterGrad},
};

}  // namespace

std::span<const Entry> SequenceFunctions() { return kSequenceEntries; }

}  // namespace hr::reference
