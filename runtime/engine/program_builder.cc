#include "runtime/engine/program_builder.h"

#include <algorithm>

#include "runtime/engine/arena_planner.h"
#include "runtime/engine/program.h"

namespace hr::engine {

Operands::Counts StepBuffers::counts() const {
  return {static_cast<uint16_t>(inputs.size()), static_cast<uint16_t>(outputs.size()),
          static_cast<uint16_t>(variables.size())};
}

bool StepSpec::writes_variables() const {
  return std::any_of(buffers.variables.begin(), buffers.variables.end(),
                     [](BufferIndex variable) { return variable != kNoBuffer; });
}

BufferIndex ProgramBuilder::AddArena(size_t bytes) {
  buffers_.push_back({.bytes = bytes});
  return static_cast<BufferIndex>(buffers_.size() - 1);
}

BufferIndex ProgramBuilder::AddSlot(uint32_t slot) {
  buffers_.push_back({.slot = slot});
  return static_cast<BufferIndex>(buffers_.size() - 1);
}

BufferIndex ProgramBuilder::AddView(BufferIndex of, size_t offset) {
  buffers_.push_back({.base = of, .offset = offset});
  return static_cast<BufferIndex>(buffers_.size() - 1);
}

void ProgramBuilder::AddStep(StepSpec step) { steps_.push_back(std::move(step)); }

BufferIndex ProgramBuilder::AddPreparation(PreparationSpec preparation) {
  if (preparation.scratch_bytes != 0) {
    if (preparation_scratch_ == kNoBuffer) preparation_scratch_ = AddArena(0);
    size_t& bytes = buffers_[preparation_scratch_].bytes;
    bytes = std::max(bytes, preparation.scratch_bytes);
  }
  buffers_.push_back({.kept = static_cast<uint32_t>(preparations_.size())});
  preparations_.push_back(std::move(preparation));
  return static_cast<BufferIndex>(buffers_.size() - 1);
}

bool ProgramBuilder::IsArena(BufferIndex buffer) const {
  const BufferSpec& spec = buffers_[buffer];
  return spec.base == kNoBuffer && spec.slot == UINT32_MAX && spec.kept == UINT32_MAX;
}

BufferIndex ProgramBuilder::Root(BufferIndex buffer, size_t* offset) const {
  while (buffers_[buffer].base != kNoBuffer) {
    *offset += buffers_[buffer].offset;
    buffer = buffers_[buffer].base;
  }
  return buffer;
}

void ProgramBuilder::Span::Touch(uint32_t step) {
  first = std::min(first, step);
  last = std::max(last, step);
}

std::vector<BufferIndex> ProgramBuilder::Roots() const {
  std::vector<BufferIndex> out;
  for (BufferIndex buffer = 0; buffer < buffers_.size(); ++buffer) {
    size_t offset = 0;
    out.push_back(Root(buffer, &offset));
  }
  return out;
}

std::vector<ProgramBuilder::Span> ProgramBuilder::Spans() const {
  const std::vector<BufferIndex> roots = Roots();
  std::vector<Span> spans(buffers_.size());
  if (preparation_scratch_ != kNoBuffer) spans[preparation_scratch_].Touch(0);
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    steps_[i].buffers.ForEach([&](BufferIndex buffer) { spans[roots[buffer]].Touch(i); });
  }
  return spans;
}

// Returns whether an output may take an input's memory. Other inputs of the step in the same memory
// must allow it, too.
bool ProgramBuilder::MayShare(const StepSpec& step, uint32_t out, uint32_t in) const {
  size_t offset = 0;
  const BufferIndex from = Root(step.buffers.inputs[in], &offset);
  for (uint32_t other = 0; other < step.buffers.inputs.size(); ++other) {
    const BufferIndex input = step.buffers.inputs[other];
    size_t at = 0;
    if (input == kNoBuffer || Root(input, &at) != from) continue;
    const auto listed =
        std::find(step.in_place.begin(), step.in_place.end(), std::pair(out, other));
    if (listed == step.in_place.end() || at != 0) return false;
  }
  return true;
}

// Turns outputs of a step that are read into views of inputs that die there, one of each, if both
// lie in the arena and the output needs no more room.
void ProgramBuilder::ShareInPlace() {
  std::vector<Span> spans = Spans();
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for (auto [out, in] : steps_[i].in_place) {
      const BufferIndex to = steps_[i].buffers.outputs[out], from = steps_[i].buffers.inputs[in];
      if (to == kNoBuffer || from == kNoBuffer || !MayShare(steps_[i], out, in)) continue;
      size_t offset = 0;
      const BufferIndex root = Root(from, &offset);
      const bool arena_both = IsArena(to) && IsArena(root) && to != root;
      if (!arena_both || spans[root].last != i) continue;
      if (spans[to].first != i || spans[to].last == i) continue;
      if (buffers_[to].bytes > buffers_[root].bytes) continue;
      buffers_[to].base = root;
      buffers_[to].offset = 0;
      spans[root].last = spans[to].last;
    }
  }
}

std::vector<size_t> ProgramBuilder::PlaceArena(size_t* arena_bytes) const {
  const std::vector<Span> spans = Spans();
  std::vector<Lifetime> lifetimes;
  std::vector<BufferIndex> planned;
  for (BufferIndex b = 0; b < buffers_.size(); ++b) {
    if (!IsArena(b) || spans[b].first == UINT32_MAX) continue;
    planned.push_back(b);
    lifetimes.push_back({buffers_[b].bytes, spans[b].first, spans[b].last});
  }
  ArenaLayout layout = PlanArena(lifetimes);
  *arena_bytes = layout.bytes;
  std::vector<size_t> offsets(buffers_.size(), 0);
  for (size_t i = 0; i < planned.size(); ++i) offsets[planned[i]] = layout.offsets[i];
  return offsets;
}

std::vector<size_t> ProgramBuilder::LiveBytes() const {
  const std::vector<Span> spans = Spans();
  std::vector<size_t> live(steps_.size(), 0);
  for (BufferIndex b = 0; b < buffers_.size(); ++b) {
    if (!IsArena(b) || spans[b].first == UINT32_MAX) continue;
    for (uint32_t i = spans[b].first; i <= spans[b].last && i < live.size(); ++i) {
      live[i] += buffers_[b].bytes;
    }
  }
  return live;
}

Result<std::unique_ptr<Program>> ProgramBuilder::Build(Allocator& allocator, BuildOptions options) {
  if (options.memory_limit != 0) HR_RETURN_IF_ERROR(FitInto(options.memory_limit));
  const std::vector<BufferIndex> values = Roots();
  ShareInPlace();
  auto program = std::make_unique<Program>();
  program->allocator_ = &allocator;
  program->pool_ = options.pool ? std::move(options.pool) : std::make_shared<PreparedPool>();
  program->slot_places_.resize(options.slot_count);
  std::vector<size_t> offsets = PlaceArena(&program->arena_bytes_);
  program->live_bytes_ = LiveBytes();
  program->peak_ = FindPeak();
  if (options.check_memory) {
    HR_RETURN_IF_ERROR(VerifyReads(values, offsets, options.first_output_slot));
    program->dead_after_ = DeadRanges(offsets);
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].writes_variables()) program->first_write_ = std::min(program->first_write_, i);
    program->steps_.push_back(
        program->AddPlaces(*this, *steps_[i].kernel, steps_[i].buffers, offsets));
  }
  HR_RETURN_IF_ERROR(AddPreparations(allocator, offsets, *program));
  program->specs_ = std::move(steps_);
  program->groups_ = std::move(options.groups);
  program->comm_slots_ = options.comm_slots;
  return program;
}

bool ProgramBuilder::IsRead(uint32_t slot) const {
  return std::ranges::any_of(steps_, [&](const StepSpec& step) {
    return std::ranges::any_of(step.buffers.inputs, [&](BufferIndex input) {
      size_t offset = 0;
      return input != kNoBuffer && buffers_[Root(input, &offset)].slot == slot;
    });
  });
}

Status ProgramBuilder::AddPreparations(Allocator& allocator, const std::vector<size_t>& offsets,
                                       Program& program) {
  for (BufferIndex memory = 0; memory < buffers_.size(); ++memory) {
    if (buffers_[memory].kept == UINT32_MAX) continue;
    PreparationSpec& spec = preparations_[buffers_[memory].kept];
    PreparedKey key{.format = spec.format};
    key.slot = buffers_[Root(spec.from, &key.offset)].slot;
    spec.reads_last = !IsRead(key.slot);
    HR_ASSIGN_OR_RETURN(auto&& prepared, program.pool_->Get(allocator, key, spec.bytes));
    program.kept_.push_back(std::move(prepared));
    const StepBuffers buffers{
        .inputs = {spec.from},
        .outputs = {memory},
        .scratch = spec.scratch_bytes == 0 ? kNoBuffer : preparation_scratch_};
    program.preparations_.push_back(program.AddPlaces(*this, *spec.kernel, buffers, offsets));
  }
  program.preparation_specs_ = std::move(preparations_);
  return {};
}

}  // namespace hr::engine
