// A compiled region as a list of steps over buffers at fixed places: what backends that run kernels
// one after the other share. A run is a walk over the steps: no allocation, hashing or locking.
// What can be made once of constants and variables (packed weights) is kept between runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/kernel.h"
#include "runtime/engine/memory_check.h"
#include "runtime/engine/prepared.h"

namespace hr::engine {

using BufferIndex = uint32_t;
inline constexpr BufferIndex kNoBuffer = UINT32_MAX;

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct Operand {
  BufferIndex buffer = kNoBuffer;  // kNoBuffer: a null operand
  Access access = Access::kRead;
};

struct StepSpec {
  std::unique_ptr<Kernel> kernel;
  std::vector<Operand> operands;
  // Pairs (output, input) of operands that may share memory when the input dies here.
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
  std::string node;  // for errors and inspection
  bool writes_variables = false;
};

// What is made once for many runs of a slot that no step writes, or of a part of one.
struct PreparationSpec {
  std::unique_ptr<Kernel> kernel;  // (from, memory, scratch)
  BufferIndex from = kNoBuffer;
  size_t bytes = 0;    // of the memory
  std::string format;  // of the contents; see PreparedKey
  BufferIndex scratch = kNoBuffer;
  std::string node;
};

class Program;

struct BuildOptions {
  uint32_t slot_count = 0;
  // The slots from here on hold nothing before a step writes them.
  uint32_t first_output_slot = UINT32_MAX;
  // Null: the program shares prepared memory with no other.
  std::shared_ptr<PreparedPool> pool;
  // Verifies that each step reads only what was bound or written before it, and fills the memory of
  // the arena with kPoison before each run and as soon as no later step needs it.
  bool check_memory = false;
};

class ProgramBuilder {
 public:
  // Memory of the arena, alive from its first to its last step.
  BufferIndex AddArena(size_t bytes);
  // Memory bound from outside.
  BufferIndex AddSlot(uint32_t slot);
  // `bytes` at `offset` of another buffer.
  BufferIndex AddView(BufferIndex of, size_t offset);
  void AddStep(StepSpec step);
  // Memory that all invocations share, and other programs of the pool, too, where they make the
  // same. Made before the first run, and again when RunContext::variables_version has changed.
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

  BufferIndex Root(BufferIndex buffer, size_t* offset) const;
  bool IsArena(BufferIndex buffer) const;
  void ShareInPlace();
  // Returns the buffer at the root of each one.
  std::vector<BufferIndex> Roots() const;
  // Returns INTERNAL if a step reads memory that holds no value or another one. `values`: the roots
  // before buffers were shared, which tell values apart.
  Status VerifyReads(std::span<const BufferIndex> values, std::span<const size_t> offsets,
                     uint32_t first_output_slot) const;
  // Returns the ranges of the arena that no step needs any more, by the last step that does.
  std::vector<std::vector<ArenaRange>> DeadRanges(std::span<const size_t> offsets) const;
  // The offset of each buffer in the arena, and its size.
  std::vector<size_t> PlaceArena(size_t* arena_bytes) const;
  struct Span;
  // Returns the steps between which each root buffer is in use.
  std::vector<Span> Spans() const;
  Status AddPreparations(Allocator& allocator, const std::vector<size_t>& offsets,
                         Program& program);

  std::vector<BufferSpec> buffers_;
  std::vector<StepSpec> steps_;
  std::vector<PreparationSpec> preparations_;
};

class Program final : public Executable {
 public:
  // Makes the program of the same region at other sizes. Programs that may become each other have
  // the same slots.
  using Resizer = std::function<Result<std::unique_ptr<Executable>>(const graph::Module&)>;
  void set_resizer(Resizer resizer) { resizer_ = std::move(resizer); }

  Result<std::unique_ptr<Invocation>> Instantiate() override;
  Result<std::unique_ptr<Executable>> Resize(const graph::Module& region) override {
    return resizer_ ? resizer_(region) : std::unique_ptr<Executable>();
  }
  size_t arena_bytes() const override { return arena_bytes_; }
  std::string Describe() const override;

 private:
  friend class ProgramBuilder;
  friend class ProgramInvocation;

  struct Step {
    const Kernel* kernel;
    uint32_t first_operand;
  };
  // Where an operand lies: in the arena, in kept memory, or in a slot.
  struct Place {
    uint32_t slot = UINT32_MAX;
    uint32_t kept = UINT32_MAX;
    bool null = false;
    size_t offset = 0;
  };
  // Notes where the operands lie. `offsets` are those of the builder's buffers.
  Step AddPlaces(const ProgramBuilder& builder, const Kernel& kernel,
                 std::span<const Operand> operands, const std::vector<size_t>& offsets);
  // Has kept memory made of `operands`, those of one invocation, unless it is up to date.
  Status Prepare(void* const* operands, const RunContext& context) const;

  Allocator* allocator_ = nullptr;
  size_t arena_bytes_ = 0;
  uint32_t first_write_ = UINT32_MAX;  // the update phase begins here
  std::vector<Step> steps_;
  std::vector<Place> places_;                       // of all operands, step after step
  std::vector<std::vector<uint32_t>> slot_places_;  // slot → indices into places_
  std::vector<StepSpec> specs_;                     // owns the kernels
  std::vector<Step> preparations_;
  std::vector<std::shared_ptr<Prepared>> kept_;  // what each of them makes
  std::vector<PreparationSpec> preparation_specs_;
  std::shared_ptr<PreparedPool> pool_;
  mutable std::atomic<uint64_t> prepared_ = 0;  // variables_version + 1 of all kept memory
  Resizer resizer_;
  std::vector<std::vector<ArenaRange>> dead_after_;  // by step; empty unless memory is checked
};

}  // namespace hr::engine
