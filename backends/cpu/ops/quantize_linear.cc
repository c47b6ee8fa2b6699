// Numbers to 8 bits and back: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include <algorithm>

#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/kernels/quantize.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/product_end.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// Fewer numbers than this are not worth waking a thread for.
constexpr int64_t kNumbersOfTask = 1 << 15;
int TasksFor(int64_t numbers, int slices) {
  return static_cast<int>(std::clamp<int64_t>(numbers / kNumbersOfTask, 1, slices));
}

float NumberAt(const void* zeros, bool is_signed, int64_t i) {
  return zeros == nullptr ? 0 : static_cast<float>(ZeroAt(zeros, is_signed, i));
}

// Runs of numbers that share a scale and a zero point.
struct Runs {
  int64_t count = 1, length = 0;
  int64_t scales = 1;  // run i has scale i % scales
};

Runs RunsOf(const KernelRequest& request) {
  const OperandInfo& x = request.input(0);
  const int64_t scales = request.input(1).elements();
  if (scales == 1 || x.rank() == 0) return {.length = x.elements()};
  const AroundAxis around = SplitAround(x.dims, AxisOf(request.node, 1, x.dims.size()));
  return {around.outer * around.n, around.inner, around.n};
}

// Calls run(first, length, scale's index) for parts of the runs, each on one thread.
template <typename Run>
void ForRuns(const Lease& threads, const Runs& runs, int slices, const Run& run) {
  if (runs.count == 1) {
    const int tasks = TasksFor(runs.length, slices);
    return threads.ParallelFor(tasks, [&](int task) {
      const Range part = PartOf(runs.length, tasks, task);
      run(part.begin, part.size(), int64_t{0});
    });
  }
  const int tasks = TasksFor(runs.count * runs.length, slices);
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(runs.count, tasks, task);
    for (int64_t i = part.begin; i < part.end; ++i) {
      run(i * runs.length, runs.length, i % runs.scales);
    }
  });
}

// (x, scale, zero?) → y
Result<LoweredKernel> MakeQuantize(const KernelRequest& request) {
  const Runs runs = RunsOf(request);
  const bool has_zero = request.input(2).present;
  const bool is_signed = request.outputs[0].dtype == DType::kInt8;
  LoweredKernel out;
  out.kernel = MakeKernel(
      "quantize",
      [=, slices = request.threads](const engine::Operands& p,
                                    const engine::LaunchContext& context) -> Status {
        const void* const zeros = has_zero ? p.input(2) : nullptr;
        ForRuns(context.threads, runs, slices, [&](int64_t first, int64_t length, int64_t scale) {
          QuantizeRun(p.input<float>(0) + first, length, p.input<float>(1)[scale],
                      NumberAt(zeros, is_signed, scale), is_signed, p.output<uint8_t>(0) + first);
        });
        return {};
      });
  return out;
}

// (x, scale, zero?) → y
Result<LoweredKernel> MakeDequantize(const KernelRequest& request) {
  const Runs runs = RunsOf(request);
  const bool has_zero = request.input(2).present;
  const bool is_signed = request.input(0).dtype == DType::kInt8;
  LoweredKernel out;
  out.kernel = MakeKernel(
      "dequantize",
      [=, slices = request.threads](const engine::Operands& p,
                                    const engine::LaunchContext& context) -> Status {
        const void* const zeros = has_zero ? p.input(2) : nullptr;
        ForRuns(context.threads, runs, slices, [&](int64_t first, int64_t length, int64_t scale) {
          DequantizeRun(p.input<uint8_t>(0) + first, is_signed, length, p.input<float>(1)[scale],
                        NumberAt(zeros, is_signed, scale), p.output<float>(0) + first);
        });
        return {};
      });
  return out;
}

// (x) → (y, scale, zero)
Result<LoweredKernel> MakeDynamic(const KernelRequest& request) {
  const int64_t n = request.input(0).elements();
  const int tasks = TasksFor(n, request.threads);
  const bool has_scale = request.has_output(1), has_zero = request.has_output(2);
  LoweredKernel out{.scratch_bytes = static_cast<size_t>(tasks) * sizeof(FloatRange)};
  out.kernel =
      MakeKernel("dynamic_quantize",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const auto* x = p.input<float>(0);
                   auto* ranges = p.scratch<FloatRange>();
                   context.threads.ParallelFor(tasks, [&](int task) {
                     const Range part = PartOf(n, tasks, task);
                     ranges[task] = RangeOf(x + part.begin, part.size());
                   });
                   FloatRange range;
                   for (int task = 0; task < tasks; ++task) range = Joined(range, ranges[task]);
                   const DynamicScale chosen = DynamicScaleOf(range);
                   context.threads.ParallelFor(tasks, [&](int task) {
                     const Range part = PartOf(n, tasks, task);
                     QuantizeRun(x + part.begin, part.size(), chosen.scale, chosen.zero, false,
                                 p.output<uint8_t>(0) + part.begin);
                   });
                   if (has_scale) *p.output<float>(1) = chosen.scale;
                   if (has_zero) *p.output<uint8_t>(2) = chosen.zero;
                   return {};
                 });
  return out;
}

constexpr KernelEntry kQuantizeLinearKernels[] = {
    {"", "QuantizeLinear", MakeQuantize},
    {"", "DequantizeLinear", MakeDequantize},
    {"", "DynamicQuantizeLinear", MakeDynamic},
};

}  // namespace

KernelPart QuantizeFamily() { return ChosenKernels<kQuantizeLinearKernels>(); }

}  // namespace hr::cpu
