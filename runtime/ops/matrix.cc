// Matrix products.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kGemmAttributes[] = {{"alpha", AttributeKind::kFloat},
                                            {"beta", AttributeKind::kFloat},
                                            {"transA", AttributeKind::kFlag},
                                            {"transB", AttributeKind::kFlag}};

Status InferGemm(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 2));
  auto dims = [&](size_t i, Literal transposed) {
    const ValueType& type = context.input(i);
    std::vector<Dim> out = type.ranked ? type.dims : std::vector<Dim>(2);
    if (context.node().Int(transposed, 0) != 0) std::swap(out[0], out[1]);
    return out;
  };
  std::vector<Dim> a = dims(0, "transA");
  std::vector<Dim> b = dims(1, "transB");
  HR_RETURN_IF_ERROR(EqualDims(context,
                               Cat("the inner dimensions of ", context.InputText(0), " and ",
                                   context.InputText(1)),
                               a[1], b[0])
                         .status());
  ValueType out{.dtype = context.input(0).dtype, .ranked = true, .dims = {a[0], b[1]}};
  if (context.has_input(2) && context.input(2).ranked) {
    HR_ASSIGN_OR_RETURN(auto&& sum, BroadcastTypes(context, out, context.input(2)));
    bool fits =
        sum.size() == 2 && (!a[0].fixed() || sum[0] == a[0]) && (!b[1].fixed() || sum[1] == b[1]);
    if (!fits) {
      return InvalidArgument("Gemm's ", context.InputText(2), " does not broadcast to ",
                             context.Text(out));
    }
  }
  context.SetOutput(0, std::move(out));
  return {};
}

// Returns the batch dimensions of a product's operand of rank 2 or more, as a type.
ValueType BatchOf(const ValueType& type) {
  ValueType out = type;
  out.dims.resize(type.dims.size() - 2);
  return out;
}

// NumPy's matmul: a vector on the left is a row, on the right a column, and its axis is dropped.
Status InferMatMul(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(1, 1));
  ValueType a = context.input(0);
  ValueType b = context.input(1);
  context.SetUnranked(0, a.dtype);
  if (!a.ranked || !b.ranked) return {};
  bool row = a.dims.size() == 1;
  bool column = b.dims.size() == 1;
  if (row) a.dims.insert(a.dims.begin(), FixedDim(1));
  if (column) b.dims.push_back(FixedDim(1));
  HR_RETURN_IF_ERROR(EqualDims(context,
                               Cat("the inner dimensions of ", context.InputText(0), " and ",
                                   context.InputText(1)),
                               a.dims.back(), b.dims[b.dims.size() - 2])
                         .status());
  HR_ASSIGN_OR_RETURN(auto&& out, BroadcastTypes(context, BatchOf(a), BatchOf(b)));
  if (!row) out.push_back(a.dims[a.dims.size() - 2]);
  if (!column) out.push_back(b.dims.back());
  SetDims(context, 0, a.dtype, std::move(out));
  return {};
}

ValueId EmitGemm(GradientContext& g, ValueId a, ValueId b, bool transpose_a, bool transpose_b,
                 double alpha = 1) {
  return g.Emit(
      "Gemm", {a, b},
      {{"alpha", alpha}, {"transA", int64_t{transpose_a}}, {"transB", int64_t{transpose_b}}});
}

void GemmGradient(GradientContext& g) {
  bool ta = g.node().Int("transA", 0) != 0;
  bool tb = g.node().Int("transB", 0) != 0;
  double alpha = g.node().Float("alpha", 1);
  double beta = g.node().Float("beta", 1);
  ValueId a = g.input(0);
  ValueId b = g.input(1);
  ValueId dy = g.grad(0);
  if (g.wants(0)) {
    g.SetGrad(0, ta ? EmitGemm(g, b, dy, tb, true, alpha) : EmitGemm(g, dy, b, false, !tb, alpha));
  }
  if (g.wants(1)) {
    g.SetGrad(1, tb ? EmitGemm(g, dy, a, true, ta, alpha) : EmitGemm(g, a, dy, !ta, false, alpha));
  }
  if (g.wants(2)) g.SetGrad(2, g.SumTo(g.Scale(dy, beta), g.input(2)));
}

// Returns the value with its last two axes exchanged.
ValueId Transposed(GradientContext& g, ValueId value) {
  std::vector<int64_t> perm;
  for (size_t i = 0; i < g.Rank(value); ++i) perm.push_back(static_cast<int64_t>(i));
  if (perm.size() >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return g.Emit("Transpose", {value}, {{"perm", perm}});
}

ValueId WithAxis(GradientContext& g, ValueId value, int64_t axis) {
  return g.Emit("Unsqueeze", {value, g.Ints(std::span(&axis, 1))});
}

// Returns the value as a matrix that has its last axis as columns.
ValueId Rows(GradientContext& g, ValueId value) {
  const size_t rank = g.Rank(value);
  if (rank == 2) return value;
  return g.Emit("Flatten", {value}, {{"axis", static_cast<int64_t>(rank) - 1}});
}

// All matrices of A share B: they are one with more rows, and nothing is added up afterwards.
void SharedMatMulGradient(GradientContext& g) {
  const ValueId a = g.input(0), b = g.input(1), dy = Rows(g, g.grad(0));
  if (g.wants(0)) {
    const ValueId da = EmitGemm(g, dy, b, false, true);
    g.SetGrad(0, g.Rank(a) == 2 ? da : g.ReshapeLike(da, a));
  }
  if (g.wants(1)) g.SetGrad(1, EmitGemm(g, Rows(g, a), dy, true, false));
}

void MatMulGradient(GradientContext& g) {
  ValueId a = g.input(0);
  ValueId b = g.input(1);
  ValueId dy = g.grad(0);
  size_t a_rank = g.Rank(a);
  size_t b_rank = g.Rank(b);
  if (a_rank >= 2 && b_rank == 2) return SharedMatMulGradient(g);
  if (b_rank == 1) {
    b = WithAxis(g, b, 1);
    dy = WithAxis(g, dy, -1);
  }
  if (a_rank == 1) {
    a = WithAxis(g, a, 0);
    dy = WithAxis(g, dy, -2);
  }
  if (g.wants(0)) {
    ValueId da = g.SumTo(g.Emit("MatMul", {dy, Transposed(g, b)}), a);
    g.SetGrad(0, g.ReshapeLike(da, g.input(0)));
  }
  if (g.wants(1)) {
    ValueId db = g.SumTo(g.Emit("MatMul", {Transposed(g, a), dy}), b);
    g.SetGrad(1, g.ReshapeLike(db, g.input(1)));
  }
}

constexpr OpDef kMatrixOps[] = {
    // (a, b, c?) → alpha * a' * b' + beta * c
    {.domain = kOnnx,
     .name = "Gemm",
     .since_version = 7,
     .inputs = {2, 3},
     .attributes = kGemmAttributes,
     .infer = InferGemm,
     .gradient = GemmGradient},
    {.domain = kOnnx,
     .name = "MatMul",
     .since_version = 9,
     .inputs = {2, 2},
     .infer = InferMatMul,
     .gradient = MatMulGradient},
};

}  // namespace

OpFamily MatrixOps() { return Chosen<kMatrixOps>(); }

}  // namespace hr::ops
