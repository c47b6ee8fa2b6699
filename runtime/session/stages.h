// The stages of a run (transform/stage.h) as they are kept: a tree that grows with what runs meet.
// The stages that may follow a stage differ in the types that came out of it, and in the contents
// of those values on which shapes or branches depend.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/json_writer.h"
#include "runtime/session/run_value.h"
#include "runtime/transform/stage.h"

namespace hr::session {

class Plan;
class StageNode;

// Compiles the part of a stage that a device runs.
class StageCompiler {
 public:
  virtual ~StageCompiler() = default;
  virtual Result<transform::Stage> Make(const graph::Module& module,
                                        std::span<const transform::StageInput> inputs) const = 0;
  virtual Result<std::shared_ptr<Plan>> Compile(graph::Module region) const = 0;
  virtual Allocator& allocator() const = 0;
};

// A module and the stages that were made of it. Thread-safe.
class StageTree {
 public:
  // `compiler` outlives the tree. `decides`: the inputs whose contents matter; empty: none.
  StageTree(graph::Module module, graph::Marks decides, const StageCompiler& compiler)
      : module_(std::move(module)), decides_(std::move(decides)), compiler_(compiler) {}

  // The stage for such inputs, made if it is not kept. A bounded number is kept.
  Result<std::shared_ptr<StageNode>> At(std::span<const RunValue> inputs);
  void Trim();
  void Describe(JsonWriter& json) const;

 private:
  struct Entry {
    std::vector<RunValue> key;  // contents only of those that decide
    std::shared_ptr<StageNode> stage;
  };
  bool Matches(const Entry& entry, std::span<const RunValue> inputs) const;
  std::shared_ptr<StageNode> FindLocked(std::span<const RunValue> inputs);
  // What the inputs have in common with others of the same stage: types, and copies of contents
  // that decide, since a caller's memory may change.
  Result<std::vector<RunValue>> KeyOf(std::span<const RunValue> inputs) const;
  Result<std::shared_ptr<StageNode>> Make(std::span<const RunValue> key) const;
  bool Decides(size_t i) const { return i < decides_.size() && decides_[i]; }

  const graph::Module module_;
  const graph::Marks decides_;
  const StageCompiler& compiler_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
};

// One stage, compiled. Immutable but for its trees.
class StageNode {
 public:
  static Result<std::shared_ptr<StageNode>> Create(transform::Stage stage,
                                                   const StageCompiler& compiler);

  const transform::Stage& stage() const { return stage_; }
  Plan* plan() const { return plan_.get(); }  // null if nothing is compiled
  const std::shared_ptr<Plan>& shared_plan() const { return plan_; }
  // Of stage().host[i]; null if that has no body.
  StageTree* body(size_t i) const { return bodies_[i].get(); }
  StageTree* rest() const { return rest_.get(); }  // null in a last stage

 private:
  StageNode() = default;
  transform::Stage stage_;
  std::shared_ptr<Plan> plan_;
  std::vector<std::unique_ptr<StageTree>> bodies_;
  std::unique_ptr<StageTree> rest_;
};

}  // namespace hr::session
