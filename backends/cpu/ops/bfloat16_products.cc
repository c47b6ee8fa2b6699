// Products of bfloat16, where the processor has instructions for them.
#include <algorithm>

#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/ops/batch_axes.h"
#include "backends/cpu/ops/families.h"
#include "runtime/engine/arena_planner.h"

namespace hr::cpu {
namespace {

// Fewer multiply-adds than this are not worth waking a thread for.
constexpr int64_t kWorkOfTask = 1 << 18;

class Bfloat16Product {
 public:
  Bfloat16Product(const KernelRequest& request, const Bfloat16Kernels& kernels,
                  const GemmShape& shape, BatchAxes axes)
      : kernels_(kernels),
        shape_(shape),
        axes_(std::move(axes)),
        count_(ElementCount(axes_.dims)),
        prepared_(axes_.dims.empty() && request.input(1).steady),
        slices_(request.threads) {
    end_.alpha = static_cast<float>(request.node.Float("alpha", 1));
    end_.beta = static_cast<float>(request.node.Float("beta", 1));
    end_.activation = static_cast<Activation>(request.node.Int("activation", 0));
    end_.narrow = request.outputs[0].dtype == DType::kBfloat16;
    const OperandInfo& bias = request.input(2);
    if (!bias.present || bias.elements() == 0) return;
    const int64_t columns = bias.dims.empty() ? 1 : bias.dims.back();
    end_.bias_column = columns > 1 ? 1 : 0;
    end_.bias_row = bias.elements() > columns ? columns : 0;
    biases_ = bias.elements();
    bias_narrow_ = bias.dtype == DType::kBfloat16;
  }

  // With many products each is computed by one thread, else they follow each other.
  size_t scratch_bytes() const {
    return BiasBytes() + ScratchOfOne() * static_cast<size_t>(OneThreadEach() ? slices_ : 1);
  }

  Preparation MakePreparation(std::shared_ptr<const Bfloat16Product> self) const {
    if (!prepared_) return {};
    return {.input = 1,
            .bytes = PackedBfloat16Bytes(shape_.n, shape_.k),
            .format = Cat("bfloat16 panels ", shape_.n, "x", shape_.k,
                          shape_.transpose_b ? " of rows" : ""),
            .kernel = MakeKernel(
                "pack_bfloat16",
                [self](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                  PackBfloat16(self->kernels_, context.threads, self->shape_, p.input<uint16_t>(0),
                               p.output<uint16_t>(0), self->slices_);
                  return {};
                })};
  }

  void Run(const engine::Operands& p, const Lease& threads) const {
    auto* const scratch = p.scratch<char>() + BiasBytes();
    Bfloat16Epilogue end = end_;
    if (biases_ != 0) end.bias = Bias(p);
    if (!OneThreadEach()) {
      for (int64_t i = 0; i < count_; ++i) RunOne(p, end, threads, i, slices_, scratch);
      return;
    }
    const int64_t work = count_ * shape_.m * shape_.n * shape_.k;
    const int tasks = static_cast<int>(std::clamp<int64_t>(CeilDiv(work, kWorkOfTask), 1, slices_));
    threads.ParallelFor(tasks, [&](int task) {
      const Range part = PartOf(count_, tasks, task);
      char* const memory = scratch + static_cast<size_t>(task) * ScratchOfOne();
      for (int64_t i = part.begin; i < part.end; ++i) RunOne(p, end, Lease(), i, 1, memory);
    });
  }

 private:
  bool OneThreadEach() const { return count_ >= 2 * slices_; }

  size_t PackedBytes() const {
    return prepared_ ? 0 : engine::AlignedInArena(PackedBfloat16Bytes(shape_.n, shape_.k));
  }
  size_t ScratchOfOne() const {
    return PackedBytes() + engine::AlignedInArena(Bfloat16ScratchBytes(shape_));
  }

  size_t BiasBytes() const {
    return bias_narrow_ ? engine::AlignedInArena(static_cast<size_t>(biases_) * sizeof(float)) : 0;
  }
  const float* Bias(const engine::Operands& p) const {
    if (!bias_narrow_) return p.input<float>(2);
    Cast(Lease(), DType::kBfloat16, p.input(2), DType::kFloat32, p.scratch(), biases_, 1);
    return p.scratch<float>();
  }

  void RunOne(const engine::Operands& p, const Bfloat16Epilogue& end, const Lease& threads,
              int64_t index, int slices, char* scratch) const {
    const uint16_t* b = p.input<uint16_t>(1) + OffsetOf(axes_, axes_.b_strides, index);
    if (!prepared_) {
      auto* const packed = reinterpret_cast<uint16_t*>(scratch);
      PackBfloat16(kernels_, threads, shape_, b, packed, slices);
      b = packed;
    }
    const int64_t c = index * shape_.m * shape_.n * (end_.narrow ? 2 : 4);
    Bfloat16Gemm(kernels_, threads, shape_,
                 p.input<uint16_t>(0) + OffsetOf(axes_, axes_.a_strides, index), b,
                 p.output<char>(0) + c, end, slices, scratch + PackedBytes());
  }

  const Bfloat16Kernels& kernels_;
  const GemmShape shape_;
  const BatchAxes axes_;
  const int64_t count_;
  const bool prepared_;
  const int slices_;
  Bfloat16Epilogue end_;
  int64_t biases_ = 0;
  bool bias_narrow_ = false;
};

// lowered.Bfloat16Gemm (lowering/bfloat16_products.h)
Result<LoweredKernel> MakeBfloat16Gemm(const KernelRequest& request) {
  const Bfloat16Kernels* const kernels = KernelsForBfloat16();
  if (kernels == nullptr) {
    return Internal("products of bfloat16 on a processor that has none");
  }
  const bool ta = request.node.Int("transA", 0) != 0, tb = request.node.Int("transB", 0) != 0;
  const Dims &a = request.input(0).dims, &b = request.input(1).dims;
  const int64_t rows = a.size() < 2 ? 1 : a[a.size() - 2];
  const int64_t n = b.size() < 2 ? 1 : tb ? b[b.size() - 2] : b.back();
  GemmShape shape = GemmShape::Dense(ta ? a.back() : rows, n, ta ? rows : a.back(), ta, tb);
  BatchAxes axes;
  if (!tb) {
    HR_ASSIGN_OR_RETURN(axes, BatchOf(a, b));
  }
  // Matrices that share their right-hand side are one with more rows.
  if (b.size() <= 2 || ElementCount(std::span(b).first(b.size() - 2)) == 1) {
    if (!ta) shape.m = ElementCount(std::span(a).first(a.size() - 1));
    axes = {};
  }
  auto product = std::make_shared<const Bfloat16Product>(request, *kernels, shape, std::move(axes));
  LoweredKernel out{.scratch_bytes = product->scratch_bytes()};
  out.preparations.push_back(product->MakePreparation(product));
  out.kernel = MakeKernel(
      "gemm_bfloat16",
      [product](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        product->Run(p, context.threads);
        return {};
      });
  return out;
}

constexpr KernelEntry kBfloat16ProductsKernels[] = {
    {lowering::kLowered, "Bfloat16Gemm", MakeBfloat16Gemm, false, "Gemm MatMul"}};

}  // namespace

KernelPart Bfloat16Family() { return ChosenKernels<kBfloat16ProductsKernels>(); }

}  // namespace hr::cpu
