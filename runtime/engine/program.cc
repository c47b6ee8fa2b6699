#include "runtime/engine/program.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/json_writer.h"
#include "runtime/engine/comm_works.h"

namespace hr::engine {

void Program::AddPlace(const ProgramBuilder& builder, BufferIndex buffer,
                       const std::vector<size_t>& offsets) {
  Place place{.null = buffer == kNoBuffer};
  if (!place.null) {
    const BufferIndex base = builder.Root(buffer, &place.offset);
    place.slot = builder.buffers_[base].slot;
    place.kept = builder.buffers_[base].kept;
    place.offset += offsets[base];
    if (place.slot != UINT32_MAX) {
      slot_places_[place.slot].push_back(static_cast<uint32_t>(places_.size()));
    }
  }
  places_.push_back(place);
}

Program::Step Program::AddPlaces(const ProgramBuilder& builder, const Kernel& kernel,
                                 const StepBuffers& buffers, const std::vector<size_t>& offsets) {
  const Step added{&kernel, static_cast<uint32_t>(places_.size()), buffers.counts()};
  for (const auto* role : {&buffers.inputs, &buffers.outputs, &buffers.variables}) {
    for (BufferIndex buffer : *role) AddPlace(builder, buffer, offsets);
  }
  AddPlace(builder, buffers.scratch, offsets);
  return added;
}

Status Program::Prepare(std::span<const Operands> operands, const RunContext& run,
                        const LaunchContext& context) const {
  const uint64_t wanted = run.variables_version + 1;
  if (prepared_.load(std::memory_order_acquire) == wanted) return {};
  const auto lock = pool_->Lock();
  for (size_t i = 0; i < preparations_.size(); ++i) {
    Prepared& made = *kept_[i];
    if (made.version == wanted) continue;
    Status status = preparations_[i].kernel->Run(operands[i], context);
    if (!status.ok()) return std::move(status).WithNode(preparation_specs_[i].node);
    made.version = wanted;
    const PreparationSpec& spec = preparation_specs_[i];
    if (!spec.reads_last) continue;
    spec.source.Forget();
    if (run.variables != nullptr) run.variables->NotReadAgain(operands[i].input(0));
  }
  prepared_.store(wanted, std::memory_order_release);
  return {};
}

class ProgramInvocation final : public Invocation {
 public:
  explicit ProgramInvocation(const Program& program)
      : program_(&program),
        arena_bytes_(program.arena_bytes_),
        bound_(program.slot_places_.size()),
        comm_(program.groups_, program.comm_slots_) {
    PlaceOperands();
  }

  void Bind(uint32_t slot, void* data) override {
    bound_[slot] = data;
    for (uint32_t i : program_->slot_places_[slot]) {
      operands_[i] = static_cast<std::byte*>(data) + program_->places_[i].offset;
    }
  }

  Status SwitchTo(Executable& other) override {
    const auto& program = static_cast<const Program&>(other);
    arena_bytes_ = std::max(arena_bytes_, program.arena_bytes_);
    program_ = &program;
    PlaceOperands();
    for (uint32_t slot = 0; slot < bound_.size(); ++slot) {
      if (bound_[slot] != nullptr) Bind(slot, bound_[slot]);
    }
    return {};
  }

  Status Run(const RunContext& context) override {
    ArenaPool* const pool = context.stream == nullptr ? context.arenas : nullptr;
    if (pool == nullptr) {
      if (own_arena_.bytes() < arena_bytes_) {
        HR_ASSIGN_OR_RETURN(own_arena_, Block::Create(*program_->allocator_, arena_bytes_));
      }
      return RunIn(own_arena_.begin(), context);
    }
    if (arena_bytes_ == 0) return RunIn(nullptr, context);
    HR_ASSIGN_OR_RETURN(Block lent, pool->Take(arena_bytes_, arena_));
    Status status = RunIn(lent.begin(), context);
    pool->Put(std::move(lent));
    return status;
  }

 private:
  Status RunIn(std::byte* arena, const RunContext& context) {
    if (arena != arena_) PlaceInArena(arena);
    if (!comm_.empty()) return RunCommunicating(context);
    const LaunchContext launch{context.threads, context.seed, context.step, context.stream};
    if (!program_->preparations_.empty()) {
      HR_RETURN_IF_ERROR(program_->Prepare(prepared_operands_, context, launch));
    }
    const bool watched = context.recorder != nullptr || !program_->dead_after_.empty();
    return watched ? RunSteps<true>(context, launch) : RunSteps<false>(context, launch);
  }

  // Other ranks wait for this one, so a failure is told to them.
  Status RunCommunicating(const RunContext& context) {
    HR_RETURN_IF_ERROR(comm_.Begin(context.groups, *context.limits));
    const LaunchContext launch{context.threads, context.seed, context.step, context.stream, &comm_};
    Status status = program_->Prepare(prepared_operands_, context, launch);
    if (status.ok()) status = RunSteps<true>(context, launch);
    if (!status.ok()) comm_.Fail(status);
    return status;
  }

  // `kWatched`: a recorder is told of each step, memory is filled with kPoison, as
  // BuildOptions::check_memory says, or operations of groups are in flight between steps.
  template <bool kWatched>
  Status RunSteps(const RunContext& context, const LaunchContext& launch) {
    const Program& program = *program_;
    const auto& steps = program.steps_;
    const bool poisoned = kWatched && !program.dead_after_.empty();
    if (poisoned && arena_ != nullptr) std::memset(arena_, kPoison, program.arena_bytes_);
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (i < program.first_write_) {
        HR_RETURN_IF_ERROR(context.limits->Check());
      } else if (i == program.first_write_ && context.update_begun != nullptr) {
        HR_RETURN_IF_ERROR(context.limits->Check());
        *context.update_begun = true;
      }
      const bool recorded = kWatched && context.recorder != nullptr;
      if (recorded) context.recorder->BeginStep(program.FactsOf(i));
      Status status = steps[i].kernel->Run(step_operands_[i], launch);
      if (recorded) context.recorder->EndStep();
      if (!status.ok()) return std::move(status).WithNode(program.specs_[i].node);
      if (poisoned) PoisonArena(arena_, program.dead_after_[i]);
      if (kWatched && comm_.in_flight()) comm_.Turn();
    }
    return {};
  }

  void PlaceInArena(std::byte* arena) {
    arena_ = arena;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Program::Place& place = program_->places_[i];
      if (place.InArena()) operands_[i] = arena + place.offset;
    }
  }

  // Points all operands but those in slots to their memory.
  void PlaceOperands() {
    operands_.assign(program_->places_.size(), nullptr);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Program::Place& place = program_->places_[i];
      if (place.kept == UINT32_MAX) continue;
      operands_[i] = program_->kept_[place.kept]->memory.begin() + place.offset;
    }
    PlaceInArena(arena_);
    step_operands_.clear();
    for (const Program::Step& step : program_->steps_) step_operands_.push_back(OperandsOf(step));
    prepared_operands_.clear();
    for (const Program::Step& step : program_->preparations_) {
      prepared_operands_.push_back(OperandsOf(step));
    }
  }

  Operands OperandsOf(const Program::Step& step) const {
    return {operands_.data() + step.first_operand, step.counts};
  }

  const Program* program_;
  size_t arena_bytes_;           // the most that it has needed
  std::byte* arena_ = nullptr;   // where operands lie: that of the last run, which may be gone
  Block own_arena_;              // if none is lent
  std::vector<void*> operands_;  // of all steps
  std::vector<Operands> step_operands_;      // that point into operands_
  std::vector<Operands> prepared_operands_;  // the same, of preparations
  std::vector<void*> bound_;                 // by slot
  CommWorks comm_;
};

Result<std::unique_ptr<Invocation>> Program::Instantiate() {
  return std::unique_ptr<Invocation>(std::make_unique<ProgramInvocation>(*this));
}

StepFacts Program::FactsOf(uint32_t step) const {
  const StepSpec& spec = specs_[step];
  return {.node = spec.node,
          .kernel = spec.kernel->Describe(),
          .operations = spec.work.operations,
          .bytes = spec.work.bytes,
          .live_bytes = live_bytes_[step]};
}

std::string Program::Describe() const {
  JsonWriter json;
  json.BeginObject().Field("arena_bytes", arena_bytes_);
  size_t kept_bytes = 0;
  for (const auto& prepared : kept_) kept_bytes += prepared->memory.bytes();
  json.Field("kept_bytes", kept_bytes);
  DescribePeak(json);
  json.Key("steps").BeginArray();
  for (const StepSpec& spec : specs_) {
    json.BeginObject()
        .Field("node", spec.node)
        .Field("kernel", spec.kernel->Describe())
        .Field("writes_variables", spec.writes_variables())
        .Field("again", spec.again);
    if (!spec.choice.empty()) json.Key("choice").Raw(spec.choice);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

void Program::DescribePeak(JsonWriter& json) const {
  if (specs_.empty()) return;
  json.Key("peak").BeginObject().Field("bytes", peak_.bytes).Field("step", peak_.step);
  json.Field("node", specs_[peak_.step].node).Key("holders").BeginArray();
  for (const MemoryHolder& holder : peak_.holders) {
    json.BeginObject()
        .Field("node", holder.node)
        .Field("bytes", holder.bytes)
        .Field("first_step", holder.first)
        .Field("last_step", holder.last)
        .Field("workspace", holder.workspace)
        .EndObject();
  }
  json.EndArray().Field("other_bytes", peak_.other_bytes).EndObject();
}

}  // namespace hr::engine
