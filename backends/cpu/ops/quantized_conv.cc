// Convolutions of 8-bit numbers: products of the filters by columns of the image.
#include <algorithm>

#include "backends/cpu/kernels/im2col.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/product_end.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {
namespace {

// Pixels of which columns are made at once.
constexpr int64_t kPixels = 128;

class QuantizedConv {
 public:
  QuantizedConv(const KernelRequest& request, const ProductPlaces& places, const ConvShape& shape)
      : places_(places),
        s_(shape),
        product_{.m = shape.GroupOut(),
                 .n = kPixels,
                 .k = shape.Taps(),
                 .a_signed = request.input(places.b).dtype == DType::kInt8,
                 .b_signed = request.input(places.a).dtype == DType::kInt8,
                 .ldc = shape.OutputPlane()},
        has_zero_(request.input(places.a_zero).present),
        element_(static_cast<int64_t>(DTypeSize(request.outputs[0].dtype))),
        tasks_(Tasks(request.threads)),
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
      const Range blocks = PartOf(all_blocks(), tasks_, task);
      for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        Block(p, epilogue, block, memory + static_cast<size_t>(task) * task_bytes());
      }
    });
  }

 private:
  int64_t blocks() const { return CeilDiv(s_.OutputPlane(), kPixels); }  // of an image
  int64_t all_blocks() const { return s_.n * s_.groups * blocks(); }
  size_t columns_bytes() const {
    return engine::AlignedInArena(static_cast<size_t>(s_.Taps() * kPixels));
  }
  size_t packed_bytes() const {
    return engine::AlignedInArena(PackedInt8Bytes(kPixels, s_.Taps()));
  }
  size_t task_bytes() const {
    return columns_bytes() + packed_bytes() +
           engine::AlignedInArena(Int8GemmScratchBytes(product_));
  }
  int Tasks(int slices) const {
    const int64_t work = s_.n * s_.oc * s_.OutputPlane() * s_.Taps() >> 16;
    return static_cast<int>(std::clamp<int64_t>(std::min(work, all_blocks()), 1, slices));
  }
  bool is_pointwise() const {
    return s_.KernelSize() == 1 && s_.sd == 1 && s_.sh == 1 && s_.sw == 1 &&
           s_.OutputPlane() == s_.InputPlane();
  }

  // All filters of a group at the pixels of a block.
  void Block(const engine::Operands& p, Int8Epilogue epilogue, int64_t block, char* memory) const {
    const int64_t group = block / blocks() % s_.groups, image = block / blocks() / s_.groups;
    const int64_t first = block % blocks() * kPixels;
    const Range pixels{first, std::min(s_.OutputPlane(), first + kPixels)};
    const auto* x =
        p.input<uint8_t>(places_.a) + (image * s_.ic + group * s_.GroupIn()) * s_.InputPlane();
    char* const packed = memory + columns_bytes();
    Int8Shape shape = product_;
    shape.n = pixels.size();
    PackColumns(p, shape, x, pixels, reinterpret_cast<uint8_t*>(memory), packed);
    const int64_t filter = group * s_.GroupOut();
    const auto move = [filter](auto*& parameter) {
      if (parameter != nullptr) parameter += filter;
    };
    move(epilogue.row_zero), move(epilogue.row_bias), move(epilogue.row_factor);
    move(epilogue.row_shift), move(epilogue.row_scale), move(epilogue.row_offset);
    const int64_t to = (image * s_.oc + filter) * s_.OutputPlane() + first;
    Int8Gemm(Lease(), shape, p.input<char>(places_.b) + filter * s_.Taps(), packed,
             p.output<char>(0) + to * element_, epilogue, 1, packed + packed_bytes());
  }

  void PackColumns(const engine::Operands& p, const Int8Shape& shape, const uint8_t* x,
                   Range pixels, uint8_t* columns, char* packed) const {
    if (is_pointwise()) {
      return PackInt8(Lease(), shape, false, x + pixels.begin, s_.InputPlane(), packed, 1);
    }
    // The padding is a zero, which is what the zero point stands for.
    const uint8_t padding = has_zero_ ? *p.input<uint8_t>(places_.a_zero) : 0;
    Im2Col(s_, x, {0, s_.Taps()}, pixels, columns, padding);
    PackInt8(Lease(), shape, false, columns, pixels.size(), packed, 1);
  }

  const ProductPlaces places_;
  const ConvShape s_;
  const Int8Shape product_;
  const bool has_zero_;
  const int64_t element_;
  const int tasks_;
  const ProductEnd end_;
};

Result<LoweredKernel> Make(const KernelRequest& request, const ProductPlaces& places) {
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

constexpr KernelEntry kKernels[] = {
    {"", "ConvInteger", MakeAt<Make, kIntegerPlaces>},
    {"", "QLinearConv", MakeAt<Make, kQuantizedPlaces>},
    {lowering::kLowered, "QuantizedConv", MakeAt<Make, kLoweredPlaces>},
};

}  // namespace

std::span<const KernelEntry> QuantizedConvFamily() { return kKernels; }

}  // namespace hr::cpu
