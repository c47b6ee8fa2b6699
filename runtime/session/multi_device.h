// The parts of a plan on several devices as one executable: prepared steps that copy between
// memories and run regions.
#pragma once

#include <memory>
#include <vector>

#include "runtime/base/json_writer.h"
#include "runtime/session/partition.h"

namespace hr::session {

class MultiDeviceExecutable final : public Executable {
 public:
  // `whole` is what `parts` were cut from. Its slots are those of the answer: inputs, constants and
  // outputs are host memory, variables memory of the device whose nodes use them.
  static Result<std::unique_ptr<MultiDeviceExecutable>> Compile(Device& cpu,
                                                                const graph::Module& whole,
                                                                std::vector<Part> parts,
                                                                const CompileOptions& options);

  Result<std::unique_ptr<Invocation>> Instantiate() override;
  size_t arena_bytes() const override;
  std::string Describe() const override;
  // The elements of a plan's lists of regions and copies.
  void DescribeRegions(JsonWriter& json) const;
  void DescribeCopies(JsonWriter& json) const;

 private:
  friend class MultiDeviceCompiler;
  friend class MultiDeviceInvocation;

  static constexpr uint32_t kNoIndex = UINT32_MAX;

  struct Region {
    Device* device;
    std::vector<std::string> nodes;
    std::unique_ptr<Executable> executable;
  };
  // A slot of a region that is bound to a buffer.
  struct Use {
    uint32_t region;
    uint32_t slot;
  };
  // A piece of memory: of a slot, of a constant on its device, or of its device's arena.
  struct Buffer {
    Device* device;
    size_t bytes = 0;
    void* fixed = nullptr;
    bool in_arena = false;
    size_t offset = 0;
    uint32_t first = kNoIndex;  // steps that touch it
    uint32_t last = 0;
    std::vector<Use> uses;
  };
  // Runs a region, or copies where `region` is kNoIndex.
  struct Step {
    uint32_t region = kNoIndex;
    Device* device = nullptr;
    CopyKind kind = CopyKind::kDeviceToDevice;
    uint32_t from = 0;
    uint32_t to = 0;
    std::string value;  // for inspection
  };
  struct Arena {
    Device* device;
    size_t bytes;
  };

  std::vector<Region> regions_;
  std::vector<Buffer> buffers_;
  std::vector<uint32_t> slots_;  // slot → buffer
  std::vector<Step> steps_;
  std::vector<Arena> arenas_;
  std::vector<Block> constants_;  // copies on devices
};

}  // namespace hr::session
