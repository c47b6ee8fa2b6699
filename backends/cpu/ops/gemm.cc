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
  constexpr std::string_view kNames[] = {"", "+relu", "+gelu"};
  return kNames[static_cast<size_t>(activation)];
}

// By which of the portable kernels a product of float32 runs.
template <typename T>
std::string_view UnitName(const GemmShape& shape) {
  return std::is_same_v<T, float> && RunsOnMatrixUnit(shape) ? "_split" : "";
}

// A product by the portable kernels.
template <typename T>
struct PortableProduct {
  GemmShape shape;
  int slices;
  bool packed;  // B is packed beforehand

  PortableProduct(const KernelRequest& request, const GemmShape& s)
      : shape(s),
        slices(request.threads),
        packed(request.input(1).steady && PackingPays(s) && !RunsOnMatrixUnit(s)) {}

  // Thin products read B once, as fast as memory delivers it. Packing helps them if B is too large
  // for the caches, because packed panels are read in the order in which they lie. A matrix unit's
  // products split B on each run, and would gain 3 % for a copy of it.
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
  LoweredKernel out{.scratch_bytes = product.scratch_bytes()};
  out.preparations.push_back(product.MakePreparation());
  out.kernel = MakeKernel(
      Cat("gemm", UnitName<T>(shape), ActivationName(activation)),
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
  LoweredKernel out{.scratch_bytes = product.scratch_bytes()};
  out.preparations.push_back(product.MakePreparation());
  out.kernel = MakeKernel(
      Cat("matmul", UnitName<T>(shape)),
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        product.Run(context.threads, p.input<T>(0), p.input<T>(1), p.output<T>(0), {}, p.scratch());
        return {};
      });
  return out;
}

// The matrices of an operand of MatMul, and its batch.
struct Matrices {
  StridedDims all;  // of rank 2 at least
  int64_t rows, columns;
  bool transposed;
  int64_t distance;  // between rows, or between columns if it is transposed

  Matrices(const OperandInfo& operand, std::span<const int64_t> axes, bool add_row, bool add_column)
      : all(StridedDims::Seen(operand.dims, axes)) {
    Dims &dims = all.dims, &strides = all.strides;
    if (add_column) dims.push_back(1), strides.push_back(1);
    if (add_row) {
      strides.insert(strides.end() - 1, dims.back() * strides.back());
      dims.insert(dims.end() - 1, 1);
    }
    rows = dims[dims.size() - 2], columns = dims.back();
    transposed = strides.back() != 1;
    distance = transposed ? strides.back() : strides[strides.size() - 2];
  }

  void Transpose() {
    std::swap(rows, columns);
    transposed = !transposed;
  }
};

// MatMul, and lowered.MatMul, whose operands have other orders of axes in memory.
class BatchedProduct {
 public:
  static Result<BatchedProduct> Create(const KernelRequest& request) {
    const graph::Node& node = request.node;
    const OperandInfo &a = request.input(0), &b = request.input(1);
    const bool row = a.rank() == 1, column = b.rank() == 1;
    Matrices left(a, node.Ints("a_axes"), row, false);
    Matrices right(b, node.Ints("b_axes"), false, column);
    Matrices result(request.outputs[0], node.Ints("y_axes"), row, column);
    HR_ASSIGN_OR_RETURN(BatchAxes axes, BatchOf(left.all, right.all));
    BatchedProduct out;
    const bool swapped = result.transposed;  // of the transposed operands, in the other order
    if (swapped) {
      left.Transpose(), right.Transpose(), result.Transpose();
      std::swap(left, right);
      std::swap(axes.a_strides, axes.b_strides);
    }
    out.shape = {.m = left.rows,
                 .n = right.columns,
                 .k = left.columns,
                 .transpose_a = left.transposed,
                 .transpose_b = right.transposed,
                 .lda = left.distance,
                 .ldb = right.distance,
                 .ldc = result.distance};
    out.swapped = swapped;
    for (size_t i = 0; i < axes.dims.size(); ++i) {
      out.AddAxis(axes.dims[i], axes.a_strides[i], axes.b_strides[i], result.all.strides[i]);
    }
    out.JoinRows();
    return out;
  }

  GemmBatch batch() const { return {dims, a_strides, b_strides, c_strides}; }

  GemmShape shape;
  bool swapped = false;  // A is the right operand of the node
  Dims dims, a_strides, b_strides, c_strides;

 private:
  // An axis that continues the one before in all operands becomes one with it.
  void AddAxis(int64_t count, int64_t a, int64_t b, int64_t c) {
    if (count == 1) return;
    if (!dims.empty() && a_strides.back() == a * count && b_strides.back() == b * count &&
        c_strides.back() == c * count) {
      dims.back() *= count;
      a_strides.back() = a, b_strides.back() = b, c_strides.back() = c;
      return;
    }
    dims.push_back(count);
    a_strides.push_back(a), b_strides.push_back(b), c_strides.push_back(c);
  }

  // Matrices that follow each other and share their right-hand side are one with more rows.
  void JoinRows() {
    while (!dims.empty() && !shape.transpose_a && b_strides.back() == 0 &&
           a_strides.back() == shape.m * shape.lda && c_strides.back() == shape.m * shape.ldc) {
      shape.m *= dims.back();
      dims.pop_back(), a_strides.pop_back(), b_strides.pop_back(), c_strides.pop_back();
    }
  }
};

template <typename T>
Result<LoweredKernel> MakeMatMulOf(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(BatchedProduct made, BatchedProduct::Create(request));
  if (made.dims.empty() && !made.swapped) return MakeOneMatMul<T>(request, made.shape);
  auto product = std::make_shared<const BatchedProduct>(std::move(made));
  const int slices = request.threads;
  LoweredKernel out;
  out.scratch_bytes = GemmBatchedScratchBytes<T>(product->shape, product->batch(), slices);
  out.kernel =
      MakeKernel(Cat("matmul", UnitName<T>(product->shape)),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const T *a = p.input<T>(0), *b = p.input<T>(1);
                   if (product->swapped) std::swap(a, b);
                   GemmBatched<T>(context.threads, product->shape, product->batch(), a, b,
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
  out.preparations.push_back(
      {.input = 1,
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
                            })});
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
    {lowering::kLowered, "MatMul", MakeMatMul},
};

}  // namespace

KernelPart GemmFamily() { return ChosenKernels<kGemmKernels>(); }

}  // namespace hr::cpu
