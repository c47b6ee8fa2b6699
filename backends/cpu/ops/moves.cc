#include "backends/cpu/ops/moves.h"

namespace hr::cpu {

Result<Move> MoveOf(const KernelRequest& request, std::span<const int64_t> dims,
                    std::span<const int64_t> to_strides, std::span<const int64_t> from_strides,
                    int64_t to_offset, int64_t from_offset) {
  const size_t bytes = DTypeSize(request.input(0).dtype);
  Move move{.from = 0, .to = 0};
  move.to_offset = to_offset * static_cast<int64_t>(bytes);
  move.from_offset = from_offset * static_cast<int64_t>(bytes);
  HR_ASSIGN_OR_RETURN(move.plan, PlanCopy(bytes, dims, to_strides, from_strides, request.threads));
  return move;
}

Background BackgroundOf(const KernelRequest& request, size_t value) {
  const OperandInfo& output = request.outputs[0];
  const size_t bytes = DTypeSize(output.dtype);
  return {.value = value,
          .count = output.elements(),
          .element_bytes = bytes,
          .ranges = FillRanges(output.elements(), bytes, request.threads)};
}

LoweredKernel KernelOf(std::string name, std::vector<Move> moves, Background background) {
  LoweredKernel out;
  out.kernel = MakeKernel(
      std::move(name), [=, moves = std::move(moves)](const engine::Operands& p,
                                                     const engine::LaunchContext& context) {
        if (background.value != Background::kNone) {
          constexpr uint64_t kZero = 0;
          const void* value =
              background.value == Background::kZero ? &kZero : p.input(background.value);
          FillElements(context.threads, background.count, background.element_bytes, value,
                       p.output(0), background.ranges);
        }
        for (const Move& move : moves) {
          StridedCopy(context.threads, move.plan, p.input<std::byte>(move.from) + move.from_offset,
                      p.output<std::byte>(move.to) + move.to_offset);
        }
        return Status();
      });
  return out;
}

}  // namespace hr::cpu
