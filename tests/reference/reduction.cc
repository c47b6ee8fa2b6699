#include <algorithm>
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// Folds the elements of each group one by one.
struct Fold {
  Number start;
  Number (*step)(Number so_far, Number x);
  Number (*finish)(Number so_far, Number count);
};

Number Same(Number total, Number) { return total; }
Number Add(Number total, Number x) { return total + x; }

std::vector<bool> ReducedAxes(const Call& call, size_t rank) {
  std::vector<int64_t> axes = call.Has(1) ? call.In(1).Ints() : call.Ints("axes");
  bool all = axes.empty() && call.Int("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(rank, all);
  for (int64_t axis : axes) {
    reduced.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)) = true;
  }
  return reduced;
}

// The dims with 1 where reduced, and those that remain visible.
Dims KeptDims(const Dims& dims, const std::vector<bool>& reduced) {
  Dims out = dims;
  for (size_t d = 0; d < out.size(); ++d) {
    if (reduced[d]) out[d] = 1;
  }
  return out;
}
Dims VisibleDims(const Dims& kept, const std::vector<bool>& reduced, bool keep) {
  Dims out;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (keep || !reduced[d]) out.push_back(kept[d]);
  }
  return out;
}

Dims GroupOf(Dims index, const std::vector<bool>& reduced) {
  for (size_t d = 0; d < index.size(); ++d) {
    if (reduced[d]) index[d] = 0;
  }
  return index;
}

void Reduce(Call& call, const Fold& fold) {
  const Array& x = call.In(0);
  std::vector<bool> reduced = ReducedAxes(call, x.rank());
  bool nothing = std::find(reduced.begin(), reduced.end(), true) == reduced.end();
  if (nothing && x.rank() > 0) return call.Out(0, x);
  Array out(x.dtype, KeptDims(x.dims, reduced), fold.start);
  ForEach(x.dims, [&](const Dims& i) {
    Number& total = out[GroupOf(i, reduced)];
    total = fold.step(total, x[i]);
  });
  Number count =
      out.size() == 0 ? 0 : static_cast<Number>(x.size()) / static_cast<Number>(out.size());
  for (Number& total : out.data) total = Fit(x.dtype, fold.finish(total, count));
  out.dims = VisibleDims(out.dims, reduced, call.Int("keepdims", 1) != 0);
  call.Out(0, std::move(out));
}

template <Number (*Step)(Number, Number), Number (*Finish)(Number, Number) = Same>
void SumLike(Call& call) {
  Reduce(call, {0, Step, Finish});
}

// The extremes of nothing are the type's limits.
void Max(Call& call) {
  Reduce(call,
         {-INFINITY, [](Number m, Number x) { return std::isnan(x) || x > m ? x : m; }, Same});
}
void Min(Call& call) {
  Reduce(call, {INFINITY, [](Number m, Number x) { return std::isnan(x) || x < m ? x : m; }, Same});
}
void Prod(Call& call) {
  Reduce(call, {1, [](Number p, Number x) { return p * x; }, Same});
}

// In Number's range the exponentials of any tested input fit.
void LogSumExp(Call& call) {
  Reduce(call, {0, [](Number s, Number x) { return s + std::exp(x); },
                [](Number s, Number) { return std::log(s); }});
}

template <bool Largest>
void Arg(Call& call) {
  const Array& x = call.In(0);
  size_t axis = call.Axis(0, x.rank());
  bool last = call.Int("select_last_index", 0) != 0;
  std::vector<bool> reduced(x.rank(), false);
  reduced.at(axis) = true;
  Array out(DType::kInt64, KeptDims(x.dims, reduced), 0);
  ForEach(x.dims, [&](const Dims& i) {
    Dims best = GroupOf(i, reduced);
    Number& position = out[best];
    best[axis] = static_cast<int64_t>(position);
    bool better = Largest ? x[i] > x[best] : x[i] < x[best];
    if (better || (last && x[i] == x[best])) position = i[axis];
  });
  out.dims = VisibleDims(out.dims, reduced, call.Int("keepdims", 1) != 0);
  call.Out(0, std::move(out));
}

void SumToLike(Call& call) { call.Out(0, SumTo(call.In(0), call.In(1).dims)); }

const Entry kReductionEntries[] = {
    {"", "ReduceSum", SumLike<Add>},
    {"", "ReduceMean", SumLike<Add, [](Number s, Number n) { return s / n; }>},
    {"", "ReduceMax", Max},
    {"", "ReduceMin", Min},
    {"", "ReduceProd", Prod},
    {"", "ReduceSumSquare", SumLike<[](Number s, Number x) { return s + x * x; }>},
    {"", "ReduceL1", SumLike<[](Number s, Number x) { return s + std::fabs(x); }>},
    {"", "ReduceL2",
     SumLike<[](Number s, Number x) { return s + x * x; },
             [](Number s, Number) { return std::sqrt(s); }>},
    {"", "ReduceLogSum", SumLike<Add, [](Number s, Number) { return std::log(s); }>},
    {"", "ReduceLogSumExp", LogSumExp},
    {"", "ArgMax", Arg<true>},
    {"", "ArgMin", Arg<false>},
    {"headrace.grad", "SumTo", SumToLike},
};

}  // namespace

Array SumTo(const Array& x, const Dims& dims) {
  Array out(x.dtype, dims);
  size_t skipped = x.rank() - dims.size();
  ForEach(x.dims, [&](const Dims& i) {
    Dims to(i.begin() + static_cast<std::ptrdiff_t>(skipped), i.end());
    for (size_t d = 0; d < to.size(); ++d) {
      if (dims[d] == 1) to[d] = 0;
    }
    out[to] += x[i];
  });
  return out;
}

std::span<const Entry> ReductionFunctions() { return kReductionEntries; }

}  // namespace hr::reference
