#include <algorithm>
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

Dims PooledDims(const Dims& x, const std::vector<Axis>& axes) {
  Dims dims = {x[0], x[1]};
  for (const Axis& axis : axes) dims.push_back(axis.output);
  return dims;
}

// Visits the elements of x in the window of output `out`, in row-major order.
void ForEachInWindow(const std::vector<Axis>& axes, const Dims& out,
                     const std::function<void(const Dims& in)>& visit) {
  Dims kernel;
  for (const Axis& axis : axes) kernel.push_back(axis.kernel);
  ForEach(kernel, [&](const Dims& k) {
    Dims in = {out[0], out[1]};
    for (size_t d = 0; d < axes.size(); ++d) {
      in.push_back(axes[d].Position(out[d + 2], k[d]));
      if (in.back() < 0) return;
    }
    visit(in);
  });
}

std::vector<Axis> PoolWindows(const Call& call, const Dims& x) {
  return Windows(call, call.Ints("kernel_shape"), Dims(x.begin() + 2, x.end()));
}

// The first largest element of the window, or its last NaN; empty where the window holds padding
// only.
Dims Largest(const std::vector<Axis>& axes, const Array& x, const Dims& out) {
  Dims best;
  ForEachInWindow(axes, out, [&](const Dims& in) {
    if (best.empty() || x[in] > x[best] || std::isnan(x[in])) best = in;
  });
  return best;
}

// The position in x counted with the spatial axes row-major, or column-major with storage_order 1.
Number FlatIndex(const Dims& dims, const Dims& index, bool column_major) {
  int64_t flat = index[0] * dims[1] + index[1];
  size_t spatial = dims.size() - 2;
  for (size_t d = 0; d < spatial; ++d) flat *= dims[d + 2];
  int64_t inside = 0;
  for (size_t d = 0; d < spatial; ++d) {
    size_t at = 2 + (column_major ? spatial - 1 - d : d);
    inside = inside * dims[at] + index[at];
  }
  return flat + inside;
}

void MaxPool(Call& call) {
  const Array& x = call.In(0);
  std::vector<Axis> axes = PoolWindows(call, x.dims);
  Array y(x.dtype, PooledDims(x.dims, axes));
  Array indices(DType::kInt64, y.dims);
  bool column_major = call.Int("storage_order", 0) != 0;
  ForEach(y.dims, [&](const Dims& out) {
    Dims best = Largest(axes, x, out);
    if (best.empty()) Fail("a window holds padding only");
    y[out] = x[best];
    indices[out] = FlatIndex(x.dims, best, column_major);
  });
  call.Out(0, std::move(y));
  call.Out(1, std::move(indices));
}

void MaxPoolGrad(Call& call) {
  const Array& dy = call.In(0);
  const Array& x = call.In(1);
  std::vector<Axis> axes = PoolWindows(call, x.dims);
  Array dx(dy.dtype, x.dims);
  ForEach(dy.dims, [&](const Dims& out) { dx[Largest(axes, x, out)] += dy[out]; });
  call.Out(0, std::move(dx));
}

// By how many elements a window is divided: those inside x, or with count_include_pad those inside
// x and its padding.
Number Divisor(const Call& call, const std::vector<Axis>& axes, const Dims& out) {
  Number product = 1;
  bool include_pad = call.Int("count_include_pad", 0) != 0;
  for (size_t d = 0; d < axes.size(); ++d) {
    const Axis& axis = axes[d];
    Number count = 0;
    for (int64_t k = 0; k < axis.kernel; ++k) {
      int64_t at = out[d + 2] * axis.stride + k * axis.dilation - axis.pad_begin;
      count += include_pad ? at < axis.input + axis.pad_end : at >= 0 && at < axis.input;
    }
    product *= count;
  }
  return product;
}

void AveragePool(Call& call) {
  const Array& x = call.In(0);
  std::vector<Axis> axes = PoolWindows(call, x.dims);
  Array y(x.dtype, PooledDims(x.dims, axes));
  ForEach(y.dims, [&](const Dims& out) {
    ForEachInWindow(axes, out, [&](const Dims& in) { y[out] += x[in]; });
    y[out] /= Divisor(call, axes, out);
  });
  call.Out(0, std::move(y));
}

void AveragePoolGrad(Call& call) {
  const Array& dy = call.In(0);
  std::vector<Axis> axes = PoolWindows(call, call.In(1).dims);
  Array dx(dy.dtype, call.In(1).dims);
  ForEach(dy.dims, [&](const Dims& out) {
    Number share = dy[out] / Divisor(call, axes, out);
    ForEachInWindow(axes, out, [&](const Dims& in) { dx[in] += share; });
  });
  call.Out(0, std::move(dx));
}

// The attribute p, which is a real number in old versions.
Number NormOf(const Call& call) {
  const auto* p = call.node.Find("p");
  if (p != nullptr && std::holds_alternative<double>(*p)) return std::get<double>(*p);
  return static_cast<Number>(call.Int("p", 2));
}

void LpPool(Call& call) {
  const Array& x = call.In(0);
  const Number p = NormOf(call);
  const std::vector<Axis> axes = PoolWindows(call, x.dims);
  Array y(x.dtype, PooledDims(x.dims, axes));
  ForEach(y.dims, [&](const Dims& out) {
    ForEachInWindow(axes, out, [&](const Dims& in) { y[out] += std::pow(std::fabs(x[in]), p); });
    y[out] = std::pow(y[out], 1 / p);
  });
  call.Out(0, std::move(y));
}

void LpPoolGrad(Call& call) {
  const Array &dy = call.In(0), &x = call.In(1), &y = call.In(2);
  const Number p = NormOf(call);
  const std::vector<Axis> axes = PoolWindows(call, x.dims);
  Array dx(dy.dtype, x.dims);
  ForEach(dy.dims, [&](const Dims& out) {
    if (y[out] == 0) return;
    ForEachInWindow(axes, out, [&](const Dims& in) {
      const Number sign = x[in] > 0 ? 1 : x[in] < 0 ? -1 : 0;
      dx[in] += dy[out] * sign * std::pow(std::fabs(x[in]) / y[out], p - 1);
    });
  });
  call.Out(0, std::move(dx));
}

// Visits every element of x with the index of its channel's single output.
Array GlobalOutput(const Array& x, const std::function<void(Number& y, Number x)>& visit,
                   Number start) {
  Dims dims(x.rank(), 1);
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  Array y(x.dtype, dims, start);
  ForEach(x.dims, [&](const Dims& i) {
    Dims out(x.rank(), 0);
    out[0] = i[0];
    out[1] = i[1];
    visit(y[out], x[i]);
  });
  return y;
}

void GlobalAveragePool(Call& call) {
  const Array& x = call.In(0);
  Number count = static_cast<Number>(x.size()) / static_cast<Number>(x.dims[0] * x.dims[1]);
  call.Out(0, GlobalOutput(
                  x, [&](Number& y, Number v) { y += v / count; }, 0));
}

void GlobalMaxPool(Call& call) {
  auto largest = [](Number& y, Number v) { y = v > y || std::isnan(v) ? v : y; };
  call.Out(0, GlobalOutput(call.In(0), largest, -INFINITY));
}

void GlobalLpPool(Call& call) {
  const Number p = NormOf(call);
  auto add = [&](Number& y, Number v) { y += std::pow(std::fabs(v), p); };
  Array y = GlobalOutput(call.In(0), add, 0);
  for (Number& v : y.data) v = std::pow(v, 1 / p);
  call.Out(0, std::move(y));
}

const Entry kPoolEntries[] = {{"", "LpPool", LpPool},
                              {"", "GlobalLpPool", GlobalLpPool},
                              {"headrace.grad", "LpPoolGrad", LpPoolGrad},
                              {"", "MaxPool", MaxPool},
                              {"", "AveragePool", AveragePool},
                              {"", "GlobalAveragePool", GlobalAveragePool},
                              {"", "GlobalMaxPool", GlobalMaxPool},
                              {"headrace.grad", "MaxPoolGrad", MaxPoolGrad},
                              {"headrace.grad", "AveragePoolGrad", AveragePoolGrad}};

}  // namespace

std::span<const Entry> PoolFunctions() { return kPoolEntries; }

}  // namespace hr::reference
