// A compiled region as a list of steps over buffers at fixed places: what backends that run kernels
// one after the other share. A run is a walk over the steps: no allocation, hashing or locking.
// What can be made once of constants and variables (packed weights) is kept between runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/json_writer.h"
#include "runtime/engine/program_builder.h"

namespace hr::engine {

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
  bool ReportsSteps() const override { return true; }
  std::string Describe() const override;

 private:
  friend class ProgramBuilder;
  friend class ProgramInvocation;

  struct Step {
    const Kernel* kernel;
    uint32_t first_operand;
    Operands::Counts counts;
  };
  // Where an operand lies: in the arena, in kept memory, or in a slot.
  struct Place {
    uint32_t slot = UINT32_MAX;
    uint32_t kept = UINT32_MAX;
    bool null = false;
    size_t offset = 0;
    bool InArena() const { return !null && slot == UINT32_MAX && kept == UINT32_MAX; }
  };
  // Notes where a step's operands lie. `offsets` are those of the builder's buffers.
  Step AddPlaces(const ProgramBuilder& builder, const Kernel& kernel, const StepBuffers& buffers,
                 const std::vector<size_t>& offsets);
  void AddPlace(const ProgramBuilder& builder, BufferIndex buffer,
                const std::vector<size_t>& offsets);
  StepFacts FactsOf(uint32_t step) const;
  void DescribePeak(JsonWriter& json) const;
  // Has kept memory made of `operands`, those of one invocation, unless it is up to date.
  Status Prepare(std::span<const Operands> operands, const RunContext& run,
                 const LaunchContext& context) const;

  Allocator* allocator_ = nullptr;
  size_t arena_bytes_ = 0;
  uint32_t first_write_ = UINT32_MAX;  // the update phase begins here
  std::vector<Step> steps_;
  std::vector<Place> places_;                       // of all operands, step after step
  std::vector<std::vector<uint32_t>> slot_places_;  // slot → indices into places_
  std::vector<StepSpec> specs_;                     // owns the kernels
  std::vector<size_t> live_bytes_;                  // of the arena, by step
  MemoryPeak peak_;
  std::vector<Step> preparations_;
  std::vector<std::shared_ptr<Prepared>> kept_;  // what each of them makes
  std::vector<PreparationSpec> preparation_specs_;
  std::shared_ptr<PreparedPool> pool_;
  mutable std::atomic<uint64_t> prepared_ = 0;  // variables_version + 1 of all kept memory
  Resizer resizer_;
  std::vector<std::string> groups_;  // that steps communicate in
  uint32_t comm_slots_ = 0;
  std::vector<std::vector<ArenaRange>> dead_after_;  // by step; empty unless memory is checked
};

}  // namespace hr::engine
