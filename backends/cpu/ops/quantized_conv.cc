// Convolutions of 8-bit numbers: products of the filters by columns of the image.
#include <algorithm>

#include "backends/cpu/ops/conv_blocks.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/product_end.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {
namespace {

constexpr int64_t kPixels = ConvBlocks::kPixels;

class QuantizedConv {
 public:
  QuantizedConv(const KernelRequest& request, const ProductPlaces& places, const ConvShape& shape)
      : places_(places),
        blocks_{shape},
        product_{.m = shape.GroupOut(),
                 .n = kPixels,
                 .k = shape.Taps(),
                 .a_signed = request.input(places.b).dtype == DType::kInt8,
                 .b_signed = request.input(places.a).dtype == DType::kInt8,
                 .ldc = shape.OutputPlane()},
        has_zero_(request.input(places.a_zero).present),
        element_(static_cast<int64_t>(DTypeSize(request.outputs[0].dtype))),
        tasks_(blocks_.Tasks(request.threads)),
        end_(request, places, true, shape.oc, kPixels) {}

  size_t scratch_bytes() const {
    return engine::AlignedInArena(end_.scratch_bytes()) +
           static_cast<size_t>(tasks_) * task_bytes();
  }

  void Run(const engine::Operands& p, const Lease& threads) const {
    auto* const scratch = p.scratch<char>();
    const Int8Epilogue epilogue = end_.Fill(p, scratch);
    char* const memory = scratch + engine::AlignedInArena(end_.scratch_bytes());
    threads.ParallelFor(tasks_, [&](int task) {
      const Range blocks = PartOf(blocks_.count(), tasks_, task);
      for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        Block(p, epilogue, block, memory + static_cast<size_t>(task) * task_bytes());
      }
    });
  }

 private:
  size_t columns_bytes() const {
    return engine::AlignedInArena(static_cast<size_t>(product_.k * kPixels));
  }
  size_t packed_bytes() const {
    return engine::AlignedInArena(PackedInt8Bytes(kPixels, product_.k));
  }
  size_t task_bytes() const {
    return columns_bytes() + packed_bytes() +
           engine::AlignedInArena(Int8GemmScratchBytes(product_));
  }
  // All filters of a group at the pixels of a block.
  void Block(const engine::Operands& p, Int8Epilogue epilogue, int64_t index, char* memory) const {
    const auto [input, filter, output, pixels] = blocks_.At(index);
    const auto* x = p.input<uint8_t>(places_.a) + input;
    char* const packed = memory + columns_bytes();
    Int8Shape shape = product_;
    shape.n = pixels.size();
    PackColumns(p, shape, x, pixels, reinterpret_cast<uint8_t*>(memory), packed);
    const auto move = [filter = filter](auto*& parameter) {
      if (parameter != nullptr) parameter += filter;
    };
    move(epilogue.row_zero), move(epilogue.row_bias), move(epilogue.row_factor);
    move(epilogue.row_shift), move(epilogue.row_scale), move(epilogue.row_offset);
    Int8Gemm(Lease(), shape, p.input<char>(places_.b) + filter * product_.k, packed,
             p.output<char>(0) + output * element_, epilogue, 1, packed + packed_bytes());
  }

  void PackColumns(const engine::Operands& p, const Int8Shape& shape, const uint8_t* x,
                   Range pixels, uint8_t* columns, char* packed) const {
    if (blocks_.is_pointwise()) {
      return PackInt8(Lease(), shape, false, x + pixels.begin, blocks_.s.InputPlane(), packed, 1);
    }
    // The padding is a zero, which is what the zero point stands for.
    const uint8_t padding = has_zero_ ? *p.input<uint8_t>(places_.a_zero) : 0;
    Im2Col(blocks_.s, x, {0, product_.k}, pixels, columns, padding);
    PackInt8(Lease(), shape, false, columns, pixels.size(), packed, 1);
  }

  const ProductPlaces places_;
  const ConvBlocks blocks_;
  const Int8Shape product_;
  const bool has_zero_;
  const int64_t element_;
  const int tasks_;
  const ProductEnd end_;
};

Result<LoweredKernel> MakeQuantizedConv(const KernelRequest& request, const ProductPlaces& places) {
  HR_ASSIGN_OR_RETURN(const ConvShape shape, ConvShapeOf(request.node, request.input(places.a).dims,
                                                         request.input(places.b).dims));
  auto conv = std::make_shared<const QuantizedConv>(request, places, shape);
  LoweredKernel out{.scratch_bytes = conv->scratch_bytes()};
  out.kernel =
      MakeKernel("conv_int8",
                 [conv](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   conv->Run(p, context.threads);
                   return {};
                 });
  return out;
}

constexpr KernelEntry kQuantizedConvKernels[] = {
    {"", "ConvInteger", MakeAt<MakeQuantizedConv, kIntegerPlaces>},
    {"", "QLinearConv", MakeAt<MakeQuantizedConv, kQuantizedPlaces>},
    {lowering::kLowered, "QuantizedConv", MakeAt<MakeQuantizedConv, kLoweredPlaces>, false,
     "DequantizeLinear"},
};

}  // namespace

KernelPart QuantizedConvFamily() { return ChosenKernels<kQuantizedConvKernels>(); }

}  // namespace hr::cpu
