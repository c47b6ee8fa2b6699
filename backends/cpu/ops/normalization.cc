// BatchNormalization, LayerNormalization and GroupNormalization with their gradients.
#include "backends/cpu/kernels/normalization.h"
#include "backends/cpu/kernels/normalization_channels_last.h"
#include "backends/cpu/kernels/partition.h"

#include <algorithm>
#include <array>

#include "backends/cpu/kernels/axes.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

double EpsilonOf(const graph::Node& node) { return node.Float("epsilon", 1e-5); }

// Fails unless all inputs have one type, in which the kernels compute.
Status CheckOneType(const KernelRequest& request) {
  for (const OperandInfo& input : request.inputs) {
    if (!input.present || input.dtype == request.input(0).dtype) continue;
    return Unimplemented(request.op.name, " of ", DTypeName(request.input(0).dtype), " with ",
                         DTypeName(input.dtype), " has no CPU kernel; insert a Cast");
  }
  return {};
}

// ---- Rows ----

// How scale or bias is broadcast to the normalized axes, a row.
struct RowOperand {
  bool present = false;
  bool whole = false;  // it has an element for each of the row's
  Axes axes;

  int64_t scratch(int64_t length) const { return present && !whole ? length : 0; }
  // Returns the operand with an element for each of the row's, expanded into `to` if it is not
  // whole.
  template <typename T>
  const T* Expand(const void* data, int64_t length, T** to) const {
    const auto* from = static_cast<const T*>(data);
    if (!present || whole) return present ? from : nullptr;
    T* out = *to;
    for (int64_t i = 0; i < length; ++i) out[i] = from[axes.Offset(i)];
    *to += length;
    return out;
  }
};

struct RowPlan {
  RowShape shape;
  size_t axis;
  int tasks;

  RowPlan(const KernelRequest& request, const Dims& dims)
      : axis(AxisOf(request.node, -1, dims.size())) {
    const std::span<const int64_t> all(dims);
    shape = {ElementCount(all.first(axis)), ElementCount(all.subspan(axis))};
    tasks = NormTasks(shape.rows, shape.length, request.threads);
  }
};

Result<RowOperand> RowOperandOf(const KernelRequest& request, size_t i, const Dims& x,
                                size_t axis) {
  RowOperand out;
  const OperandInfo& info = request.input(i);
  out.present = info.present;
  if (!info.present) return out;
  if (x.size() - axis > kMaxAxes) {
    return Unimplemented(request.op.name, " has no CPU kernel for ", x.size() - axis, " axes");
  }
  const size_t missing = x.size() - info.dims.size();
  for (size_t d = missing; d < axis; ++d) {
    if (info.dims[d - missing] == 1) continue;
    return Unimplemented(request.op.name, " has no CPU kernel for input ", i, " of shape ",
                         info.dims, ", which differs between rows");
  }
  const Dims strides = ContiguousStrides(info.dims);
  for (size_t d = axis; d < x.size(); ++d) {
    const bool broadcast = d < missing || info.dims[d - missing] == 1;
    out.axes.Add(x[d], broadcast ? 0 : strides[d - missing]);
  }
  out.whole = info.elements() == out.axes.elements();
  return out;
}

template <typename T>
Result<LoweredKernel> MakeRows(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckOneType(request));
  const Dims& dims = request.input(0).dims;
  const RowPlan plan(request, dims);
  HR_ASSIGN_OR_RETURN(const RowOperand scale, RowOperandOf(request, 1, dims, plan.axis));
  HR_ASSIGN_OR_RETURN(const RowOperand bias, RowOperandOf(request, 2, dims, plan.axis));
  for (size_t i = 1; i < 3; ++i) {
    if (!request.has_output(i) || request.outputs[i].dtype == DTypeOf<T>::value) continue;
    return Unimplemented(request.op.name, " has no CPU kernel for statistics of ",
                         DTypeName(request.outputs[i].dtype), "; set stash_type to 1");
  }
  const double epsilon = EpsilonOf(request.node);
  const bool has_mean = request.has_output(1), has_inverse = request.has_output(2);
  const int64_t n = plan.shape.length;
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.scratch_bytes = static_cast<size_t>(scale.scratch(n) + bias.scratch(n)) * sizeof(T);
  out.kernel =
      MakeKernel("layer_normalization",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   auto* memory = p.scratch<T>();
                   const T* s = scale.Expand<T>(p.input(1), n, &memory);
                   const T* b = bias.Expand<T>(bias.present ? p.input(2) : nullptr, n, &memory);
                   NormalizeRows(context.threads, plan.shape, epsilon, p.input<T>(0), s, b,
                                 p.output<T>(0), has_mean ? p.output<T>(1) : nullptr,
                                 has_inverse ? p.output<T>(2) : nullptr, plan.tasks);
                   return {};
                 });
  return out;
}

// (dy, x, scale, mean, inverse) → (dx, dscale)
template <typename T>
Result<LoweredKernel> MakeRowsGrad(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckOneType(request));
  const Dims& dims = request.input(1).dims;
  const RowPlan plan(request, dims);
  HR_ASSIGN_OR_RETURN(const RowOperand scale, RowOperandOf(request, 2, dims, plan.axis));
  const int64_t n = plan.shape.length, scales = request.input(2).elements();
  const bool has_dscale = request.has_output(1);
  LoweredKernel out;
  out.in_place = {{0, 0}, {0, 1}};
  out.scratch_bytes = static_cast<size_t>((plan.tasks + 2) * n) * sizeof(T);
  out.kernel = MakeKernel(
      "layer_normalization_grad",
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        auto* memory = p.scratch<T>();
        T* sums = memory;
        memory += n;
        const T* s = scale.Expand<T>(p.input(2), n, &memory);
        NormalizeRowsGrad(context.threads, plan.shape, p.input<T>(0), p.input<T>(1), s,
                          p.input<T>(3), p.input<T>(4), p.output<T>(0), sums, plan.tasks, memory);
        if (!has_dscale) return {};
        auto* dscale = p.output<T>(1);
        std::fill_n(dscale, scales, T(0));
        for (int64_t i = 0; i < n; ++i) dscale[scale.axes.Offset(i)] += sums[i];
        return {};
      });
  return out;
}

// ---- Channels ----

// Runs of a channel in memory; whole blocks are an axis of their own behind the plane.
ChannelShape ChannelsOf(const OperandInfo& x) {
  const ChannelShape shape{x.dims[0], x.dims[1],
                           ElementCount(std::span<const int64_t>(x.dims).subspan(2))};
  if (x.layout != kBatchBlockedLayout) return shape;
  const int64_t block = 64 / static_cast<int64_t>(DTypeSize(x.dtype));
  return {shape.batch / block, shape.channels, shape.inner * block};
}

// Whether the image is a matrix with a column for each channel.
bool IsColumns(const OperandInfo& x) {
  return x.layout == kChannelsLastLayout ||
         (x.layout == Layout::kPlain && ElementCount(std::span(x.dims).subspan(2)) == 1);
}

ColumnShape ColumnsOf(const OperandInfo& x) {
  const int64_t channels = x.dims[1];
  return {channels == 0 ? 0 : x.elements() / channels, channels};
}

// Images of channels, of which some lie as columns.
struct ChannelPlan {
  ChannelShape shape;
  ColumnShape matrix;
  bool columns;
  int tasks;

  ChannelPlan(const OperandInfo& x, int threads)
      : shape(ChannelsOf(x)),
        matrix(ColumnsOf(x)),
        columns(IsColumns(x)),
        tasks(columns ? NormTasks(matrix.rows, matrix.channels, threads)
                      : NormTasks(shape.channels, shape.count(), threads)) {}
  template <typename T>
  size_t scratch_bytes() const {
    return columns ? ColumnScratchBytes<T>(matrix, tasks) : 0;
  }
};

// (x, scale, bias, mean, variance) → y
template <typename T>
Result<LoweredKernel> MakeGivenChannels(const KernelRequest& request) {
  const ChannelPlan plan(request.input(0), request.threads);
  LoweredKernel out{.scratch_bytes = plan.scratch_bytes<T>(), .in_place = {{0, 0}}};
  out.kernel =
      MakeKernel(Cat("batch_normalization", plan.columns ? "_channels_last" : ""),
                 [plan, epsilon = EpsilonOf(request.node)](
                     const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const auto *x = p.input<T>(0), *scale = p.input<T>(1), *bias = p.input<T>(2);
                   const auto *mean = p.input<T>(3), *variance = p.input<T>(4);
                   if (plan.columns) {
                     NormalizeColumns(context.threads, plan.matrix, epsilon, x, scale, bias, mean,
                                      variance, p.output<T>(0), plan.tasks, p.scratch());
                   } else {
                     NormalizeChannels(context.threads, plan.shape, epsilon, x, scale, bias, mean,
                                       variance, p.output<T>(0), plan.tasks);
                   }
                   return {};
                 });
  return out;
}

// (x, scale, bias, mean, variance, residual?) →
// (y, running mean?, running variance?, mean?, variance?): see fuse_normalization.h
template <typename T>
Result<LoweredKernel> MakeTrainedChannels(const KernelRequest& request) {
  const ChannelPlan plan(request.input(0), request.threads);
  const double epsilon = EpsilonOf(request.node), momentum = request.node.Float("momentum", 0.9);
  const bool relu = request.node.Int("relu", 0) != 0, residual = request.input(5).present;
  std::array<bool, 5> wanted = {};
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = request.has_output(i);
  LoweredKernel out{.scratch_bytes = plan.scratch_bytes<T>(), .in_place = {{0, 0}}};
  if (residual) out.in_place.push_back({0, 5});
  out.kernel = MakeKernel(
      Cat("batch_normalization_training", plan.columns ? "_channels_last" : "",
          residual ? "+add" : "", relu ? "+relu" : ""),
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        const auto output = [&](size_t i) { return wanted[i] ? p.output<T>(i) : nullptr; };
        const auto *x = p.input<T>(0), *scale = p.input<T>(1), *bias = p.input<T>(2);
        const TrainingStatistics<T> statistics{.momentum = momentum,
                                               .old_mean = p.input<T>(3),
                                               .old_variance = p.input<T>(4),
                                               .running_mean = output(1),
                                               .running_variance = output(2),
                                               .mean = output(3),
                                               .variance = output(4)};
        const ChannelTail<T> tail{.residual = residual ? p.input<T>(5) : nullptr, .relu = relu};
        if (plan.columns) {
          TrainColumns(context.threads, plan.matrix, epsilon, x, scale, bias, tail, p.output<T>(0),
                       statistics, plan.tasks, p.scratch());
        } else {
          TrainChannels(context.threads, plan.shape, epsilon, x, scale, bias, tail, p.output<T>(0),
                        statistics, plan.tasks);
        }
        return {};
      });
  return out;
}

template <typename T>
Result<LoweredKernel> MakeChannels(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckOneType(request));
  const bool training = request.node.Int("training_mode", 0) != 0;
  return training ? MakeTrainedChannels<T>(request) : MakeGivenChannels<T>(request);
}

// (dy, x, scale, mean, variance, bias?) → (dx, dscale, dbias); of a lowered node, the statistics
// are those of x, and with a bias a ReLU followed (fuse_normalization.h).
template <typename T>
Result<LoweredKernel> MakeChannelsGrad(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckOneType(request));
  const ChannelPlan plan(request.input(1), request.threads);
  const bool training = request.node.Int("training_mode", 0) != 0;
  const bool known = !training || request.op.domain == lowering::kLowered;
  const bool relu = request.input(5).present;
  const double epsilon = EpsilonOf(request.node);
  LoweredKernel out;
  out.in_place = {{0, 0}, {0, 1}};
  // What nobody asked for goes to scratch.
  const std::array wanted = {request.has_output(0), request.has_output(1), request.has_output(2)};
  const int64_t channels = request.input(2).elements();
  const int64_t sizes[] = {request.input(1).elements(), channels, channels};
  const size_t sums = RoundUp(plan.scratch_bytes<T>(), 64);
  out.scratch_bytes = sums;
  for (size_t i = 0; i < 3; ++i) {
    if (!wanted[i]) out.scratch_bytes += static_cast<size_t>(sizes[i]) * sizeof(T);
  }
  out.kernel = MakeKernel(
      Cat("batch_normalization_grad", plan.columns ? "_channels_last" : "", relu ? "+relu" : ""),
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        auto* memory = p.scratch<T>() + sums / sizeof(T);
        T* outputs[3];
        for (size_t i = 0; i < 3; ++i) {
          outputs[i] = wanted[i] ? p.output<T>(i) : memory;
          if (!wanted[i]) memory += sizes[i];
        }
        const ChannelsBefore<T> before{.mean = known ? p.input<T>(3) : nullptr,
                                       .variance = known ? p.input<T>(4) : nullptr,
                                       .given = !training,
                                       .bias = relu ? p.input<T>(5) : nullptr};
        const auto *dy = p.input<T>(0), *x = p.input<T>(1), *scale = p.input<T>(2);
        if (plan.columns) {
          NormalizeColumnsGrad<T>(context.threads, plan.matrix, epsilon, dy, x, scale, before,
                                  outputs[0], outputs[1], outputs[2], plan.tasks, p.scratch());
        } else {
          NormalizeChannelsGrad<T>(context.threads, plan.shape, epsilon, dy, x, scale, before,
                                   outputs[0], outputs[1], outputs[2], plan.tasks);
        }
        return {};
      });
  return out;
}

// ---- Groups ----

GroupShape GroupsOf(const KernelRequest& request, size_t x) {
  const Dims& dims = request.input(x).dims;
  const int64_t groups = request.node.Int("num_groups", 1);
  return {dims[0], groups, dims[1] / groups,
          ElementCount(std::span<const int64_t>(dims).subspan(2))};
}

// (x, scale, bias) → y
template <typename T>
Result<LoweredKernel> MakeGroups(const KernelRequest& request) {
  const GroupShape shape = GroupsOf(request, 0);
  const int tasks = NormTasks(shape.rows(), shape.length(), request.threads);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel = MakeKernel("group_normalization",
                          [=, epsilon = EpsilonOf(request.node)](
                              const engine::Operands& p, const engine::LaunchContext& context) {
                            NormalizeGroups(context.threads, shape, epsilon, p.input<T>(0),
                                            p.input<T>(1), p.input<T>(2), p.output<T>(0), tasks);
                            return Status();
                          });
  return out;
}

// (dy, x, scale) → (dx, dscale, dbias)
template <typename T>
Result<LoweredKernel> MakeGroupsGrad(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckOneType(request));
  const GroupShape shape = GroupsOf(request, 1);
  const int tasks = NormTasks(shape.rows(), shape.length(), request.threads);
  const double epsilon = EpsilonOf(request.node);
  const std::array wanted = {request.has_output(0), request.has_output(1), request.has_output(2)};
  LoweredKernel out;
  out.in_place = {{0, 0}, {0, 1}};
  out.scratch_bytes = static_cast<size_t>(2 * shape.batch * shape.all_channels()) * sizeof(T);
  out.kernel = MakeKernel(
      "group_normalization_grad",
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        const auto output = [&](size_t i) { return wanted[i] ? p.output<T>(i) : nullptr; };
        NormalizeGroupsGrad<T>(context.threads, shape, epsilon, p.input<T>(0), p.input<T>(1),
                               p.input<T>(2), output(0), output(1), output(2), tasks,
                               p.scratch<T>());
        return {};
      });
  return out;
}

#define HR_FLOATING(Make)                                               \
  [](const KernelRequest& request) {                                    \
    return ForFloating(request, request.input(0).dtype,                 \
                       [&]<typename T>() { return Make<T>(request); }); \
  }
constexpr KernelEntry kNormalizationKernels[] = {
    {"", "BatchNormalization", HR_FLOATING(MakeChannels), true},
    {"", "LayerNormalization", HR_FLOATING(MakeRows)},
    {"", "GroupNormalization", HR_FLOATING(MakeGroups)},
    {"headrace.grad", "BatchNormalizationGrad", HR_FLOATING(MakeChannelsGrad), true},
    {lowering::kLowered, "BatchNormalization", HR_FLOATING(MakeChannels), true},
    {lowering::kLowered, "BatchNormalizationGrad", HR_FLOATING(MakeChannelsGrad), true},
    {"headrace.grad", "LayerNormalizationGrad", HR_FLOATING(MakeRowsGrad)},
    {"headrace.grad", "GroupNormalizationGrad", HR_FLOATING(MakeGroupsGrad)},
};
#undef HR_FLOATING

}  // namespace

KernelPart NormalizationFamily() { return ChosenKernels<kNormalizationKernels>(); }

}  // namespace hr::cpu
