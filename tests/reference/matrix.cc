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

const Entry kEntries[] = {{"", "Gemm", Gemm}, {"", "MatMul", MatMul}};

}  // namespace

std::span<const Entry> MatrixFunctions() { return kEntries; }

}  // namespace hr::reference
