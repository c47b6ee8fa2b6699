// A compiled region as a list of steps over buffers at fixed places: what backends that run kernels
// one after the other share. A run is a walk over the steps: no allocation, hashing or locking.
// What can be made once of constants and variables (packed weights) is kept between runs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/engine/kernel.h"

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

class Program;

class ProgramBuilder {
 public:
  // Memory of the arena, alive from its first to its last step.
  BufferIndex AddArena(size_t bytes);
  // Memory bound from outside.
  BufferIndex AddSlot(uint32_t slot);
  // Memory of the program, which all its invocations share: what preparations write.
  BufferIndex AddKept(size_t bytes);
  // `bytes` at `offset` of another buffer.
  BufferIndex AddView(BufferIndex of, size_t offset);
  void AddStep(StepSpec step);
  // Writes kept memory from slots that no step writes. Done before the first run, and again when
  // RunContext::variables_version has changed.
  void AddPreparation(StepSpec step);
  size_t step_count() const { return steps_.size(); }

  Result<std::unique_ptr<Program>> Build(Allocator& allocator, uint32_t slot_count);

 private:
  friend class Program;
  struct BufferSpec {
    size_t bytes = 0;
    bool kept = false;
    uint32_t slot = UINT32_MAX;    // of external memory
    BufferIndex base = kNoBuffer;  // of a view
    size_t offset = 0;
  };
  BufferIndex Root(BufferIndex buffer, size_t* offset) const;
  bool IsArena(BufferIndex buffer) const;
  void ShareInPlace();
  // The offset of each buffer in the arena or in kept memory, and the size of either.
  std::vector<size_t> PlaceArena(size_t* arena_bytes) const;
  size_t PlaceKept(std::vector<size_t>* offsets) const;

  std::vector<BufferSpec> buffers_;
  std::vector<StepSpec> steps_;
  std::vector<StepSpec> preparations_;
};

class Program final : public Executable {
 public:
  Result<std::unique_ptr<Invocation>> Instantiate() override;
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
    bool null = false;
    bool kept = false;
    size_t offset = 0;
  };
  // Notes where the operands lie. `offsets` are those of the builder's buffers.
  Step AddPlaces(const ProgramBuilder& builder, const StepSpec& step,
                 const std::vector<size_t>& offsets);
  // Has kept memory made of `operands`, those of one invocation, unless it is up to date.
  Status Prepare(void* const* operands, const RunContext& context) const;

  Allocator* allocator_ = nullptr;
  size_t arena_bytes_ = 0;
  uint32_t first_write_ = UINT32_MAX;  // the update phase begins here
  std::vector<Step> steps_;
  std::vector<Place> places_;                       // of all operands, step after step
  std::vector<std::vector<uint32_t>> slot_places_;  // slot → indices into places_
  std::vector<StepSpec> specs_;                     // owns the kernels
  Block kept_;
  std::vector<Step> preparations_;
  std::vector<StepSpec> preparation_specs_;
  mutable std::mutex preparing_;
  mutable std::atomic<uint64_t> prepared_ = 0;  // variables_version + 1 of the kept memory
};

}  // namespace hr::engine
