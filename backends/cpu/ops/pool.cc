// Pooling, batch-blocked, channels-last and plain.
#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/channels_last.h"
#include "backends/cpu/kernels/pool_batch_blocked.h"
#include "backends/cpu/kernels/pool_by_lanes.h"
#include "backends/cpu/kernels/pool_plain.h"
#include "backends/cpu/kernels/reduce.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/useful_slices.h"
#include "backends/cpu/ops/window_shape.h"
#include "runtime/engine/arena_planner.h"
#include "runtime/ops/window.h"

namespace hr::cpu {
namespace {

bool IsBlocked(const KernelRequest& request) {
  return request.input(0).layout == kBatchBlockedLayout;
}

bool IsPoolChannelsLast(const KernelRequest& request) {
  return request.input(0).layout == kChannelsLastLayout;
}

// The window of a global pool is the whole image.
Result<PoolShape> ShapeOf(const KernelRequest& request, const Dims& x) {
  if (!request.op.name.starts_with("Global")) return PoolShapeOf(request.node, x);
  int64_t height = x.size() < 4 ? 1 : x[2];
  return GlobalPool(x[0], x[1], height, ElementCount(std::span(x).subspan(2)) / height);
}

// A row-major position in a channel's plane with its axes in the reverse order.
int64_t ColumnMajor(const PoolShape& s, int64_t index) {
  const int64_t column = index % s.iw, row = index / s.iw % s.ih, depth = index / s.iw / s.ih;
  return (column * s.ih + row) * s.id + depth;
}

// Positions in a channel's plane become ONNX's positions in the whole tensor.
void AddPlaneOffsets(const PoolShape& shape, bool column_major, int64_t* indices) {
  int64_t outputs = shape.OutputPlane();
  for (int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
    for (int64_t i = 0; i < outputs; ++i) {
      int64_t& index = indices[plane * outputs + i];
      if (index < 0) continue;
      index = plane * shape.InputPlane() + (column_major ? ColumnMajor(shape, index) : index);
    }
  }
}

// Forward (x) → y, backward (dy, x: type only) → dx: what reads the first operand and writes the
// output.
template <typename T>
using PoolPass = void (*)(const Lease&, const PoolShape&, const T* from, T* to, int slices);
// The same of plain images, many channels at once.
template <typename T>
using LanesPass = void (*)(const Lease&, const PoolShape&, const T* from, T* to, int slices,
                           void* scratch);

template <typename T>
LoweredKernel ByLanes(const KernelRequest& request, const PoolShape& shape, std::string_view name,
                      LanesPass<T> pass) {
  const int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out{.scratch_bytes = PoolByLanesBytes(shape, slices)};
  out.kernel = MakeKernel(
      std::string(name), [=](const engine::Operands& p, const engine::LaunchContext& context) {
        pass(context.threads, shape, p.input<T>(0), p.output<T>(0), slices, p.scratch());
        return Status();
      });
  return out;
}

template <typename T>
Result<LoweredKernel> Channels(const KernelRequest& request, const PoolShape& shape,
                               std::string_view name, PoolPass<T> pass) {
  LoweredKernel out;
  out.kernel = MakeKernel(Cat(name, "_channels_last"),
                          [=, slices = UsefulSlices(shape, request.threads)](
                              const engine::Operands& p, const engine::LaunchContext& context) {
                            pass(context.threads, shape, p.input<T>(0), p.output<T>(0), slices);
                            return Status();
                          });
  return out;
}

template <typename T>
Result<LoweredKernel> MaxForward(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(PoolShape shape, ShapeOf(request, request.input(0).dims));
  if (IsPoolChannelsLast(request)) {
    return Channels<T>(request, shape, "max_pool", MaxPoolChannelsLast<T>);
  }
  const bool column_major = request.node.Int("storage_order", 0) != 0;
  bool blocked = IsBlocked(request);
  bool indices = request.has_output(1);
  if (!blocked && !indices && CanPoolByLanes(shape)) {
    return ByLanes<T>(request, shape, "max_pool", MaxPoolByLanes<T>);
  }
  int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel(blocked ? "max_pool_batch_blocked" : "max_pool",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const auto* x = p.input<T>(0);
                   auto* y = p.output<T>(0);
                   if (blocked) {
                     MaxPool<T>(context.threads, shape, x, y, nullptr, slices);
                     return {};
                   }
                   auto* argmax = indices ? p.output<int64_t>(1) : nullptr;
                   MaxPoolPlain<T>(context.threads, shape, x, y, argmax, slices);
                   if (indices) AddPlaneOffsets(shape, column_major, argmax);
                   return {};
                 });
  return out;
}

// (dy, x, y) → dx
template <typename T>
Result<LoweredKernel> MaxBackwardChannelsLast(const KernelRequest& request,
                                              const PoolShape& shape) {
  LoweredKernel out;
  out.kernel =
      MakeKernel("max_pool_grad_channels_last",
                 [=, slices = UsefulSlices(shape, request.threads)](
                     const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   MaxPoolChannelsLastBackward<T>(context.threads, shape, p.input<T>(0),
                                                  p.input<T>(1), p.output<T>(0), slices);
                   return {};
                 });
  return out;
}

// (dy, x, y) → dx
template <typename T>
Result<LoweredKernel> MaxBackwardByLanes(const KernelRequest& request, const PoolShape& shape) {
  const int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out{.scratch_bytes = PoolByLanesBytes(shape, slices)};
  out.kernel = MakeKernel(
      "max_pool_grad", [=](const engine::Operands& p, const engine::LaunchContext& context) {
        MaxPoolByLanesBackward<T>(context.threads, shape, p.input<T>(0), p.input<T>(1),
                                  p.output<T>(0), slices, p.scratch());
        return Status();
      });
  return out;
}

// (dy, x, y) → dx: where the maxima were is found again, into scratch memory.
template <typename T>
Result<LoweredKernel> MaxBackward(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(PoolShape shape, ShapeOf(request, request.input(1).dims));
  if (IsPoolChannelsLast(request)) return MaxBackwardChannelsLast<T>(request, shape);
  bool blocked = IsBlocked(request);
  if (!blocked && CanPoolByLanes(shape) && MaxPoolHasMap(shape)) {
    return MaxBackwardByLanes<T>(request, shape);
  }
  int64_t outputs = blocked ? BatchBlockedElements<T>(shape.n, shape.c * shape.OutputPlane())
                            : shape.n * shape.c * shape.OutputPlane();
  size_t map_at = engine::AlignedInArena(static_cast<size_t>(outputs) * sizeof(T));
  int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  out.scratch_bytes = map_at + static_cast<size_t>(outputs) * (blocked ? 1 : sizeof(int64_t));
  out.kernel =
      MakeKernel(blocked ? "max_pool_grad_batch_blocked" : "max_pool_grad",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const auto* dy = p.input<T>(0);
                   const auto* x = p.input<T>(1);
                   auto* dx = p.output<T>(0);
                   auto* y = p.scratch<T>();
                   auto* map = p.scratch<std::byte>() + map_at;
                   if (blocked) {
                     auto* argmax = reinterpret_cast<uint8_t*>(map);
                     MaxPool<T>(context.threads, shape, x, y, argmax, slices);
                     MaxPoolBackward<T>(context.threads, shape, dy, argmax, dx, slices);
                   } else {
                     auto* argmax = reinterpret_cast<int64_t*>(map);
                     MaxPoolPlain<T>(context.threads, shape, x, y, argmax, slices);
                     MaxPoolPlainBackward<T>(context.threads, shape, dy, argmax, dx, slices);
                   }
                   return {};
                 });
  return out;
}

// `image`: the dimensions of x.
template <typename T>
Result<LoweredKernel> Average(const KernelRequest& request, const Dims& image,
                              std::string_view name, PoolPass<T> plain, LanesPass<T> lanes,
                              PoolPass<T> blocked, PoolPass<T> channels_last) {
  HR_ASSIGN_OR_RETURN(PoolShape shape, ShapeOf(request, image));
  if (IsPoolChannelsLast(request)) return Channels<T>(request, shape, name, channels_last);
  if (!IsBlocked(request) && CanPoolByLanes(shape)) {
    return ByLanes<T>(request, shape, name, lanes);
  }
  const PoolPass<T> pass = IsBlocked(request) ? blocked : plain;
  int slices = UsefulSlices(shape, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel(Cat(name, IsBlocked(request) ? "_batch_blocked" : ""),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   pass(context.threads, shape, p.input<T>(0), p.output<T>(0), slices);
                   return {};
                 });
  return out;
}

// The means of plain images' channels are those of rows, unless rows are so short that it pays to
// add up many at once.
constexpr int64_t kShortPlane = 64;
template <typename T>
Result<LoweredKernel> MeansOfPlanes(const KernelRequest& request) {
  const Dims& x = request.input(0).dims;
  const int64_t planes[] = {x[0] * x[1], ElementCount(std::span(x).subspan(2))};
  const int slices =
      UsefulSlices(0.1 * static_cast<double>(planes[0] * planes[1]), request.threads);
  HR_ASSIGN_OR_RETURN(const ReducePlan plan,
                      PlanReduce<T>(Reduction::kMean, planes, {false, true}, slices));
  LoweredKernel out{.scratch_bytes = plan.scratch_bytes};
  out.kernel =
      MakeKernel("average_pool",
                 [plan](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   Reduce<T>(context.threads, plan, p.input<T>(0), p.output<T>(0), p.scratch());
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeMax(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MaxForward<T>(request); });
}
Result<LoweredKernel> MakeMaxGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MaxBackward<T>(request); });
}
Result<LoweredKernel> MakeAverage(const KernelRequest& request) {
  const bool plain = request.input(0).layout == Layout::kPlain;
  const int64_t plane = ElementCount(std::span(request.input(0).dims).subspan(2));
  const bool whole = request.op.name == "GlobalAveragePool" && plane > kShortPlane &&
                     request.input(0).elements() != 0;
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() {
    if (plain && whole) return MeansOfPlanes<T>(request);
    return Average<T>(request, request.input(0).dims, "average_pool", AveragePoolPlain<T>,
                      AveragePoolByLanes<T>, AveragePool<T>, AveragePoolChannelsLast<T>);
  });
}
Result<LoweredKernel> MakeAverageGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() {
    return Average<T>(request, request.input(1).dims, "average_pool_grad",
                      AveragePoolPlainBackward<T>, AveragePoolByLanesBackward<T>,
                      AveragePoolBackward<T>, AveragePoolChannelsLastBackward<T>);
  });
}

Result<LoweredKernel> MakeLp(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(PoolShape shape, ShapeOf(request, request.input(0).dims));
  const double norm = ops::NormOf(request.node);
  const int slices = UsefulSlices(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel =
        MakeKernel("lp_pool", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          LpPoolPlain<T>(context.threads, shape, norm, p.input<T>(0), p.output<T>(0), slices);
          return Status();
        });
    return out;
  });
}

// (dy, x, y) → dx
Result<LoweredKernel> MakeLpGrad(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(PoolShape shape, ShapeOf(request, request.input(1).dims));
  const double norm = ops::NormOf(request.node);
  const int slices = UsefulSlices(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel(
        "lp_pool_grad", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          LpPoolPlainBackward<T>(context.threads, shape, norm, p.input<T>(0), p.input<T>(1),
                                 p.input<T>(2), p.output<T>(0), slices);
          return Status();
        });
    return out;
  });
}

constexpr KernelEntry kPoolKernels[] = {
    {"", "MaxPool", MakeMax, true},
    {"", "GlobalMaxPool", MakeMax, true},
    {"headrace.grad", "MaxPoolGrad", MakeMaxGrad, true},
    {"", "LpPool", MakeLp},
    {"", "GlobalLpPool", MakeLp},
    {"headrace.grad", "LpPoolGrad", MakeLpGrad},
    {"", "AveragePool", MakeAverage, true},
    {"", "GlobalAveragePool", MakeAverage, true},
    {"headrace.grad", "AveragePoolGrad", MakeAverageGrad, true},
};

}  // namespace

KernelPart PoolFamily() { return ChosenKernels<kPoolKernels>(); }

}  // namespace hr::cpu
