// Products of matrices of 8-bit numbers.
#include <algorithm>

#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/ops/batch_axes.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/product_end.h"

namespace hr::cpu {
namespace {

class QuantizedMatMul {
 public:
  QuantizedMatMul(const KernelRequest& request, const ProductPlaces& places, const Int8Shape& shape,
                  BatchAxes axes, bool transposed)
      : places_(places),
        shape_(shape),
        axes_(std::move(axes)),
        transposed_(transposed),
        prepared_(axes_.dims.empty() && request.input(places.b).steady),
        slices_(request.threads),
        element_(static_cast<int64_t>(DTypeSize(request.outputs[0].dtype))),
        end_(request, places, false, shape.m, shape.n) {}

  size_t scratch_bytes() const {
    return terms() + engine::AlignedInArena(Int8GemmScratchBytes(shape_)) +
           (prepared_ ? 0 : PackedInt8Bytes(shape_.n, shape_.k));
  }

  Preparation MakePreparation(std::shared_ptr<const QuantizedMatMul> self) const {
    if (!prepared_) return {};
    return {.input = places_.b,
            .bytes = PackedInt8Bytes(shape_.n, shape_.k),
            .format = Cat("int8 panels ", shape_.n, "x", shape_.k, transposed_ ? " of rows" : "",
                          shape_.b_signed ? "" : " unsigned"),
            .kernel = MakeKernel(
                "pack_int8",
                [self](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                  self->Pack(context.threads, p.input(0), p.output(0));
                  return {};
                })};
  }

  void Run(const engine::Operands& p, const Lease& threads) const {
    auto* const scratch = p.scratch<char>();
    const Int8Epilogue epilogue = end_.Fill(p, scratch);
    char* const terms_of_rows = scratch + terms();
    char* const packed = terms_of_rows + engine::AlignedInArena(Int8GemmScratchBytes(shape_));
    const int64_t count = ElementCount(axes_.dims);
    for (int64_t index = 0; index < count; ++index) {
      const char* b = p.input<char>(places_.b);
      if (!prepared_) {
        Pack(threads, b + OffsetOf(axes_, axes_.b_strides, index), packed);
        b = packed;
      }
      Int8Gemm(threads, shape_, p.input<char>(places_.a) + OffsetOf(axes_, axes_.a_strides, index),
               b, p.output<char>(0) + index * shape_.m * shape_.n * element_, epilogue, slices_,
               terms_of_rows);
    }
  }

 private:
  size_t terms() const { return engine::AlignedInArena(end_.scratch_bytes()); }

  void Pack(const Lease& threads, const void* b, void* packed) const {
    PackInt8(threads, shape_, transposed_, b, transposed_ ? shape_.k : shape_.n, packed, slices_);
  }

  const ProductPlaces places_;
  const Int8Shape shape_;
  const BatchAxes axes_;
  const bool transposed_;
  const bool prepared_;
  const int slices_;
  const int64_t element_;
  const ProductEnd end_;
};

Result<LoweredKernel> MakeQuantizedMatMul(const KernelRequest& request,
                                          const ProductPlaces& places) {
  const OperandInfo &a = request.input(places.a), &b = request.input(places.b);
  const bool transposed = request.node.Int("transB", 0) != 0;
  Int8Shape shape{.m = a.rank() < 2 ? 1 : a.dims[a.dims.size() - 2],
                  .n = b.rank() < 2 ? 1 : b.dims[b.dims.size() - (transposed ? 2 : 1)],
                  .k = a.dims.back(),
                  .a_signed = a.dtype == DType::kInt8,
                  .b_signed = b.dtype == DType::kInt8};
  HR_ASSIGN_OR_RETURN(BatchAxes axes, BatchOf(a.dims, b.dims));
  // Matrices that share their right-hand side are one with more rows.
  if (b.elements() == shape.k * shape.n) {
    shape.m *= ElementCount(axes.dims);
    axes = {};
  }
  auto product = std::make_shared<const QuantizedMatMul>(request, places, shape, axes, transposed);
  LoweredKernel out{.scratch_bytes = product->scratch_bytes()};
  out.preparations.push_back(product->MakePreparation(product));
  out.kernel = MakeKernel(
      "matmul_int8",
      [product](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        product->Run(p, context.threads);
        return {};
      });
  return out;
}

constexpr KernelEntry kQuantizedMatmulKernels[] = {
    {"", "MatMulInteger", MakeAt<MakeQuantizedMatMul, kIntegerPlaces>},
    {"", "QLinearMatMul", MakeAt<MakeQuantizedMatMul, kQuantizedPlaces>},
    {lowering::kLowered, "QuantizedMatMul", MakeAt<MakeQuantizedMatMul, kLoweredPlaces>, false,
     "DequantizeLinear"},
};

}  // namespace

KernelPart QuantizedMatMulFamily() { return ChosenKernels<kQuantizedMatmulKernels>(); }

}  // namespace hr::cpu
