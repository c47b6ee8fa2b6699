// ReverseSequence, and TensorScatter with its gradient.
#include "backends/cpu/kernels/sequence.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

Result<LoweredKernel> MakeReverse(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const bool time_first = request.node.Int("time_axis", 0) == 0;
  const size_t row_bytes = static_cast<size_t>(ElementCount(std::span(dims).subspan(2))) *
                           DTypeSize(request.input(0).dtype);
  const ReverseShape shape{dims[time_first ? 0 : 1], dims[time_first ? 1 : 0], time_first,
                           row_bytes};
  LoweredKernel out;
  out.kernel = MakeKernel(
      "reverse_sequence", [=](const engine::Operands& p, const engine::LaunchContext&) -> Status {
        const auto* lengths = p.input<int64_t>(1);
        for (int64_t n = 0; n < shape.batch; ++n) {
          if (lengths[n] >= 0 && lengths[n] <= shape.steps) continue;
          return InvalidArgument("ReverseSequence wants lengths from 0 to the ", shape.steps,
                                 " steps of its input, got ", lengths[n], " for sequence ", n);
        }
        ReverseSequences(shape, lengths, p.input(0), p.output(0));
        return {};
      });
  return out;
}

// What TensorScatter does: the shape of its memory, and where it may write.
struct Cache {
  CacheShape shape;
  bool circular;

  static Cache Of(const KernelRequest& request) {
    const Dims& cache = request.input(0).dims;
    const Dims& update = request.input(1).dims;
    const size_t axis = AxisOf(request.node, -2, cache.size());
    const size_t row_bytes = static_cast<size_t>(ElementCount(std::span(cache).subspan(axis + 1))) *
                             DTypeSize(request.input(0).dtype);
    return {{cache[0], ElementCount(std::span(cache).subspan(1, axis - 1)), cache[axis],
             update[axis], row_bytes},
            request.node.String("mode", "linear") == "circular"};
  }
  Status CheckStarts(const int64_t* starts) const {
    for (int64_t n = 0; starts != nullptr && !circular && n < shape.batch; ++n) {
      if (starts[n] >= 0 && starts[n] <= shape.length - shape.written) continue;
      return InvalidArgument("TensorScatter writes ", shape.written, " positions from ", starts[n],
                             " on for sequence ", n, ", the cache has ", shape.length,
                             "; mode circular would begin again at 0");
    }
    return {};
  }
};

Result<LoweredKernel> MakeScatter(const KernelRequest& request) {
  const Cache cache = Cache::Of(request);
  const size_t bytes =
      static_cast<size_t>(request.input(0).elements()) * DTypeSize(request.input(0).dtype);
  const bool given = request.input(2).present;
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel = MakeKernel("tensor_scatter",
                          [=](const engine::Operands& p, const engine::LaunchContext&) -> Status {
                            const auto* starts = given ? p.input<int64_t>(2) : nullptr;
                            HR_RETURN_IF_ERROR(cache.CheckStarts(starts));
                            if (p.output(0) != p.input(0) && bytes > 0)
                              std::memcpy(p.output(0), p.input(0), bytes);
                            WriteCache(cache.shape, starts, p.input(1), p.output(0));
                            return {};
                          });
  return out;
}

Result<LoweredKernel> MakeScatterGrad(const KernelRequest& request) {
  const Cache cache = Cache::Of(request);
  const bool given = request.input(2).present;
  LoweredKernel out;
  out.kernel = MakeKernel("tensor_scatter_grad",
                          [=](const engine::Operands& p, const engine::LaunchContext&) -> Status {
                            const auto* starts = given ? p.input<int64_t>(2) : nullptr;
                            HR_RETURN_IF_ERROR(cache.CheckStarts(starts));
                            ReadCache(cache.shape, starts, p.input(0), p.output(0));
                            return {};
                          });
  return out;
}

constexpr KernelEntry kSequenceKernels[] = {
    {"", "ReverseSequence", MakeReverse},
    {"", "TensorScatter", MakeScatter},
    {"headrace.grad", "TensorScatterGrad", MakeScatterGrad},
};

}  // namespace

KernelPart SequenceFamily() { return ChosenKernels<kSequenceKernels>(); }

}  // namespace hr::cpu
