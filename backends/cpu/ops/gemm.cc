// Matrix products.
#include "backends/cpu/kernels/gemm.h"

#include <algorithm>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/kernels/quantize.h"
#include "backends/cpu/onednn/kernels.h"
#include "backends/cpu/ops/batch_axes.h"
#include "backends/cpu/ops/families.h"

namespace hr::cpu {
namespace {

// How the third operand of Gemm [M, N] broadcasts.
enum class BiasKind { kNone, kRow, kColumn, kFull, kScalar };

BiasKind KindOf(const OperandInfo& bias, int64_t m, int64_t n) {
  if (!bias.present) return BiasKind::kNone;
  int64_t columns = bias.dims.empty() ? 1 : bias.dims.back();
  int64_t rows = bias.rank() < 2 ? 1 : bias.elements() / std::max<int64_t>(columns, 1);
  if (rows == m && columns == n && m != 1) return BiasKind::kFull;
  if (columns == n) return BiasKind::kColumn;
  if (rows == m && columns == 1) return BiasKind::kRow;
  return BiasKind::kScalar;
}

Activation ActivationOf(const graph::Node& node) {
  return static_cast<Activation>(node.Int("activation", 0));
}

std::string_view ActivationName(Activation activation) {
  constexpr std::string_view kNames[] = {"", "+relu"};
  return kNames[static_cast<size_t>(activation)];
}

// A product by the portable kernels.
template <typename T>
struct PortableProduct {
  GemmShape shape;
  int slices;
  bool packed;  // B is packed beforehand

  PortableProduct(const KernelRequest& request, const GemmShape& s)
      : shape(s), slices(request.threads), packed(request.input(1).steady && PackingPays(s)) {}

  // Thin products read B once, as fast as memory delivers it. Packing helps them if B is too large
  // for the caches, because packed panels are read in the order in which they lie.
  static bool PackingPays(const GemmShape& s) {
    return s.n >= 32 && (s.m >= 16 || s.n * s.k * sizeof(T) >= 1 << 20);
  }
  size_t scratch_bytes() const {
    return packed ? GemmPackedBScratchBytes<T>(shape, slices) : GemmScratchBytes<T>(shape, slices);
  }
  void Run(const Lease& threads, const T* a, const T* b, T* c, const GemmEpilogue<T>& epilogue,
           void* scratch) const {
    (packed ? GemmPackedB<T> : Gemm<T>)(threads, shape, a, b, c, epilogue, slices, scratch);
  }
  Preparation MakePreparation() const {
    if (!packed) return {};
    return {.input = 1,
            .bytes = PackedBBytes<T>(shape.n, shape.k),
            .format = Cat("panels ", shape.n, "x", shape.k, shape.transpose_b ? " of rows" : "",
                          " by ", shape.ldb),
            .kernel = MakeKernel("pack",
                                 [product = *this](const engine::Operands& p,
                                                   const engine::LaunchContext& context) -> Status {
                                   const GemmShape& s = product.shape;
                                   PackB(context.threads, s.n, s.k, s.transpose_b, p.input<T>(0),
                                         s.ldb, p.output<T>(0), product.slices);
                                   return {};
                                 })};
  }
};

// Gemm, and lowered.Gemm, which has the attribute "activation" besides and takes A of any rank.
template <typename T>
Result<LoweredKernel> MakeGemmOf(const KernelRequest& request) {
  bool ta = request.node.Int("transA", 0) != 0;
  bool tb = request.node.Int("transB", 0) != 0;
  const Dims& a = request.input(0).dims;
  const Dims& c = request.outputs[0].dims;
  const int64_t rows = ElementCount(std::span(c).first(c.size() - 1));
  GemmShape shape = GemmShape::Dense(rows, c.back(), ta ? a[0] : a.back(), ta, tb);
  T alpha = static_cast<T>(request.node.Float("alpha", 1));
  T beta = static_cast<T>(request.node.Float("beta", 1));
  BiasKind kind = KindOf(request.input(2), shape.m, shape.n);
  // The epilogue adds a bias of one row or column as it is; any other is written to C first.
  bool epilogue = (kind == BiasKind::kRow || kind == BiasKind::kColumn) && beta == T(1);
  Activation activation = ActivationOf(request.node);
  bool simple =
      alpha == T(1) && (kind == BiasKind::kNone || (kind == BiasKind::kColumn && epilogue));
  if (simple) {
    HR_ASSIGN_OR_RETURN(LoweredKernel other,
                        onednn::MakeGemm(request, {.name = "gemm",
                                                   .shape = shape,
                                                   .bias = kind == BiasKind::kColumn,
                                                   .activation = activation}));
    if (other.kernel != nullptr) return other;
  }
  const PortableProduct<T> product(request, shape);
  LoweredKernel out{.scratch_bytes = product.scratch_bytes(),
                    .preparation = product.MakePreparation()};
  out.kernel = MakeKernel(
      Cat("gemm", ActivationName(activation)),
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        auto* c = p.output<T>(0);
        GemmEpilogue<T> end{.alpha = alpha, .activation = activation};
        if (epilogue) {
          (kind == BiasKind::kRow ? end.row_bias : end.column_bias) = p.input<T>(2);
        } else if (kind != BiasKind::kNone) {
          const auto* bias = p.input<T>(2);
          int64_t row = kind == BiasKind::kFull ? shape.n : kind == BiasKind::kRow ? 1 : 0;
          int64_t column = kind == BiasKind::kFull || kind == BiasKind::kColumn ? 1 : 0;
          for (int64_t i = 0; i < shape.m; ++i) {
            for (int64_t j = 0; j < shape.n; ++j) c[i * shape.n + j] = bias[i * row + j * column];
          }
          end.beta = beta;
        }
        product.Run(context.threads, p.input<T>(0), p.input<T>(1), c, end, p.scratch());
        return {};
      });
  return out;
}

// One product of matrices.
template <typename T>
Result<LoweredKernel> MakeOneMatMul(const KernelRequest& request, const GemmShape& shape) {
  HR_ASSIGN_OR_RETURN(LoweredKernel other,
                      onednn::MakeGemm(request, {.name = "matmul", .shape = shape}));
  if (other.kernel != nullptr) return other;
  const PortableProduct<T> product(request, shape);
  LoweredKernel out{.scratch_bytes = product.scratch_bytes(),
                    .preparation = product.MakePreparation()};
  out.kernel = MakeKernel(
      "matmul", [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        product.Run(context.threads, p.input<T>(0), p.input<T>(1), p.output<T>(0), {}, p.scratch());
        return {};
      });
  return out;
}

template <typename T>
Result<LoweredKernel> MakeMatMulOf(const KernelRequest& request) {
  const Dims& a = request.input(0).dims;
  const Dims& b = request.input(1).dims;
  int64_t m = a.size() < 2 ? 1 : a[a.size() - 2];
  int64_t n = b.size() < 2 ? 1 : b.back();
  HR_ASSIGN_OR_RETURN(BatchAxes axes, BatchOf(a, b));
  // Matrices that share their right-hand side are one with more rows.
  if (ElementCount(b) == a.back() * n)
    return MakeOneMatMul<T>(request, GemmShape::Dense(m * ElementCount(axes.dims), n, a.back()));
  GemmShape shape = GemmShape::Dense(m, n, a.back());
  int slices = request.threads;
  LoweredKernel out;
  auto batch_of = [](const BatchAxes& axes, const GemmShape& shape) {
    return GemmBatch{axes.dims, axes.a_strides, axes.b_strides, shape.m * shape.n};
  };
  out.scratch_bytes = GemmBatchedScratchBytes<T>(shape, batch_of(axes, shape), slices);
  out.kernel = MakeKernel(
      "matmul", [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        GemmBatched<T>(context.threads, shape, batch_of(axes, shape), p.input<T>(0), p.input<T>(1),
                       p.output<T>(0), {}, slices, p.scratch());
        return {};
      });
  return out;
}

// Weights [n, k] or [k, n] of 8 bits, with scales, or of 16, as numbers.
struct NarrowWeights {
  NarrowWeights(const KernelRequest& request, int64_t columns, bool transposed)
      : columns(columns),
        transposed(transposed),
        dtype(request.input(1).dtype),
        elements(request.input(1).elements()) {
    const auto of_column = [&](const OperandInfo& operand, auto at) {
      std::vector<float> values(static_cast<size_t>(columns), 0);
      for (int64_t j = 0; operand.present && j < columns; ++j) {
        values[static_cast<size_t>(j)] = at(*operand.constant, j % operand.elements());
      }
      return values;
    };
    scales =
        of_column(request.input(2), [](const Tensor& t, int64_t j) { return t.as<float>()[j]; });
    zeros = of_column(request.input(3), [&](const Tensor& t, int64_t j) {
      return dtype == DType::kInt8 ? static_cast<float>(t.as<int8_t>()[j])
                                   : static_cast<float>(t.as<uint8_t>()[j]);
    });
  }

  void Widen(const Lease& threads, const void* from, float* to) const {
    if (DTypeSize(dtype) == 2) return Cast(threads, dtype, from, DType::kFloat32, to, elements, 1);
    const auto* bytes = static_cast<const uint8_t*>(from);
    const bool is_signed = dtype == DType::kInt8;
    if (transposed) {
      const int64_t k = elements / std::max<int64_t>(1, columns);
      for (int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<size_t>(j);
        DequantizeRun(bytes + j * k, is_signed, k, scales[at], zeros[at], to + j * k);
      }
      return;
    }
    for (int64_t i = 0; i < elements; ++i) {
      const auto at = static_cast<size_t>(i % columns);
      const float x = is_signed ? static_cast<float>(static_cast<int8_t>(bytes[i]))
                                : static_cast<float>(bytes[i]);
      to[i] = (x - zeros[at]) * scales[at];
    }
  }

  int64_t columns;
  bool transposed;
  DType dtype;
  int64_t elements;
  std::vector<float> scales, zeros;  // of columns
};

// lowered.DequantizedGemm: (a, weights, scale?, zero?, bias?) → C. The weights are widened when
// they are prepared, and packed if that pays.
Result<LoweredKernel> MakeDequantizedGemm(const KernelRequest& request) {
  const bool transposed = request.node.Int("transB", 0) != 0;
  const Dims &a = request.input(0).dims, &c = request.outputs[0].dims;
  const GemmShape shape = GemmShape::Dense(ElementCount(std::span(c).first(c.size() - 1)), c.back(),
                                           a.back(), false, transposed);
  const Activation activation = ActivationOf(request.node);
  const int64_t biases = request.input(4).present ? request.input(4).elements() : 0;
  const PortableProduct<float> product(request, shape);
  auto weights = std::make_shared<const NarrowWeights>(request, shape.n, transposed);
  const size_t plain = static_cast<size_t>(weights->elements) * sizeof(float);
  LoweredKernel out{.scratch_bytes = product.scratch_bytes() + 64 +
                                     static_cast<size_t>(shape.n) * sizeof(float)};
  out.preparation = {
      .input = 1,
      .bytes = product.packed ? PackedBBytes<float>(shape.n, shape.k) : plain,
      .format = Cat("widened ", shape.n, "x", shape.k, transposed ? " of rows" : "",
                    product.packed ? " panels" : ""),
      .scratch_bytes = product.packed ? plain : 0,
      .kernel = MakeKernel("widen_and_pack",
                           [product, weights](const engine::Operands& p,
                                              const engine::LaunchContext& context) -> Status {
                             auto* const to =
                                 product.packed ? p.scratch<float>() : p.output<float>(0);
                             weights->Widen(context.threads, p.input(0), to);
                             if (!product.packed) return {};
                             const GemmShape& s = product.shape;
                             PackB(context.threads, s.n, s.k, s.transpose_b, to, s.ldb,
                                   p.output<float>(0), product.slices);
                             return {};
                           })};
  out.kernel =
      MakeKernel(Cat("gemm_of_narrow", ActivationName(activation)),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   GemmEpilogue<float> end{.activation = activation};
                   auto* const row = p.scratch<float>();
                   if (biases == shape.n) end.column_bias = p.input<float>(4);
                   if (biases == 1 && shape.n != 1) {
                     std::fill_n(row, shape.n, *p.input<float>(4));
                     end.column_bias = row;
                   }
                   product.Run(context.threads, p.input<float>(0), p.input<float>(1),
                               p.output<float>(0), end, row + RoundUp(shape.n, 16));
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeGemm(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeGemmOf<T>(request); });
}
Result<LoweredKernel> MakeMatMul(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeMatMulOf<T>(request); });
}

constexpr KernelEntry kGemmKernels[] = {
    {"", "Gemm", MakeGemm},
    {lowering::kLowered, "Gemm", MakeGemm},
    {lowering::kLowered, "DequantizedGemm", MakeDequantizedGemm},
    {"", "MatMul", MakeMatMul},
};

}  // namespace

KernelPart GemmFamily() { return ChosenKernels<kGemmKernels>(); }

}  // namespace hr::cpu
