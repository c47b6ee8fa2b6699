// Makes programs: steps over buffers, which get places in one arena.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/tensor.h"
#include "runtime/engine/kernel.h"
#include "runtime/engine/memory_check.h"
#include "runtime/engine/prepared.h"

namespace hr::engine {

using BufferIndex = uint32_t;
inline constexpr BufferIndex kNoBuffer = UINT32_MAX;

// The buffers that a kernel is given; kNoBuffer gives it null.
struct StepBuffers {
  std::vector<BufferIndex> inputs;
  std::vector<BufferIndex> outputs;
  std::vector<BufferIndex> variables;  // that the step changes
  BufferIndex scratch = kNoBuffer;

  Operands::Counts counts() const;
  // Calls visit(buffer) for each buffer that is given, in the order of Operands.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    ForEachRead(visit);
    ForEachWritten(visit);
  }
  // For those that the step reads: inputs and variables.
  template <typename Visit>
  void ForEachRead(const Visit& visit) const {
    for (BufferIndex buffer : inputs) Visited(buffer, visit);
    for (BufferIndex buffer : variables) Visited(buffer, visit);
  }
  // For those that the step writes: outputs, variables and scratch memory.
  template <typename Visit>
  void ForEachWritten(const Visit& visit) const {
    for (BufferIndex buffer : outputs) Visited(buffer, visit);
    for (BufferIndex buffer : variables) Visited(buffer, visit);
    Visited(scratch, visit);
  }

 private:
  template <typename Visit>
  static void Visited(BufferIndex buffer, const Visit& visit) {
    if (buffer != kNoBuffer) visit(buffer);
  }
};

// What a step has to do, as StepFacts says.
struct StepWork {
  double operations = 0;
  size_t bytes = 0;
};

struct StepSpec {
  std::shared_ptr<Kernel> kernel;  // steps that run it again share it
  StepBuffers buffers;
  // Pairs (output, input) that may share memory if the input dies here: the kernel writes an
  // element of the output only after it has read all that follows from the same bytes of the input.
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
  std::string node;    // for errors and inspection
  StepWork work;       // for profiles
  std::string choice;  // for inspection: why this kernel, as JSON; may be empty
  // Whether it changes nothing but its outputs, and gives the same whenever it runs.
  bool repeatable = false;
  bool in_flight = false;  // others read or write its operands after it has returned
  bool again = false;      // an earlier step did the same: its results were not kept

  bool writes_variables() const;
};

// What is made once for many runs of a slot that no step writes, or of a part of one.
struct PreparationSpec {
  std::shared_ptr<Kernel> kernel;  // (from) → (memory)
  BufferIndex from = kNoBuffer;
  size_t bytes = 0;    // of the memory
  std::string format;  // of the contents; see PreparedKey
  size_t scratch_bytes = 0;
  std::string node;
  Tensor source;            // what the slot is bound to, if it is a constant
  bool reads_last = false;  // no step reads the slot: its memory is given back; set by Build
};

// The step at which most of the arena is in use, and what holds it.
struct MemoryHolder {
  std::string node;  // of the step that writes it first
  size_t bytes = 0;
  uint32_t first = 0, last = 0;  // steps that touch it
  bool workspace = false;        // of a kernel; else a value
};
struct MemoryPeak {
  uint32_t step = 0;
  size_t bytes = 0;
  std::vector<MemoryHolder> holders;  // the largest ones first
  size_t other_bytes = 0;             // of smaller ones
};

class Program;
struct MemoryStep;
struct StepRun;

struct BuildOptions {
  uint32_t slot_count = 0;
  // The slots from here on hold nothing before a step writes them.
  uint32_t first_output_slot = UINT32_MAX;
  // Null: the program shares prepared memory with no other.
  std::shared_ptr<PreparedPool> pool;
  // Verifies that each step reads only what was bound or written before it, and fills the memory of
  // the arena with kPoison before each run and as soon as no later step needs it.
  bool check_memory = false;
  // The most bytes of the arena: steps run again where values would need more. 0: no limit.
  size_t memory_limit = 0;
  // The groups in which steps communicate, and how many operations they start (CommWorks).
  std::vector<std::string> groups;
  uint32_t comm_slots = 0;
};

class ProgramBuilder {
 public:
  // Adds memory of the arena, alive from its first to its last step.
  BufferIndex AddArena(size_t bytes);
  // Adds memory that is bound from outside.
  BufferIndex AddSlot(uint32_t slot);
  // Adds what lies at `offset` of another buffer.
  BufferIndex AddView(BufferIndex of, size_t offset);
  void AddStep(StepSpec step);
  // A step that has been added, which may be changed.
  StepSpec& step(size_t index) { return steps_[index]; }
  // Adds memory that all invocations share, and other programs of the pool, too, if they make the
  // same. It is made before the first run, and again when RunContext::variables_version has
  // changed.
  BufferIndex AddPreparation(PreparationSpec preparation);
  size_t step_count() const { return steps_.size(); }

  Result<std::unique_ptr<Program>> Build(Allocator& allocator, BuildOptions options);

 private:
  friend class Program;
  struct BufferSpec {
    size_t bytes = 0;
    uint32_t kept = UINT32_MAX;    // index into preparations_
    uint32_t slot = UINT32_MAX;    // of external memory
    BufferIndex base = kNoBuffer;  // of a view
    size_t offset = 0;
  };
  // Steps between which a root buffer is in use.
  struct Span {
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;
    void Touch(uint32_t step);
  };

  BufferIndex Root(BufferIndex buffer, size_t* offset) const;
  // Returns the buffer at the root of each one.
  std::vector<BufferIndex> Roots() const;
  bool IsArena(BufferIndex buffer) const;
  std::vector<Span> Spans() const;
  bool MayShare(const StepSpec& step, uint32_t out, uint32_t in) const;
  void ShareInPlace();
  std::vector<MemoryStep> MemorySteps() const;
  // Returns the program with its steps in this order, some of them twice.
  ProgramBuilder InOrder(std::span<const StepRun> order) const;
  size_t ArenaBytes() const;
  // Has steps run again until the arena has at most so many bytes; RESOURCE_EXHAUSTED if it cannot.
  Status FitInto(size_t limit);
  Status BeyondLimit(size_t limit, size_t needed) const;
  MemoryPeak FindPeak() const;
  // Returns the bytes of the arena that are in use, for each step.
  std::vector<size_t> LiveBytes() const;
  // Returns the offset of each buffer in the arena, whose size is *arena_bytes.
  std::vector<size_t> PlaceArena(size_t* arena_bytes) const;
  // Returns INTERNAL if a step reads memory that holds no value or another one. `values`: the roots
  // before buffers were shared, which tell values apart.
  Status VerifyReads(std::span<const BufferIndex> values, std::span<const size_t> offsets,
                     uint32_t first_output_slot) const;
  // Returns the ranges of the arena that no step needs any more, by the last step that does.
  std::vector<std::vector<ArenaRange>> DeadRanges(std::span<const size_t> offsets) const;
  // Whether a step takes what lies in the slot.
  bool IsRead(uint32_t slot) const;
  Status AddPreparations(Allocator& allocator, const std::vector<size_t>& offsets,
                         Program& program);

  std::vector<BufferSpec> buffers_;
  std::vector<StepSpec> steps_;
  std::vector<PreparationSpec> preparations_;
  BufferIndex preparation_scratch_ = kNoBuffer;  // of all, which run one after the other
};

}  // namespace hr::engine
