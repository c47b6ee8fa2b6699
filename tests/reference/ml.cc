// What ai.onnx.ml's operators are composed of.
#include <algorithm>
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// The row of `nodes` in which one tree ends for one row of x.
int64_t LeafOf(const Call& call, int64_t root, int64_t row) {
  const Array &x = call.In(0), &nodes = call.In(1), &splits = call.In(2), &members = call.In(6);
  const auto column = [&](int64_t node, int64_t i) {
    return static_cast<int64_t>(nodes[{node, i}]);
  };
  int64_t node = root;
  while (column(node, 0) != 7) {
    const Number value = x[{row, column(node, 1)}], split = splits[{node}];
    bool yes = false;
    switch (column(node, 0)) {
      case 0: yes = value <= split; break;
      case 1: yes = value < split; break;
      case 2: yes = value >= split; break;
      case 3: yes = value > split; break;
      case 4: yes = value == split; break;
      case 5: yes = value != split; break;
      default:
        for (int64_t i = column(node, 5); i < column(node, 6); ++i) yes |= value == members[{i}];
    }
    if (std::isnan(value) && column(node, 4) != 0) yes = true;
    node = column(node, yes ? 2 : 3);
  }
  return node;
}

void Forest(Call& call) {
  const Array &x = call.In(0), &nodes = call.In(1), &roots = call.In(3);
  const int64_t aggregate = call.Int("aggregate", 1);
  Array y(x.dtype, {x.dims[0], call.Int("n_targets", 1)});
  Array seen(DType::kInt64, y.dims);
  for (int64_t row = 0; row < x.dims[0]; ++row) {
    for (const Number root : roots.data) {
      const int64_t leaf = LeafOf(call, static_cast<int64_t>(root), row);
      for (auto w = static_cast<int64_t>(nodes[{leaf, 2}]); w < nodes[{leaf, 3}]; ++w) {
        const Dims at = {row, static_cast<int64_t>(call.In(4)[{w}])};
        const Number weight = call.In(5)[{w}];
        const bool first = seen[at] == 0;
        seen[at] = 1;
        if (aggregate == 2) {
          y[at] = first ? weight : std::min(y[at], weight);
        } else if (aggregate == 3) {
          y[at] = first ? weight : std::max(y[at], weight);
        } else {
          y[at] += weight / (aggregate == 0 ? static_cast<Number>(roots.size()) : 1);
        }
      }
    }
  }
  call.Out(0, std::move(y));
}

void LookUp(Call& call) {
  const Array &x = call.In(0), &keys = call.In(1), &values = call.In(2);
  Array y(values.dtype, x.dims, call.In(3).data[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = keys.size(); k-- > 0;) {
      const bool nan = std::isnan(x.data[i]) && std::isnan(keys.data[k]);
      if (nan || x.data[i] == keys.data[k]) y.data[i] = values.data[k];
    }
  }
  call.Out(0, std::move(y));
}

// p that add up to 1 are moved until (Qp)ₜ is p'Qp for each class t, within 0.005 / n.
void CoupleRow(int64_t n, const std::vector<std::vector<Number>>& q, std::vector<Number>& p) {
  for (int round = 0; round < 100; ++round) {
    std::vector<Number> qp(p.size(), 0);
    Number sum = 0, error = 0;
    for (size_t t = 0; t < p.size(); ++t) {
      for (size_t j = 0; j < p.size(); ++j) qp[t] += q[t][j] * p[j];
      sum += p[t] * qp[t];
    }
    for (const Number x : qp) error = std::max(error, std::fabs(x - sum));
    if (error < 0.005L / static_cast<Number>(n)) return;
    for (size_t t = 0; t < p.size(); ++t) {
      // Each class in turn, with what the ones before have changed.
      Number before = 0, at = 0;
      for (size_t j = 0; j < p.size(); ++j) {
        at += q[t][j] * p[j];
        for (size_t k = 0; k < p.size(); ++k) before += p[j] * q[j][k] * p[k];
      }
      const Number step = (before - at) / q[t][t];  // p adds up to 1
      p[t] += step;
      for (Number& x : p) x /= 1 + step;
    }
  }
}

void CouplePairs(Call& call) {
  const Array& pairs = call.In(0);
  const int64_t n = call.Int("classes", 2);
  const auto count = static_cast<size_t>(n);
  Array y(DType::kFloat32, {pairs.dims[0], n});
  for (int64_t row = 0; row < pairs.dims[0]; ++row) {
    std::vector<std::vector<Number>> q(count, std::vector<Number>(count, 0));
    int64_t pair = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        const Number r = std::clamp<Number>(pairs[{row, pair++}], 1e-7L, 1 - 1e-7L);
        q[i][i] += (1 - r) * (1 - r);
        q[j][j] += r * r;
        q[i][j] = q[j][i] = -r * (1 - r);
      }
    }
    std::vector<Number> p(count, 1 / static_cast<Number>(n));
    CoupleRow(n, q, p);
    for (int64_t t = 0; t < n; ++t) y[{row, t}] = p[static_cast<size_t>(t)];
  }
  call.Out(0, std::move(y));
}

const Entry kMlEntries[] = {{"headrace.ml", "CouplePairs", CouplePairs},
                            {"headrace.ml", "Forest", Forest},
                            {"headrace.ml", "LookUp", LookUp}};

}  // namespace

std::span<const Entry> MlFunctions() { return kMlEntries; }

}  // namespace hr::reference
