#include "runtime/engine/program.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/json_writer.h"
#include "runtime/engine/arena_planner.h"

namespace hr::engine {

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

// Steps between which a root buffer is in use.
struct ProgramBuilder::Span {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;
  void Touch(uint32_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
};

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
  for (const PreparationSpec& preparation : preparations_) {
    if (preparation.scratch != kNoBuffer) spans[roots[preparation.scratch]].Touch(0);
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for (const Operand& operand : steps_[i].operands) {
      if (operand.buffer != kNoBuffer) spans[roots[operand.buffer]].Touch(i);
    }
  }
  return spans;
}

// Turns the output of a step into a view of an input that dies there, where both lie in the arena
// and the output needs no more room.
void ProgramBuilder::ShareInPlace() {
  std::vector<Span> spans = Spans();
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for (auto [out, in] : steps_[i].in_place) {
      BufferIndex to = steps_[i].operands[out].buffer;
      BufferIndex from = steps_[i].operands[in].buffer;
      if (to == kNoBuffer || from == kNoBuffer) continue;
      size_t from_offset = 0;
      BufferIndex from_root = Root(from, &from_offset);
      bool arena_both = IsArena(to) && IsArena(from_root);
      if (!arena_both || spans[from_root].last != i || spans[to].first != i || to == from_root)
        continue;
      if (from_offset != 0 || buffers_[to].bytes > buffers_[from_root].bytes) continue;
      buffers_[to].base = from_root;
      buffers_[to].offset = 0;
      spans[from_root].last = std::max(spans[from_root].last, spans[to].last);
      break;
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

Status ProgramBuilder::VerifyReads(std::span<const BufferIndex> values,
                                   std::span<const size_t> offsets,
                                   uint32_t first_output_slot) const {
  ArenaOwners owners;
  std::vector<bool> written(buffers_.size());  // slots and kept memory
  for (BufferIndex b = 0; b < buffers_.size(); ++b)
    written[b] = buffers_[b].slot < first_output_slot;
  const auto range_of = [&](BufferIndex buffer) {
    const BufferIndex value = values[buffer];
    size_t offset = 0;
    const BufferIndex root = Root(value, &offset);
    return ArenaRange{offsets[root] + offset, buffers_[value].bytes};
  };
  const auto in_arena = [&](BufferIndex buffer) {
    size_t offset = 0;
    return IsArena(Root(buffer, &offset));
  };
  for (const StepSpec& step : steps_) {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const auto [buffer, access] = step.operands[i];
      if (buffer == kNoBuffer || access == Access::kWrite) continue;
      if (buffers_[values[buffer]].kept != UINT32_MAX) continue;
      const bool holds = in_arena(buffer) ? owners.Owns(range_of(buffer), values[buffer])
                                          : written[values[buffer]];
      if (holds) continue;
      return Internal("operand ", i, " of ", step.kernel->Describe(),
                      " is memory that no earlier step wrote for it; this is a fault of the "
                      "library: please report it with the graph, and set disable_fusion meanwhile")
          .WithNode(step.node);
    }
    for (const auto& [buffer, access] : step.operands) {
      if (buffer == kNoBuffer || access == Access::kRead) continue;
      if (in_arena(buffer)) owners.Write(range_of(buffer), values[buffer]);
      written[values[buffer]] = true;
    }
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

Result<std::unique_ptr<Program>> ProgramBuilder::Build(Allocator& allocator, BuildOptions options) {
  const std::vector<BufferIndex> values = Roots();
  ShareInPlace();
  auto program = std::make_unique<Program>();
  program->allocator_ = &allocator;
  program->pool_ = options.pool ? std::move(options.pool) : std::make_shared<PreparedPool>();
  program->slot_places_.resize(options.slot_count);
  std::vector<size_t> offsets = PlaceArena(&program->arena_bytes_);
  if (options.check_memory) {
    HR_RETURN_IF_ERROR(VerifyReads(values, offsets, options.first_output_slot));
    program->dead_after_ = DeadRanges(offsets);
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].writes_variables) program->first_write_ = std::min(program->first_write_, i);
    program->steps_.push_back(
        program->AddPlaces(*this, *steps_[i].kernel, steps_[i].operands, offsets));
  }
  HR_RETURN_IF_ERROR(AddPreparations(allocator, offsets, *program));
  program->specs_ = std::move(steps_);
  return program;
}

Status ProgramBuilder::AddPreparations(Allocator& allocator, const std::vector<size_t>& offsets,
                                       Program& program) {
  for (BufferIndex memory = 0; memory < buffers_.size(); ++memory) {
    if (buffers_[memory].kept == UINT32_MAX) continue;
    const PreparationSpec& spec = preparations_[buffers_[memory].kept];
    PreparedKey key{.format = spec.format};
    key.slot = buffers_[Root(spec.from, &key.offset)].slot;
    HR_ASSIGN_OR_RETURN(auto&& prepared, program.pool_->Get(allocator, key, spec.bytes));
    program.kept_.push_back(std::move(prepared));
    const Operand operands[] = {{spec.from}, {memory}, {spec.scratch}};
    program.preparations_.push_back(program.AddPlaces(*this, *spec.kernel, operands, offsets));
  }
  program.preparation_specs_ = std::move(preparations_);
  return {};
}

Program::Step Program::AddPlaces(const ProgramBuilder& builder, const Kernel& kernel,
                                 std::span<const Operand> operands,
                                 const std::vector<size_t>& offsets) {
  Step added{&kernel, static_cast<uint32_t>(places_.size())};
  for (const Operand& operand : operands) {
    Place place{.null = operand.buffer == kNoBuffer};
    if (!place.null) {
      BufferIndex base = builder.Root(operand.buffer, &place.offset);
      place.slot = builder.buffers_[base].slot;
      place.kept = builder.buffers_[base].kept;
      place.offset += offsets[base];
      if (place.slot != UINT32_MAX) {
        slot_places_[place.slot].push_back(static_cast<uint32_t>(places_.size()));
      }
    }
    places_.push_back(place);
  }
  return added;
}

Status Program::Prepare(void* const* operands, const RunContext& context) const {
  const uint64_t wanted = context.variables_version + 1;
  if (prepared_.load(std::memory_order_acquire) == wanted) return {};
  const auto lock = pool_->Lock();
  for (size_t i = 0; i < preparations_.size(); ++i) {
    const Step& step = preparations_[i];
    Prepared& made = *kept_[i];
    if (made.version == wanted) continue;
    Status status = step.kernel->Run(operands + step.first_operand, context);
    if (!status.ok()) return std::move(status).WithNode(preparation_specs_[i].node);
    made.version = wanted;
  }
  prepared_.store(wanted, std::memory_order_release);
  return {};
}

class ProgramInvocation final : public Invocation {
 public:
  ProgramInvocation(const Program& program, Block arena)
      : program_(&program), arena_(std::move(arena)), bound_(program.slot_places_.size()) {
    PlaceOperands();
  }

  void Bind(uint32_t slot, void* data) override {
    bound_[slot] = data;
    for (uint32_t i : program_->slot_places_[slot]) {
      operands_[i] = static_cast<std::byte*>(data) + program_->places_[i].offset;
    }
  }

  Status Become(Executable& other) override {
    const auto& program = static_cast<const Program&>(other);
    if (program.arena_bytes_ > arena_.bytes()) {
      HR_ASSIGN_OR_RETURN(arena_, Block::Create(*program.allocator_, program.arena_bytes_));
    }
    program_ = &program;
    PlaceOperands();
    for (uint32_t slot = 0; slot < bound_.size(); ++slot) {
      if (bound_[slot] != nullptr) Bind(slot, bound_[slot]);
    }
    return {};
  }

  Status Run(const RunContext& context) override {
    if (!program_->preparations_.empty()) {
      HR_RETURN_IF_ERROR(program_->Prepare(operands_.data(), context));
    }
    return program_->dead_after_.empty() ? RunSteps<false>(context) : RunSteps<true>(context);
  }

 private:
  // kPoisoned: memory is filled with kPoison as BuildOptions::check_memory says.
  template <bool kPoisoned>
  Status RunSteps(const RunContext& context) {
    const Program& program = *program_;
    const auto& steps = program.steps_;
    if (kPoisoned) std::memset(arena_.begin(), kPoison, program.arena_bytes_);
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (i < program.first_write_) {
        HR_RETURN_IF_ERROR(context.limits.Check());
      } else if (i == program.first_write_ && context.update_begun != nullptr) {
        HR_RETURN_IF_ERROR(context.limits.Check());
        *context.update_begun = true;
      }
      Status status = steps[i].kernel->Run(operands_.data() + steps[i].first_operand, context);
      if (!status.ok()) return std::move(status).WithNode(program.specs_[i].node);
      if (kPoisoned) PoisonArena(arena_.begin(), program.dead_after_[i]);
    }
    return {};
  }

  // Points all operands but those in slots to their memory.
  void PlaceOperands() {
    operands_.assign(program_->places_.size(), nullptr);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Program::Place& place = program_->places_[i];
      if (place.null || place.slot != UINT32_MAX) continue;
      const Block& block = place.kept == UINT32_MAX ? arena_ : program_->kept_[place.kept]->memory;
      operands_[i] = block.begin() + place.offset;
    }
  }

  const Program* program_;
  Block arena_;
  std::vector<void*> operands_;
  std::vector<void*> bound_;  // by slot
};

Result<std::unique_ptr<Invocation>> Program::Instantiate() {
  HR_ASSIGN_OR_RETURN(Block arena, Block::Create(*allocator_, arena_bytes_));
  return std::unique_ptr<Invocation>(std::make_unique<ProgramInvocation>(*this, std::move(arena)));
}

std::string Program::Describe() const {
  JsonWriter json;
  json.BeginObject().Field("arena_bytes", arena_bytes_);
  size_t kept_bytes = 0;
  for (const auto& prepared : kept_) kept_bytes += prepared->memory.bytes();
  json.Field("kept_bytes", kept_bytes).Key("steps").BeginArray();
  for (size_t i = 0; i < specs_.size(); ++i) {
    json.BeginObject()
        .Field("node", specs_[i].node)
        .Field("kernel", specs_[i].kernel->Describe())
        .Field("writes_variables", specs_[i].writes_variables)
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace hr::engine
