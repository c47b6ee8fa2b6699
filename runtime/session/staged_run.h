// Runs whose plan has stages: see stages.h.
#pragma once

#include "runtime/base/function_ref.h"
#include "runtime/session/plan.h"
#include "runtime/session/stages.h"

namespace hr::session {

class Session;

// One run, as its stages see it. Used by one thread.
class StagedRun {
 public:
  // The session's run lock is held. `context` outlives this; its threads are leased.
  StagedRun(Session& session, const RunContext& context) : session_(session), context_(context) {}

  // Called with the type of an output before anything is written, if that type is known by then.
  using Check = FunctionRef<Status(size_t output, const ConcreteType&)>;
  // Returns the outputs, in memory that nobody else has.
  Result<std::vector<Tensor>> Run(const graph::Signature& signature, StageTree& tree,
                                  std::vector<RunValue> inputs, Check check);

 private:
  using Values = std::vector<RunValue>;
  // `seed`: in a loop that of the iteration, so that each has random numbers of its own.
  Result<Values> RunTree(StageTree& tree, Values inputs, uint64_t seed, const Check* check);
  Result<Values> RunCompiled(const StageNode& node, const Values& inputs, uint64_t seed);
  Result<Values> RunHost(const StageNode& node, const Values& inputs, const Values& ready,
                         uint64_t seed);
  Status RunLoop(const StageNode& node, size_t host, std::span<const RunValue* const> inputs,
                 uint64_t seed, Values& outputs);
  Status RunMap(const StageNode& node, size_t host, std::span<const RunValue* const> inputs,
                uint64_t seed, Values& outputs);
  Status CheckTypes(const StageNode& node, const Values& inputs, const Check& check) const;
  Status CheckLimits() const;

  Session& session_;
  const RunContext& context_;
};

}  // namespace hr::session
