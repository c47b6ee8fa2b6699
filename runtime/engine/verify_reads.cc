// What BuildOptions::check_memory asks for.
#include "runtime/engine/memory_check.h"
#include "runtime/engine/program_builder.h"

namespace hr::engine {

Status ProgramBuilder::VerifyReads(std::span<const BufferIndex> values,
                                   std::span<const size_t> offsets,
                                   uint32_t first_output_slot) const {
  // Views stand for their root. Roots in the arena own bytes of it; the others are bound memory.
  ArenaOwners owners;
  std::vector<bool> holds(buffers_.size());
  for (BufferIndex b = 0; b < buffers_.size(); ++b) {
    holds[b] = buffers_[b].kept != UINT32_MAX || buffers_[b].slot < first_output_slot;
  }
  const auto in_arena = [&](BufferIndex value) {
    size_t offset = 0;
    return IsArena(Root(value, &offset));
  };
  const auto range_of = [&](BufferIndex value) {
    size_t offset = 0;
    const BufferIndex root = Root(value, &offset);
    return ArenaRange{offsets[root] + offset, buffers_[value].bytes};
  };
  for (const StepSpec& step : steps_) {
    bool sound = true;
    step.buffers.ForEachRead([&](BufferIndex buffer) {
      const BufferIndex value = values[buffer];
      sound &= in_arena(value) ? owners.Owns(range_of(value), value) : holds[value];
    });
    if (!sound) {
      return Internal("an operand of ", step.kernel->Describe(),
                      " is memory that no earlier step wrote for it; this is a fault of the "
                      "library: please report it with the graph, and set disable_fusion meanwhile")
          .WithNode(step.node);
    }
    step.buffers.ForEachWritten([&](BufferIndex buffer) {
      const BufferIndex value = values[buffer];
      if (in_arena(value)) owners.Write(range_of(value), value);
      holds[value] = true;
    });
  }
  return {};
}

std::vector<std::vector<ArenaRange>> ProgramBuilder::DeadRanges(
    std::span<const size_t> offsets) const {
  const std::vector<Span> spans = Spans();
  std::vector<std::vector<ArenaRange>> out(steps_.size());
  for (BufferIndex b = 0; b < buffers_.size(); ++b) {
    if (!IsArena(b) || spans[b].first == UINT32_MAX || buffers_[b].bytes == 0) continue;
    if (spans[b].last < out.size()) out[spans[b].last].push_back({offsets[b], buffers_[b].bytes});
  }
  return out;
}

}  // namespace hr::engine
