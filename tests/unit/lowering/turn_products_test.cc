// Products give what they give with every Transpose done by itself.
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

class TurnedProducts : public QuantizedChains {
 protected:
  static constexpr double kDistance = 1e-4;

  ValueId Transposed(ValueId x, std::span<const int64_t> perm) {
    return Apply("Transpose", {x}, {{"perm", perm}});
  }
  // A value of these dimensions, of which the memory may have any order of axes.
  ValueId Drawn(const Dims& dims) {
    const Dims perm = Permutation(dims.size());
    Dims memory(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) memory[static_cast<size_t>(perm[i])] = dims[i];
    return Transposed(Fed(memory, -1, 1), perm);
  }
  Dims Permutation(size_t rank) {
    Dims perm(rank);
    for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
    for (size_t i = rank; i > 1; --i) {
      std::swap(perm[i - 1], perm[static_cast<size_t>(Between(0, static_cast<int64_t>(i) - 1))]);
    }
    return perm;
  }
};

TEST_F(TurnedProducts, OfMatrices) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(0, 20), n = Between(1, 40), k = Between(1, 70);
    const bool gemm = Chance(), ta = gemm && Chance(), tb = gemm && Chance();
    const ValueId a = Drawn(ta ? Dims{k, m} : Dims{m, k}), b = Drawn(tb ? Dims{n, k} : Dims{k, n});
    ValueId y = gemm ? Apply("Gemm", {a, b},
                             {{"alpha", 0.5}, {"transA", int64_t{ta}}, {"transB", int64_t{tb}}})
                     : Apply("MatMul", {a, b});
    const Dims swap = {1, 0};
    const bool turned = Chance();
    if (turned) y = Transposed(y, swap);
    if (Chance()) y = Apply("Add", {y, Fed({turned ? m : n}, -1, 1)});
    Check(y, kDistance, "\"gemm", "\"transpose");
  }
}

// The transposed product has a bias of rows, which no kernel adds on its way.
TEST_F(TurnedProducts, KeepTheTransposeBehindABias) {
  const ValueId y = Apply("Gemm", {Fed({3, 5}, -1, 1), Fed({5, 7}, -1, 1), Fed({7}, -1, 1)});
  const Dims swap = {1, 0};
  Check(Transposed(y, swap), kDistance, "\"transpose", "nothing");
}

// What others read, too, is there.
TEST_F(TurnedProducts, LeaveWhatOthersTake) {
  const Dims swap = {1, 0};
  const ValueId w = Transposed(Fed({6, 5}, -1, 1), swap);
  const ValueId y = Apply("MatMul", {Fed({5, 5}, -1, 1), w});
  Check(Apply("Mul", {y, w}), kDistance, "\"transpose", "nothing");
  const ValueId turned = Transposed(y, swap);
  Check(Apply("MatMul", {turned, y}), kDistance, "\"gemm", "\"transpose");
}

TEST_F(TurnedProducts, OfBatches) {
  for (int round = 0; round < 120 && !HasFatalFailure(); ++round, Reset()) {
    const int64_t m = Between(0, 20), n = Between(1, 40), k = Between(1, 70);
    Dims a = {Between(1, 3), Between(1, 3)}, b = a;
    for (size_t i = 0; i < 2; ++i) {
      if (Between(0, 3) == 0) (Chance() ? a : b)[i] = 1;
    }
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    if (Between(0, 4) == 0) b.erase(b.begin());
    ValueId y = Apply("MatMul", {Drawn(a), Drawn(b)});
    if (Chance()) y = Transposed(y, Permutation(4));
    Check(y, kDistance, "\"matmul", "nothing");
  }
}

TEST_F(TurnedProducts, OfHeadsNeedNoTranspose) {
  const Dims heads = {0, 2, 1, 3}, swapped = {0, 2, 3, 1};
  const ValueId q = Transposed(Fed({2, 9, 3, 8}, -1, 1), heads);
  const ValueId k = Transposed(Fed({2, 7, 3, 8}, -1, 1), swapped);
  const ValueId y = Apply("MatMul", {q, k});
  Check(Transposed(y, heads), kDistance, "\"matmul", "\"transpose");
}

}  // namespace
}  // namespace hr::lowering
