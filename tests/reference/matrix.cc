#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

Number At(const Array& matrix, int64_t row, int64_t column, bool transposed) {
  return transposed ? matrix[{column, row}] : matrix[{row, column}];
}

void Gemm(Call& call) {
  const Array& a = call.In(0);
  const Array& b = call.In(1);
  bool ta = call.Int("transA", 0) != 0;
  bool tb = call.Int("transB", 0) != 0;
  int64_t inner = a.dims[ta ? 0 : 1];
  Array out(a.dtype, {a.dims[ta ? 1 : 0], b.dims[tb ? 0 : 1]});
  ForEach(out.dims, [&](const Dims& i) {
    Number sum = 0;
    for (int64_t k = 0; k < inner; ++k) sum += At(a, i[0], k, ta) * At(b, k, i[1], tb);
    out[i] = call.Float("alpha", 1) * sum;
    if (call.Has(2)) out[i] += call.Float("beta", 1) * call.In(2).Broadcast(i);
  });
  call.Out(0, std::move(out));
}

void MatMul(Call& call) {
  Array a = call.In(0);
  Array b = call.In(1);
  bool row = a.rank() == 1;
  bool column = b.rank() == 1;
  if (row) a.dims.insert(a.dims.begin(), 1);
  if (column) b.dims.push_back(1);
  Dims batch =
      BroadcastDims(std::span(a.dims).first(a.rank() - 2), std::span(b.dims).first(b.rank() - 2))
          .value();
  int64_t inner = a.dims.back();
  if (b.dims[b.rank() - 2] != inner) Fail("the inner dimensions differ");
  Dims dims = batch;
  dims.push_back(a.dims[a.rank() - 2]);
  dims.push_back(b.dims.back());
  Array out(a.dtype, dims);
  ForEach(dims, [&](const Dims& i) {
    for (int64_t k = 0; k < inner; ++k) {
      Dims left = i;
      Dims right = i;
      left.back() = k;
      right[right.size() - 2] = k;
      out[i] += a.Broadcast(left) * b.Broadcast(right);
    }
  });
  if (column) out.dims.pop_back();
  if (row) out.dims.erase(out.dims.end() - (column ? 1 : 2));
  call.Out(0, std::move(out));
}

// Matrix `which` of x […, n, n], row by row.
using Rows = std::vector<std::vector<Number>>;
Rows MatrixOf(const Array& x, int64_t which) {
  const int64_t n = x.dims.back();
  Rows rows(static_cast<size_t>(n));
  for (int64_t i = 0; i < n * n; ++i) {
    rows[static_cast<size_t>(i / n)].push_back(x.data[static_cast<size_t>(which * n * n + i)]);
  }
  return rows;
}

Rows Minor(Rows rows, size_t row, size_t column) {
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(row));
  for (auto& left : rows) left.erase(left.begin() + static_cast<std::ptrdiff_t>(column));
  return rows;
}

// Along the first row.
Number Determinant(const Rows& rows) {
  if (rows.empty()) return 1;
  Number det = 0;
  for (size_t j = 0; j < rows.size(); ++j) {
    det += (j % 2 == 0 ? 1 : -1) * rows[0][j] * Determinant(Minor(rows, 0, j));
  }
  return det;
}

void Det(Call& call) {
  const Array& x = call.In(0);
  Array y(x.dtype, Dims(x.dims.begin(), x.dims.end() - 2));
  for (size_t i = 0; i < y.size(); ++i) {
    y.data[i] = Determinant(MatrixOf(x, static_cast<int64_t>(i)));
  }
  call.Out(0, std::move(y));
}

void DetGrad(Call& call) {
  const Array &dy = call.In(0), &x = call.In(1);
  Array dx(dy.dtype, x.dims);
  const auto n = static_cast<size_t>(x.dims.back());
  for (size_t i = 0; i < dx.size(); ++i) {
    const size_t which = i / (n * n), row = i / n % n, column = i % n;
    const Rows minor = Minor(MatrixOf(x, static_cast<int64_t>(which)), row, column);
    dx.data[i] = dy.data[which] * ((row + column) % 2 == 0 ? 1 : -1) * Determinant(minor);
  }
  call.Out(0, std::move(dx));
}

const Entry kMatrixEntries[] = {{"", "Gemm", Gemm},
                                {"", "MatMul", MatMul},
                                {"", "Det", Det},
                                {"headrace.grad", "DetGrad", DetGrad}};

}  // namespace

std::span<const Entry> MatrixFunctions() { return kMatrixEntries; }

}  // namespace hr::reference
